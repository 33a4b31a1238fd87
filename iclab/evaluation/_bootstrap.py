"""Intervals by bootstrap, for means and for what heavy tails leave of them."""

import functools
import warnings
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from iclab import show
from iclab.core import HeavyTails, Number, largest_share

# Numbers in memory at a time.
_LARGEST = 1 << 22


class Band(eqx.Module):
    """A number at every context length, and an interval around each."""

    value: Float[Array, " m"]
    lower: Float[Array, " m"]
    upper: Float[Array, " m"]

    def _repr_html_(self) -> str:
        rows = zip(self.value, self.lower, self.upper, strict=True)
        return show.table(("value", "lower", "upper"), rows)


class Bootstrap(NamedTuple):
    """Draws of whole units: prompts, or groups of prompts that share something."""

    seed: tuple[int, ...]
    units: int
    draws: int
    level: float

    @classmethod
    def of(
        cls, key: PRNGKeyArray, units: int, draws: int, level: Number
    ) -> "Bootstrap":
        """Draws from `key`."""
        seed = np.asarray(jax.random.key_data(key))
        return cls(tuple(int(word) for word in seed), units, draws, float(level))

    def mean(self, values: Float[np.ndarray, "prompts m"]) -> Band:
        """Means with the intervals that hold `level` of the draws."""
        means = values.reshape(self.units, -1, values.shape[1]).mean(axis=1)
        drawn = _counts(self.seed, self.units, self.draws) / self.units @ means
        return self._band(means.mean(axis=0), drawn)

    def between(
        self,
        values: Float[np.ndarray, "prompts m"],
        low: float,
        high: float,
        weights: Float[np.ndarray, "prompts m"] | None = None,
    ) -> Band:
        """Mean of what lies between two quantiles, `low` ≤ `high`; equal ones: it."""
        every = np.ones_like(values) if weights is None else weights
        columns = [
            self._one_between(column, weight, low, high)
            for column, weight in zip(values.T, every.T, strict=True)
        ]
        found, drawn = zip(*columns, strict=True)
        return self._band(np.array(found), np.stack(drawn, axis=1))

    def _one_between(
        self,
        values: Float[np.ndarray, " prompts"],
        weights: Float[np.ndarray, " prompts"],
        low: float,
        high: float,
    ) -> tuple[float, Float[np.ndarray, " draws"]]:
        order = np.argsort(values, kind="stable")
        ordered, unit = values[order], order // (len(values) // self.units)
        once = np.ones((1, self.units), dtype=np.int64)
        counts = np.concatenate([once, _counts(self.seed, self.units, self.draws)])
        rows = max(1, _LARGEST // len(values))
        found = []
        for start in range(0, len(counts), rows):
            often = counts[start : start + rows, unit] * weights[order]
            cumulative = np.cumsum(often, axis=1)
            total = cumulative[:, -1:]
            if low == high:
                # The smallest value with this part of all at or below it.
                enough = (cumulative > 0) & (cumulative >= low * total - 1e-9)
                found.append(ordered[np.argmax(enough, axis=1)])
            else:
                inside = np.clip(cumulative, low * total, high * total)
                parts = np.diff(inside, axis=1, prepend=low * total)
                found.append(parts @ ordered / ((high - low) * total[:, 0]))
        first, *rest = np.concatenate(found)
        return float(first), np.array(rest)

    def _band(
        self, value: Float[np.ndarray, " m"], drawn: Float[np.ndarray, "draws m"]
    ) -> Band:
        tails = [(1 - self.level) / 2, (1 + self.level) / 2]
        lower, upper = np.quantile(drawn, tails, axis=0)
        return Band(*map(jnp.asarray, (value, lower, upper)))


# All predictors of a curve are held against the same draws.
@functools.lru_cache(maxsize=1)
def _counts(
    seed: tuple[int, ...], units: int, draws: int
) -> Int[np.ndarray, "draws units"]:
    """How often each unit is in each draw."""
    rng = np.random.default_rng(np.array(seed, dtype=np.uint32))
    return rng.multinomial(units, np.full(units, 1 / units), size=draws)


def where_carried(
    values: Float[np.ndarray, "prompts m"], floor: float
) -> Bool[np.ndarray, " m"]:
    """Where one prompt carries (`largest_share`) a mean that is above `floor`."""
    size = np.sum(np.abs(values), axis=0)
    most = np.max(np.abs(values), axis=0)
    return (size > floor * len(values)) & (most > largest_share(len(values)) * size)


def warn_of_tails(name: str, places: list[str], prompts: int) -> None:
    """Warn that the mean is unknown in these places."""
    warnings.warn(
        f"the mean of {name!r} is unknown {', '.join(places)}: one of {prompts:,}"
        f" prompts makes {largest_share(prompts):.0%} of it or more; draw from a"
        " mixture (`mixture=True`), or ask for medians, quantiles or trimmed means",
        HeavyTails,
        stacklevel=4,
    )
