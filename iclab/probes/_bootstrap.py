"""Intervals by drawing prompts again."""

from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from iclab.core import checked

# Every interval of this folder holds 90 % of its draws.
LEVEL = 0.9
DRAWS = 400


@checked(finite=False)
@dataclass(frozen=True)
class Interval:
    """A number, and where 90 % of its bootstrap draws lie."""

    value: float
    lower: float
    upper: float


def bootstrap_weights(
    key: PRNGKeyArray, prompts: int, draws: int = DRAWS
) -> Float[np.ndarray, "draws prompts"]:
    """How often every prompt is in every draw."""
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    shares = np.full(prompts, 1 / prompts)
    return rng.multinomial(prompts, shares, size=draws).astype(float)


def bounds(
    draws: Float[np.ndarray, "draws *shape"],
) -> tuple[Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"]]:
    """The ends of the interval, draws along the first axis."""
    lower, upper = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return np.asarray(lower), np.asarray(upper)


def ratio(
    numerator: Float[np.ndarray, " prompts"],
    denominator: Float[np.ndarray, " prompts"],
    weights: Float[np.ndarray, "draws prompts"],
) -> Interval:
    """Ratio of two means over the same prompts; 0/0 is 0."""

    def divide(a, b):
        return np.divide(a, b, out=np.zeros_like(b), where=b > 0)

    value = divide(np.atleast_1d(numerator.sum()), np.atleast_1d(denominator.sum()))
    lower, upper = bounds(divide(weights @ numerator, weights @ denominator))
    return Interval(float(value[0]), float(lower), float(upper))
