"""Batches of prompts and layers of weights that are the same at every call."""

from typing import NamedTuple

import numpy as np


class Batch(NamedTuple):
    """Prompts as plain arrays: inputs (·, n, d), labels (·, n), queries (·, d)."""

    examples: np.ndarray
    labels: np.ndarray
    query: np.ndarray
    target: np.ndarray


def prompts(number: int, d: int, n: int, *, skewed: bool = False) -> Batch:
    """Noiseless linear labels; inputs normal with unequal variances, or exponential."""
    random = np.random.default_rng([number, d, n, skewed])
    draw = random.standard_exponential if skewed else random.standard_normal
    x = draw((number, n + 1, d)) * np.linspace(1.3, 0.5, d)
    w = draw((number, d))
    y = np.einsum("pnd,pd->pn", x, w)
    return Batch(x[:, :-1], y[:, :-1], x[:, -1], y[:, -1])


def layers(count: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights (A, B) of `count` layers: symmetric A of either sign, B of any shape."""
    random = np.random.default_rng([count, d])
    A, B = random.standard_normal((2, count, d, d)) / (4 * d)
    # Mostly negative: steps that shrink the error, so that layers do not blow it up.
    return (A + A.swapaxes(1, 2)) / 2 - np.eye(d) / 5, B
