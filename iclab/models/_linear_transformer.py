"""Linear attention in layers."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from iclab.core import Count, Prompt, checked, is_traced, require
from iclab.models._attention import AbstractLayers, Attention, own_weights
from iclab.models._attention_weights import MergedWeights, sparse_matrices
from iclab.models._linear_self_attention import LinearSelfAttention


@checked
class LinearTransformer(AbstractLayers):
    r"""k layers of linear attention with residual connections.

    $$Z_{\ell+1}=Z_\ell+\tfrac1nP_\ell Z_\ell M(Z_\ell^\top Q_\ell Z_\ell),\qquad
      Z_0=\begin{pmatrix}x_1&\cdots&x_n&x_q\\y_1&\cdots&y_n&0\end{pmatrix},\qquad
      \hat y=-[Z_k]_{d+1,n+1}$$

    with P_ℓ = `value[ℓ]`, Q_ℓ = `key_query[ℓ]`, all (d+1)×(d+1). The mask M drops the
    query as a key; `masked=False` keeps it, as zhang2023 does.

    A layer multiplies every token by the same matrix I + P G Q, where G is the second
    moment of the current examples, so the prompt enters through
    $G_0=\frac1n\sum_i(x_i,y_i)(x_i,y_i)^\top$ alone.

    Source: ahn2023, (1)–(5).
    Differs from the paper: nothing.
    """

    value: Float[Array, "layers k k"]
    key_query: Float[Array, "layers k k"]
    masked: bool = True

    def __check_init__(self):
        shape = self.value.shape
        rule = "a stack of (d+1)×(d+1) matrices with d ≥ 1, one per layer"
        require(shape[-1] >= 2, "value", rule, f"shape {shape}")

    @classmethod
    def sparse(
        cls, A: Float[Array, "layers d d"], B: Float[Array, "layers d d"] | None = None
    ) -> "LinearTransformer":
        r"""Layers $P=\mathrm{diag}(B,1)$ and $Q=\mathrm{diag}(A,0)$; B = 0 by default.

        Source: ahn2023, (13), and (9) for B = 0.
        Differs from the paper: A need not be symmetric.
        """
        return cls(*sparse_matrices(A, B, None))

    @classmethod
    def from_linear_self_attention(
        cls, model: LinearSelfAttention
    ) -> "LinearTransformer":
        """One layer in the convention of zhang2023, in this one: Q = −W_KQ, no mask."""
        return cls(model.value_projection[None], -model.key_query[None], masked=False)

    def to_linear_self_attention(self) -> LinearSelfAttention:
        """One layer of this convention in that of zhang2023: W_KQ = −Q.

        That model has no mask, which matters unless the last row of P vanishes before
        its last entry: such weights are refused.
        """
        rule = "the weights of one layer"
        require(self.depth == 1, "value", rule, self.depth)
        if self.masked and not is_traced(self.value):
            largest = float(np.max(np.abs(np.asarray(self.value)[0, -1, :-1])))
            rule = "zero left of the last entry of its last row, as there is no mask"
            require(largest == 0, "value", rule, f"an entry of size {largest:.3g}")
        return LinearSelfAttention(-self.key_query[0], self.value[0])

    @property
    def dimension(self) -> int:
        """Dimension d of the inputs."""
        return self.value.shape[-1] - 1

    @property
    def depth(self) -> int:
        """Number of layers."""
        return len(self.value)

    def _layers(self, loops: int | None) -> Attention:
        own_weights(loops)
        return Attention(
            MergedWeights(self.value[:, None], self.key_query[:, None]),
            "identity",
            query="masked" if self.masked else "key",
            negated=True,
        )

    def from_moments(
        self,
        gram: Float[Array, "d d"],
        correlation: Float[Array, " d"],
        label_power: Float[Array, ""],
        query: Float[Array, " d"],
        count: Count,
    ) -> Float[Array, ""]:
        """Predict from (1/n)Σxxᵀ, (1/n)Σyx, (1/n)Σy² and the query."""
        moments = (gram, correlation, label_power)
        return -self._layers(None)._from_moments(moments, query, count)[-1, -1]

    def descent_weights(self, prompt: Prompt) -> Float[Array, "states d"]:
        r"""The iterates w₀ = 0, w₁, … of the gradient descent that the layers perform.

        $w_{\ell+1}=w_\ell+A_\ell^\top\nabla R(w_\ell)$ with
        $R(w)=\frac1{2n}\sum_i(\langle w,x_i\rangle-y_i)^2$; after ℓ layers the query's
        label entry is −⟨x_q, w_ℓ⟩.

        Source: ahn2023, Lemma 2, (11).
        Assumes: the sparse form with B = 0, (9); anything else is refused.
        Differs from the paper: A may be unsymmetric, and then its transpose acts.
        """
        d = self.dimension
        if not is_traced(self.value) and not is_traced(self.key_query):
            A = jnp.asarray(np.asarray(self.key_query)[:, :d, :d])
            plain = LinearTransformer.sparse(A)
            same = np.array_equal(plain.value, self.value)
            same = same and np.array_equal(plain.key_query, self.key_query)
            rule = "of the sparse form (9), with `key_query`: diag(0, 1), diag(A, 0)"
            require(same, "value", rule, "other nonzero entries")
        S, b = prompt.gram(), prompt.correlation()

        def step(w, A):
            w = w + A.T @ (S @ w - b)
            return w, w

        zero = jnp.zeros(d)
        _, iterates = jax.lax.scan(step, zero, self.key_query[:, :d, :d])
        return jnp.concatenate([zero[None], iterates])
