"""The weights of attention: a matrix each, merged, or of the sparse forms."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from iclab.core import checked

# P and Q of every layer and head.
Merged = tuple[Float[Array, "layers heads k k"], Float[Array, "layers heads k k"]]


@checked
class AbstractWeights(eqx.Module):
    """Arrays with axes of layers and of heads in front, and what they make together."""

    @abc.abstractmethod
    def merged(self) -> Merged:
        """P_h = W^P_h W^V_h and Q_h = (W^K_h)ᵀ W^Q_h of every layer and head."""

    @property
    @abc.abstractmethod
    def key_width(self) -> int:
        """Size of keys and queries."""

    @property
    @abc.abstractmethod
    def width(self) -> int:
        """Size d+1 of the tokens (x, y)."""

    @property
    def layers(self) -> int:
        """Number of layers."""
        return jax.tree.leaves(self)[0].shape[0]

    @property
    def heads(self) -> int:
        """Number of heads in every layer."""
        return jax.tree.leaves(self)[0].shape[1]


@checked
class MergedWeights(AbstractWeights):
    """P for values and Q for scores in every head, (d+1)×(d+1) both."""

    value: Float[Array, "layers heads k k"]
    key_query: Float[Array, "layers heads k k"]

    @property
    def width(self) -> int:
        """Size d+1 of the tokens."""
        return self.value.shape[-1]

    @property
    def key_width(self) -> int:
        """That of the tokens."""
        return self.width

    def merged(self) -> Merged:
        """The fields."""
        return self.value, self.key_query


@checked
class SeparateWeights(AbstractWeights):
    """W^K and W^Q (e×(d+1)), W^V (v×(d+1)) and W^P ((d+1)×v) in every head."""

    key: Float[Array, "layers heads e k"]
    query: Float[Array, "layers heads e k"]
    value: Float[Array, "layers heads v k"]
    projection: Float[Array, "layers heads k v"]

    @property
    def width(self) -> int:
        """Size d+1 of the tokens."""
        return self.key.shape[-1]

    @property
    def key_width(self) -> int:
        """Size e of keys and queries."""
        return self.key.shape[-2]

    def merged(self) -> Merged:
        """W^P W^V and (W^K)ᵀ W^Q."""
        return self.projection @ self.value, self.key.mT @ self.query


@checked
class SparseWeights(AbstractWeights):
    r"""Matrices with zeros and a one that are not trained.

    $$P=\begin{pmatrix}B&0\\u^\top&1\end{pmatrix},\qquad
      Q=\begin{pmatrix}A&0\\0&0\end{pmatrix}$$

    Without `B` or `u` they are zero.

    Source: ahn2023, (9) and (13); gatmiry2024, (5) and (11).
    """

    A: Float[Array, "layers heads d d"]
    B: Float[Array, "layers heads d d"] | None = None
    u: Float[Array, "layers heads d"] | None = None

    @property
    def width(self) -> int:
        """Size d+1 of the tokens."""
        return self.key_width + 1

    @property
    def key_width(self) -> int:
        """Size d of the inputs, which is what scores look at."""
        return self.A.shape[-1]

    def merged(self) -> Merged:
        """diag(B, 1) with uᵀ left of the one, and diag(A, 0)."""
        return sparse_matrices(self.A, self.B, self.u)


def sparse_matrices(
    A: Float[Array, "*stack d d"],
    B: Float[Array, "*stack d d"] | None,
    u: Float[Array, "*stack d"] | None,
) -> tuple[Float[Array, "*stack k k"], Float[Array, "*stack k k"]]:
    """P and Q of the sparse forms."""
    *stack, d, _ = A.shape
    empty = jnp.zeros((*stack, d + 1, d + 1), A.dtype)
    P = empty.at[..., d, d].set(1.0)
    P = P if B is None else P.at[..., :d, :d].set(B)
    P = P if u is None else P.at[..., d, :d].set(u)
    return P, empty.at[..., :d, :d].set(A)
