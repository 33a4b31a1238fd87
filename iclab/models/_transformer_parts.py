"""What transformers are made of: affine maps, norms, attention, a network, GELU."""

import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, DTypeLike, Float

from iclab.core import checked

# Added to a variance before its root is taken.
_EPSILON = 1e-5


@checked
class Affine(eqx.Module):
    """x ↦ Wx + b for every row; W is (out, in)."""

    weight: Float[Array, "*layers out in"]
    bias: Float[Array, "*layers out"]

    def __call__(self, rows: Float[Array, "*rows in"]) -> Float[Array, "*rows out"]:
        # All rows as one matrix: the gradient of W is then one product of two matrices
        # as they lie in memory.
        flat = rows.reshape(-1, rows.shape[-1])
        out = flat @ _transposed(self.weight) + self.bias[None]
        return out.reshape(*rows.shape[:-1], -1)

    def after(self, norm: "Norm") -> "Affine":
        """The map that does to standardised rows what this one does to normed ones.

        The gradients of gain and shift are then sums over W instead of over all rows.
        """
        weight = self.weight * norm.scale[None]
        return Affine(weight, self.bias + self.weight @ norm.shift)


def _transposed(weight: Float[Array, "out in"]) -> Float[Array, "in out"]:
    """Wᵀ, such that the gradient of W is a product with the shorter side first.

    XLA multiplies 128×T by T×512 one and a half times as fast as 512×T by T×128, and
    takes the transpose of a product for the product of the transposes unless there is a
    barrier in between.
    """
    out, inner = weight.shape
    return jax.lax.optimization_barrier(weight.T) if out > inner else weight.T


@checked
class Norm(eqx.Module):
    """Layer normalisation with a gain and a shift per coordinate."""

    scale: Float[Array, "*layers w"]
    shift: Float[Array, "*layers w"]

    def __call__(self, rows: Float[Array, "*rows w"]) -> Float[Array, "*rows w"]:
        scale, shift = (
            jnp.expand_dims(one, range(rows.ndim - 1))
            for one in (self.scale, self.shift)
        )
        return standardise(rows) * scale + shift


@checked
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
        asking: Float[Array, "*batch rows w"],
        asked: Float[Array, "*batch t w"],
        heads: int,
        bias: Float[Array, "#rows t"] | None,
    ) -> Float[Array, "*batch rows w"]:
        """What the rows `asking` make of the rows `asked`; scores get `bias` added."""
        weight, shift, w = self.attention.weight, self.attention.bias, asking.shape[-1]
        if asking is asked:
            rows = jnp.split(self.attention(asked), 3, axis=-1)
        else:
            keys_and_values = Affine(weight[w:], shift[w:])(asked)
            query = Affine(weight[:w], shift[:w])(asking)
            rows = [query, *jnp.split(keys_and_values, 2, axis=-1)]
        query, key, value = (_heads(one, heads) for one in rows)
        mixed = attention(query * query.shape[-1] ** -0.5, key, value, bias)
        return self.attention_out(mixed.swapaxes(-2, -3).reshape(asking.shape))

    def standardised(self) -> "Block":
        """A block that takes standardised rows where this one takes normed ones."""
        return eqx.tree_at(
            lambda block: (block.attention, block.network_in),
            self,
            (
                self.attention.after(self.attention_norm),
                self.network_in.after(self.network_norm),
            ),
        )

    def network(
        self, rows: Float[Array, "*rows w"], activation: Callable[[Array], Array]
    ) -> Float[Array, "*rows w"]:
        """The two-layer network on every row."""
        return self.network_out(activation(self.network_in(rows)))


def _heads(
    rows: Float[Array, "*batch t w"], heads: int
) -> Float[Array, "*batch h t e"]:
    return rows.reshape(*rows.shape[:-1], heads, -1).swapaxes(-2, -3)


def mask_bias(seen: Bool[Array, "rows t"], dtype: DTypeLike) -> Float[Array, "rows t"]:
    """What to add to the scores so that row i attends to the tokens in `seen[i]`."""
    return jnp.where(seen, 0, jnp.finfo(dtype).min).astype(dtype)


# Derivatives are written out for the functions below, because what reverse mode would
# keep for them is several times what is needed.


@jax.custom_jvp
def attention(
    query: Float[Array, "*heads rows e"],
    key: Float[Array, "*heads t e"],
    value: Float[Array, "*heads t e"],
    bias: Float[Array, "#rows t"] | None,
) -> Float[Array, "*heads rows e"]:
    """softmax(QKᵀ + bias) V."""
    exponentials, total = _exponentials(query, key, bias)
    return exponentials @ value / total


def _scores(
    query: Float[Array, "*heads rows e"], key: Float[Array, "*heads t e"]
) -> Float[Array, "*heads rows t"]:
    return jnp.einsum("...qe,...ke->...qk", query, key)


def _exponentials(
    query: Float[Array, "*heads rows e"],
    key: Float[Array, "*heads t e"],
    bias: Float[Array, "#rows t"] | None,
) -> tuple[Float[Array, "*heads rows t"], Float[Array, "*heads rows 1"]]:
    """exp of the scores, up to a factor by row, and their sums."""
    scores = _scores(query, key)
    if bias is not None:
        scores = scores + jnp.expand_dims(bias, range(scores.ndim - 2))
    found = jnp.exp(scores - jnp.max(scores, axis=-1, keepdims=True))
    return found, jnp.sum(found, axis=-1, keepdims=True)


@attention.defjvp
def _(primals, tangents):
    (Q, K, V, bias), (dQ, dK, dV, _) = primals, tangents  # a mask is not learned
    E, total = _exponentials(Q, K, bias)
    A = E @ V / total
    # Divided by the total at last: a row of A is shorter than one of E.
    weighted = E * (_scores(dQ, K) + _scores(Q, dK))
    change = weighted @ V + E @ dV - jnp.sum(weighted, axis=-1, keepdims=True) * A
    return A, change / total


@jax.custom_jvp
def standardise(rows: Float[Array, "*rows w"]) -> Float[Array, "*rows w"]:
    """Every row minus its mean, divided by √(variance + 1e-5)."""
    return _standardised(rows)[0]


def _standardised(
    rows: Float[Array, "*rows w"],
) -> tuple[Float[Array, "*rows w"], Float[Array, "*rows 1"]]:
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
    # Without a barrier the hyperbolic tangent is kept for later, which costs more than
    # to compute it again.
    value, x = gelu(x), jax.lax.optimization_barrier(x)
    t = jnp.tanh(_SLOPE * (x + _CUBIC * x**3))
    inner = _SLOPE * (1 + 3 * _CUBIC * x**2)
    slope = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner
    return value, slope * move
