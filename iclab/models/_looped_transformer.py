"""One linear attention layer in a loop, and the same layers without shared weights."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from iclab.core import (
    AbstractPredictor,
    Prompt,
    Size,
    checked,
    nan_unless_finite,
    same_dimension,
)
from iclab.models._description import Savable
from iclab.models._linear_transformer import LinearTransformer


@checked
class UntiedTransformer(AbstractPredictor, Savable):
    r"""L layers of linear attention, each with weights of its own.

    $$Z_{t+1}=Z_t-\tfrac1nP_tZ_tM(Z_t^\top Q_tZ_t),\quad
      Q_t=\begin{pmatrix}A_t&0\\0&0\end{pmatrix},\quad
      P_t=\begin{pmatrix}0&0\\u_t^\top&1\end{pmatrix},\qquad\hat y=-[Z_L]_{d+1,n+1}$$

    with A_t = `A[t]` and u_t = `u[t]`. The inputs never change, so a layer acts on the
    labels alone, and they matter only through c_t = (1/n) Σ y_t x:

    $$\hat y_{t+1}=\hat y_t+(c_t+Su_t)^\top A_tx_q,\qquad
      c_{t+1}=c_t-SA_t^\top(c_t+Su_t),\qquad c_0=\tfrac1n\textstyle\sum_iy_ix_i$$

    Source: gatmiry2024, Theorem A.1 and (11).
    Differs from the paper: layers count from 0 and use the weights of their own index.
    """

    A: Float[Array, "layers d d"]
    u: Float[Array, "layers d"]

    @property
    def dimension(self) -> int:
        """Dimension d of the inputs."""
        return self.A.shape[-1]

    @property
    def depth(self) -> int:
        """Number L of layers."""
        return len(self.A)

    def __call__(self, prompt: Prompt) -> Float[Array, ""]:
        """Predict in Gram space: O(nd²) once, then O(d²) a layer."""
        return self.predictions_by_depth(prompt)[-1]

    @nan_unless_finite
    def predictions_by_depth(self, prompt: Prompt) -> Float[Array, " states"]:
        """0, then the prediction after one layer, two, …, in one pass."""
        same_dimension(self.dimension, prompt)
        S, x_q = prompt.gram(), prompt.query

        def layer(state, weights):
            c, prediction = state
            A, u = weights
            pull = A.T @ (c + S @ u)
            prediction = prediction + pull @ x_q
            return (c - S @ pull, prediction), prediction

        zero = jnp.zeros((), x_q.dtype)
        start = (prompt.correlation(), zero)
        _, predictions = jax.lax.scan(layer, start, (self.A, self.u))
        return jnp.append(zero, predictions)

    def streams(self, prompt: Prompt) -> Float[Array, "states k"]:
        """The query's column of Z_0, Z_1, …: (x_q, −ŷ_t), as the inputs never move."""
        labels = -self.predictions_by_depth(prompt)
        inputs = jnp.broadcast_to(prompt.query, (len(labels), self.dimension))
        return jnp.column_stack([inputs, labels])

    def in_token_space(self, prompt: Prompt) -> Float[Array, ""]:
        """Predict by (2)–(4) as written: the reference, O(n²d) a layer."""
        return self.to_linear_transformer().in_token_space(prompt)

    def to_linear_transformer(self) -> LinearTransformer:
        """The same network in the convention of ahn2023, where updates have a plus."""
        layers, d = self.u.shape
        empty = jnp.zeros((layers, d + 1, d + 1), self.A.dtype)
        value = empty.at[:, d, :d].set(self.u).at[:, d, d].set(1.0)
        return LinearTransformer(value, empty.at[:, :d, :d].set(-self.A))


@checked
class LoopedTransformer(AbstractPredictor, Savable):
    r"""One layer of linear attention applied again and again.

    `UntiedTransformer` with A_t = `A` and u_t = `u` in every layer. `loops` is how
    often the layer is applied when a call does not say otherwise: a model trained with
    2 loops runs with 50 as `model(prompt, loops=50)`.

    With u = 0 and symmetric A the layers are gradient descent preconditioned by A,

    $$w_{t+1}=w_t+\tfrac1nA\sum_i(y_i-\langle w_t,x_i\rangle)x_i,\qquad w_0=0,\qquad
      \hat y_t=\langle w_t,x_q\rangle$$

    Source: gatmiry2024, (2)–(4) with the weights of Section 3.5.
    Differs from the paper: nothing.
    """

    A: Float[Array, "d d"]
    u: Float[Array, " d"]
    loops: Size = eqx.field(static=True)

    def __init__(
        self,
        A: Float[Array, "d d"],
        u: Float[Array, " d"] | None = None,
        *,
        loops: Size = 1,
    ):
        self.A = A
        self.u = jnp.zeros(A.shape[-1:], A.dtype) if u is None else u
        self.loops = loops

    @property
    def dimension(self) -> int:
        """Dimension d of the inputs."""
        return len(self.A)

    @property
    def depth(self) -> int:
        """Number of loops of a call that does not say otherwise."""
        return self.loops

    def __call__(self, prompt: Prompt, loops: Size | None = None) -> Float[Array, ""]:
        """Predict in Gram space: O(nd²) once, then O(d²) a loop."""
        return self.predictions_by_depth(prompt, loops)[-1]

    def predictions_by_depth(
        self, prompt: Prompt, loops: Size | None = None
    ) -> Float[Array, " states"]:
        """0, then the prediction after one loop, two, …, in one pass."""
        untied = self.unrolled(loops)
        same_dimension(self.dimension, prompt)
        return untied.predictions_by_depth(prompt)

    def streams(
        self, prompt: Prompt, loops: Size | None = None
    ) -> Float[Array, "states k"]:
        """The query's column of Z⁽⁰⁾, Z⁽¹⁾, …: (x_q, −ŷ_t); the inputs never move."""
        untied = self.unrolled(loops)
        same_dimension(self.dimension, prompt)
        return untied.streams(prompt)

    def in_token_space(
        self, prompt: Prompt, loops: Size | None = None
    ) -> Float[Array, ""]:
        """Predict by (2)–(4) as written: the reference, O(n²d) a loop."""
        return self.unrolled(loops).in_token_space(prompt)

    def unrolled(self, loops: Size | None = None) -> UntiedTransformer:
        """The same network as so many separate layers."""
        count, d = self.loops if loops is None else loops, self.dimension
        A = jnp.broadcast_to(self.A, (count, d, d))
        return UntiedTransformer(A, jnp.broadcast_to(self.u, (count, d)))
