"""Linear attention in layers."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from iclab.core import (
    AbstractPredictor,
    Count,
    Prompt,
    checked,
    is_traced,
    nan_unless_finite,
    require,
    same_dimension,
)
from iclab.models._description import Savable
from iclab.models._linear_self_attention import LinearSelfAttention


@checked
class LinearTransformer(AbstractPredictor, Savable):
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
        layers, d, _ = A.shape
        empty = jnp.zeros((layers, d + 1, d + 1), A.dtype)
        value = empty.at[:, :d, :d].set(0 if B is None else B).at[:, d, d].set(1.0)
        return cls(value, empty.at[:, :d, :d].set(A))

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

    @nan_unless_finite
    def __call__(self, prompt: Prompt) -> Float[Array, ""]:
        """Predict in Gram space: O(nd²) once, then O(d³) a layer."""
        same_dimension(self.dimension, prompt)
        return self.from_moments(*prompt.moments(), prompt.query, prompt.count)

    def predictions_by_depth(self, prompt: Prompt) -> Float[Array, " states"]:
        """0, then the prediction −[Z_ℓ]_{d+1,n+1} after every layer."""
        return -self.streams(prompt)[:, -1]

    def streams(self, prompt: Prompt) -> Float[Array, "states k"]:
        """The query's column of Z_0, Z_1, …; its last entry is minus the prediction."""
        same_dimension(self.dimension, prompt)
        _, tokens = self._run(*prompt.moments(), prompt.query, prompt.count)
        return jnp.concatenate([jnp.append(prompt.query, 0.0)[None], tokens])

    def from_moments(
        self,
        gram: Float[Array, "d d"],
        correlation: Float[Array, " d"],
        label_power: Float[Array, ""],
        query: Float[Array, " d"],
        count: Count,
    ) -> Float[Array, ""]:
        """Predict from (1/n)Σxxᵀ, (1/n)Σyx, (1/n)Σy² and the query."""
        token, _ = self._run(gram, correlation, label_power, query, count)
        return -token[-1]

    def _run(
        self,
        gram: Float[Array, "d d"],
        correlation: Float[Array, " d"],
        label_power: Float[Array, ""],
        query: Float[Array, " d"],
        count: Count,
    ) -> tuple[Float[Array, " k"], Float[Array, "layers k"]]:
        """The query's token after the last layer, and after every one."""
        last_row = jnp.append(correlation, label_power)[None]
        G = jnp.concatenate([jnp.column_stack([gram, correlation]), last_row])
        identity = jnp.eye(self.dimension + 1)

        def layer(state, weights):
            G, token = state
            P, Q = weights
            keys = G if self.masked else G + jnp.outer(token, token) / count
            step = identity + P @ keys @ Q
            token = step @ token
            return (step @ G @ step.T, token), token

        start = (G, jnp.append(query, 0.0))
        (_, token), tokens = jax.lax.scan(layer, start, (self.value, self.key_query))
        return token, tokens

    def in_token_space(self, prompt: Prompt) -> Float[Array, ""]:
        """Predict by the forward pass (4) as written: the reference, O(n²d) a layer."""
        return -self.streams_in_token_space(prompt)[-1, -1]

    def streams_in_token_space(self, prompt: Prompt) -> Float[Array, "states k"]:
        """`streams` by the forward pass (4) as written."""
        same_dimension(self.dimension, prompt)
        examples = jnp.column_stack([prompt.examples, prompt.labels])
        Z = jnp.vstack([examples, jnp.append(prompt.query, 0.0)]).T
        mask = jnp.ones(Z.shape[1]).at[-1].set(0.0 if self.masked else 1.0)

        def layer(Z, weights):
            P, Q = weights
            attention = (Z * mask[None]) @ (Z.T @ Q @ Z)
            Z = Z + P @ attention / prompt.count
            return Z, Z[:, -1]

        _, tokens = jax.lax.scan(layer, Z, (self.value, self.key_query))
        return jnp.concatenate([Z[:, -1][None], tokens])

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
