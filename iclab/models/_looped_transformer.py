"""One linear attention layer in a loop, and the same layers without shared weights."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from iclab.core import Size, checked
from iclab.models._attention import AbstractLayers, Attention, own_weights
from iclab.models._attention_weights import SparseWeights, sparse_matrices
from iclab.models._linear_transformer import LinearTransformer


@checked
class UntiedTransformer(AbstractLayers):
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

    def _layers(self, loops: int | None) -> Attention:
        own_weights(loops)
        weights = SparseWeights(-self.A[:, None], u=self.u[:, None])
        return Attention(weights, "identity", query="masked", negated=True)

    def to_linear_transformer(self) -> LinearTransformer:
        """The same network in the convention of ahn2023, where updates have a plus."""
        return LinearTransformer(*sparse_matrices(-self.A, None, self.u))


@checked
class LoopedTransformer(AbstractLayers):
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

    def _layers(self, loops: int | None) -> Attention:
        weights = SparseWeights(-self.A[None, None], u=self.u[None, None])
        loops = self.loops if loops is None else loops
        form = {"query": "masked", "negated": True, "loops": loops}
        return Attention(weights, "identity", **form)

    def unrolled(self, loops: Size | None = None) -> UntiedTransformer:
        """The same network as so many separate layers."""
        count, d = self.loops if loops is None else loops, self.dimension
        A = jnp.broadcast_to(self.A, (count, d, d))
        return UntiedTransformer(A, jnp.broadcast_to(self.u, (count, d)))
