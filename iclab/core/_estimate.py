"""A mean over draws, its error, and how many draws carry it."""

from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from iclab import show

# A mean that fewer effective draws carry has no error bar.
FEWEST_EFFECTIVE = 100


def largest_share(draws: int) -> float:
    """The share of a mean of so many draws from which on one draw carries it.

    A twentieth; of fewer than two thousand draws, that of a hundred average ones: one
    may well be as large without any heavy tail.
    """
    return max(1 / 20, 100 / draws)


class HeavyTails(UserWarning):
    """A few prompts carry a mean, so that it estimates nothing."""


class Estimate(eqx.Module):
    """A Monte Carlo mean and its standard error, leaf by leaf.

    `effective` is (Σ|v|)²/Σv² over the values v of all draws: equal ones count fully,
    one that dwarfs the others leaves one. `largest_share` is the largest part of Σ|v|
    that a single draw has. Unpacks as `mean, standard_error`.
    """

    mean: PyTree[Array]
    standard_error: PyTree[Array]
    draws: int = eqx.field(static=True)
    effective: PyTree[Array] = None
    largest_share: PyTree[Array] = None

    def part(self, choose: Callable[[PyTree[Array]], PyTree[Array]]) -> "Estimate":
        """The estimate of what `choose` takes from the tree of means."""
        carried = [
            None if one is None else choose(one)
            for one in (self.effective, self.largest_share)
        ]
        mean, error = choose(self.mean), choose(self.standard_error)
        return Estimate(mean, error, self.draws, *carried)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.mean, self.standard_error))

    def _repr_html_(self) -> str:
        places, _ = jax.tree.flatten_with_path(self.mean)
        named = [jax.tree_util.keystr(path) or "mean" for path, _ in places]
        rows = [jax.tree.leaves(one) for one in (self.mean, self.standard_error)]
        head = ["", "mean", f"standard error of {self.draws:,} draws"]
        if self.effective is not None:
            rows.append(jax.tree.leaves(self.effective))
            head.append("effective draws")
        return show.table(head, zip(named, *rows, strict=True))


class Sums(eqx.Module):
    """What an `Estimate` needs of values: one part of the draws after the other.

    Draws come from `strata` laws in turn (the scales of a mixture), so that what varies
    between those is no error: the first axis of `first` and `second` is theirs.
    """

    first: PyTree[Array]
    second: PyTree[Array]
    size: PyTree[Array]
    largest: PyTree[Array]

    @classmethod
    def of(cls, values: PyTree[Float[Array, "draws ..."]], strata: int = 1) -> "Sums":
        """Sums over the first axis; its length is a multiple of `strata`."""

        def per_law(v: Array) -> Array:
            return v.reshape(-1, strata, *v.shape[1:])

        return cls(
            jax.tree.map(lambda v: jnp.sum(per_law(v), axis=0), values),
            jax.tree.map(lambda v: jnp.sum(per_law(v) ** 2, axis=0), values),
            jax.tree.map(lambda v: jnp.sum(jnp.abs(v), axis=0), values),
            jax.tree.map(lambda v: jnp.max(jnp.abs(v), axis=0), values),
        )

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(
            jax.tree.map(jnp.add, self.first, other.first),
            jax.tree.map(jnp.add, self.second, other.second),
            jax.tree.map(jnp.add, self.size, other.size),
            jax.tree.map(jnp.maximum, self.largest, other.largest),
        )

    def estimate(self, draws: int) -> Estimate:
        """Mean and error of all that was summed, `draws` of them."""
        mean = jax.tree.map(lambda total: jnp.sum(total, axis=0) / draws, self.first)

        def error(first: Array, second: Array) -> Array:
            each = draws // len(first)
            spread = jnp.sum(jnp.clip(second - first**2 / each, 0), axis=0)
            return jnp.sqrt(spread * each / (each - 1)) / draws

        def share(largest: Array, size: Array) -> Array:
            return largest / jnp.where(size > 0, size, 1.0)

        def effective(second: Array, size: Array) -> Array:
            squares = jnp.sum(second, axis=0)
            return size**2 / jnp.where(squares > 0, squares, 1.0)

        return Estimate(
            mean,
            jax.tree.map(error, self.first, self.second),
            draws,
            jax.tree.map(effective, self.second, self.size),
            jax.tree.map(share, self.largest, self.size),
        )
