"""One layer of linear self-attention."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from iclab.core import (
    Count,
    Number,
    Positive,
    Prompt,
    Size,
    checked,
    nan_unless_finite,
    read,
    require,
    same_dimension,
)
from iclab.models._attention import AbstractLayers, Attention, own_weights
from iclab.models._attention_weights import MergedWeights


@checked
class LinearSelfAttention(AbstractLayers):
    r"""Linear self-attention with merged weights.

    $$f(E)=E+W^{PV}E\,\frac{E^\top W^{KQ}E}N,\qquad
      E=\begin{pmatrix}x_1&\cdots&x_N&x_q\\y_1&\cdots&y_N&0\end{pmatrix},\qquad
      \hat y=[f(E)]_{d+1,N+1}$$

    with W_KQ = `key_query` and W_PV = `value_projection`, both (d+1)×(d+1). There is no
    mask: the query attends to itself. The order of the fields is that of
    `theory.lsa_optimum`, so `LinearSelfAttention(*lsa_optimum(covariance, N))` is the
    trained model.

    Source: zhang2023, (3.3)–(3.6).
    Differs from the paper: nothing.
    """

    key_query: Float[Array, "k k"]
    value_projection: Float[Array, "k k"]

    def __check_init__(self):
        shape = self.key_query.shape
        rule = "(d+1)×(d+1) with d ≥ 1"
        require(shape[0] >= 2, "key_query", rule, f"shape {shape}")

    @classmethod
    def from_blocks(
        cls, U11: Float[Array, "d d"], u_last: Number
    ) -> "LinearSelfAttention":
        """Weights that are zero but for the blocks U₁₁ of W_KQ and u₋₁ of W_PV."""
        d = len(U11)
        key_query = jnp.zeros((d + 1, d + 1)).at[:d, :d].set(U11)
        value_projection = jnp.zeros((d + 1, d + 1)).at[d, d].set(u_last)
        return cls(key_query, value_projection)

    @classmethod
    def balanced(
        cls,
        theta: Float[Array, "d d"],
        scale: Positive,
        largest_scale: Number | None,
    ) -> "LinearSelfAttention":
        r"""The start for which convergence is proved.

        $U_{11}=\sigma\Theta\Theta^\top$ and $u_{-1}=\sigma$ with Θ = `theta`, rescaled
        so that $\lVert\Theta\Theta^\top\rVert_F=1$, and σ = `scale`. A σ that is not
        below `largest_scale` (`theory.largest_initial_scale`) is refused;
        `largest_scale=None` lets any through.

        Source: zhang2023, Assumption 3.3.
        Differs from the paper: the normalisation of Θ is done here.
        """
        if largest_scale is not None:
            bound = f"{float(largest_scale):.6g}"
            rule = f"< {bound}, beyond which convergence is not proved"
            require(bool(scale < largest_scale), "scale", rule, scale)
        outer = theta @ theta.T
        norm = jnp.linalg.norm(outer)
        require(bool(norm > 0), "theta", "nonzero", "the zero matrix")
        U11 = scale * outer / norm
        read(jnp.sum(jnp.abs(U11)), Number, "scale")  # times Θ it may overflow
        return cls.from_blocks(U11, scale)

    @classmethod
    def random_balanced(
        cls,
        dimension: Size,
        scale: Positive,
        largest_scale: Number | None,
        *,
        key: PRNGKeyArray,
    ) -> "LinearSelfAttention":
        """A balanced start with Θ a Gaussian matrix of size `dimension`."""
        theta = jax.random.normal(key, (dimension, dimension))
        return cls.balanced(theta, scale, largest_scale)

    @property
    def dimension(self) -> int:
        """Dimension d of the inputs."""
        return len(self.key_query) - 1

    @property
    def depth(self) -> int:
        """One block."""
        return 1

    @property
    def preconditioner(self) -> Float[Array, "d d"]:
        """P with ŷ = x_qᵀ P (1/N) Σ yᵢ xᵢ, if the off-diagonal blocks are zero."""
        d = self.dimension
        return self.value_projection[d, d] * self.key_query[:d, :d].T

    def _layers(self, loops: int | None) -> Attention:
        own_weights(loops)
        weights = (self.value_projection, self.key_query)
        merged = MergedWeights(*(one[None, None] for one in weights))
        return Attention(merged, "identity", query="key")

    @nan_unless_finite
    def __call__(self, prompt: Prompt, loops: Size | None = None) -> Float[Array, ""]:
        """Predict in Gram space, (3.6): O(Nd²) once for the moments, no N×N matrix."""
        own_weights(loops)
        same_dimension(self.dimension, prompt)
        return self.from_moments(*prompt.moments(), prompt.query, prompt.count)

    def streams(self, prompt: Prompt, loops: Size | None = None) -> Float[Array, "2 k"]:
        """The query's column of E and of f(E): (x_q, 0), then with label entry ŷ."""
        own_weights(loops)
        same_dimension(self.dimension, prompt)
        mixed = self._attended(*prompt.moments(), prompt.query, prompt.count)
        token = jnp.append(prompt.query, 0.0)
        after = token + self.value_projection @ jnp.append(*mixed)
        return jnp.stack([token, after])

    def from_moments(
        self,
        gram: Float[Array, "d d"],
        correlation: Float[Array, " d"],
        label_power: Float[Array, ""],
        query: Float[Array, " d"],
        count: Count,
    ) -> Float[Array, ""]:
        """Predict from (1/N)Σxxᵀ, (1/N)Σyx, (1/N)Σy² and the query: O(d²), any N."""
        d = self.dimension
        upper, lower = self._attended(gram, correlation, label_power, query, count)
        last_row = self.value_projection[d]
        return last_row[:d] @ upper + last_row[d] * lower

    def _attended(
        self,
        gram: Float[Array, "d d"],
        correlation: Float[Array, " d"],
        label_power: Float[Array, ""],
        query: Float[Array, " d"],
        count: Count,
    ) -> tuple[Float[Array, " d"], Float[Array, ""]]:
        """(EEᵀ/N) applied to W_KQ (x_q, 0)ᵀ, in blocks; the query's own xxᵀ/N too."""
        d = self.dimension
        attended = self.key_query[:, :d] @ query
        upper = gram @ attended[:d] + correlation * attended[d]
        upper = upper + query * (query @ attended[:d]) / count
        lower = correlation @ attended[:d] + label_power * attended[d]
        return upper, lower
