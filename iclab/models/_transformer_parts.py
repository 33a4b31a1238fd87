"""What transformers are made of: affine maps, norms, attention, a network, GELU."""

import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

# Added to a variance before its root is taken.
_EPSILON = 1e-5


class Affine(eqx.Module):
    """x ↦ Wx + b for every row.

    W is (out, in): the gradient of W is then the product that reverse mode writes
    down, without a transpose of the activations.
    """

    weight: Float[Array, "*layers out in"]
    bias: Float[Array, "*layers out"]

    def __call__(self, rows: Float[Array, "t in"]) -> Float[Array, "t out"]:
        return rows @ self.weight.T + self.bias[None]


class Norm(eqx.Module):
    """Layer normalisation with a gain and a shift per coordinate."""

    scale: Float[Array, "*layers w"]
    shift: Float[Array, "*layers w"]

    def __call__(self, rows: Float[Array, "t w"]) -> Float[Array, "t w"]:
        return standardise(rows) * self.scale[None] + self.shift[None]


class Block(eqx.Module):
    """Attention and a two-layer network, each with its norm.

    A model says where the norms stand. Blocks stacked along a leading axis are for
    `jax.lax.scan`.
    """

    attention_norm: Norm
    attention: Affine  # queries, keys, values below each other
    attention_out: Affine
    network_norm: Norm
    network_in: Affine
    network_out: Affine

    def attend(
        self,
        asking: Float[Array, "rows w"],
        asked: Float[Array, "t w"],
        heads: int,
        bias: Float[Array, "#rows t"] | None,
    ) -> Float[Array, "rows w"]:
        """What the rows `asking` make of the rows `asked`; scores get `bias` added."""
        query, key, value = (
            _heads(Affine(W, b)(source), heads)
            for W, b, source in zip(
                jnp.split(self.attention.weight, 3),
                jnp.split(self.attention.bias, 3),
                (asking, asked, asked),
                strict=True,
            )
        )
        scores = jnp.einsum("hqd,hkd->hqk", query * query.shape[-1] ** -0.5, key)
        if bias is not None:
            scores = scores + bias[None]
        weights = jax.nn.softmax(scores, axis=-1)
        mixed = jnp.einsum("hqk,hkd->hqd", weights, value)
        return self.attention_out(mixed.transpose(1, 0, 2).reshape(asking.shape))

    def network(
        self, rows: Float[Array, "t w"], activation: Callable[[Array], Array]
    ) -> Float[Array, "t w"]:
        """The two-layer network on every row."""
        return self.network_out(activation(self.network_in(rows)))


def _heads(rows: Float[Array, "t w"], heads: int) -> Float[Array, "h t e"]:
    return rows.reshape(len(rows), heads, -1).transpose(1, 0, 2)


# Derivatives are written out for the two functions below, because what reverse mode
# would keep for them is several times what is needed.


@jax.custom_jvp
def standardise(rows: Float[Array, "t w"]) -> Float[Array, "t w"]:
    """Every row minus its mean, divided by √(variance + 1e-5)."""
    return _standardised(rows)[0]


def _standardised(
    rows: Float[Array, "t w"],
) -> tuple[Float[Array, "t w"], Float[Array, "t 1"]]:
    exact = jnp.promote_types(rows.dtype, jnp.float32)
    wide = rows.astype(exact)
    centred = wide - jnp.mean(wide, axis=-1, keepdims=True)
    variance = jnp.mean(centred**2, axis=-1, keepdims=True)
    inverse = jax.lax.rsqrt(variance + _EPSILON)
    return (centred * inverse).astype(rows.dtype), inverse.astype(rows.dtype)


@standardise.defjvp
def _(primals, tangents):
    ((rows,), (move,)) = primals, tangents
    unit, inverse = _standardised(rows)
    mean = lambda array: jnp.mean(array, axis=-1, keepdims=True)  # noqa: E731
    return unit, inverse * (move - mean(move) - unit * mean(unit * move))


_SLOPE, _CUBIC = math.sqrt(2 / math.pi), 0.044715


@jax.custom_jvp
def gelu(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """GELU by the hyperbolic tangent, as in GPT-2 (`gelu_new`)."""
    return 0.5 * x * (1 + jnp.tanh(_SLOPE * (x + _CUBIC * x**3)))


@gelu.defjvp
def _(primals, tangents):
    ((x,), (move,)) = primals, tangents
    t = jnp.tanh(_SLOPE * (x + _CUBIC * x**3))
    inner = _SLOPE * (1 + 3 * _CUBIC * x**2)
    slope = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner
    return 0.5 * x * (1 + t), slope * move
