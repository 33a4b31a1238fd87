"""Lemma 2, (30): softmax moves by at most twice the largest change of its scores.

Once is enough, and sharp: the weights' change is their mean of |h_i − h̄|, which is at
most max|h_i|, and two even weights that part by a little come as close as one likes.
"""

from dataclasses import dataclass

import jax
import numpy as np

from iclab.evidence import Measured
from iclab.papers.yang2024._bounds import as_bounds, as_measured, rounding, tightest

relation = "<="


@dataclass(frozen=True, eq=False)
class Case:
    """Pairs of scores ξ₁, ξ₂, a row each; `even`: two weights of one half part."""

    first: np.ndarray
    second: np.ndarray
    even: bool = False


def cases(scale) -> dict[str, Case]:
    """Random scores, near each other and far apart, and two even ones."""
    count = {"smoke": 2000, "desk": 100_000, "paper": 1_000_000}[scale]
    random, found = np.random.default_rng(18), {}
    for length in (2, 5, 20):
        spread, step = 10 ** random.uniform((-1, -3), (1.5, 1), (count, 2)).T[..., None]
        first = spread * random.standard_normal((count, length))
        second = first + step * random.standard_normal((count, length))
        found[f"l={length}, random"] = Case(first, second)
    step = np.geomspace(1e-3, 10, count)[:, None]
    zeros = np.zeros((count, 2))
    found["l=2, even"] = Case(zeros, step * np.array([1.0, -1.0]), even=True)
    return found


def predict(case: Case):
    """2‖ξ₁ − ξ₂‖_∞, where the left side is the largest part of it."""
    return as_bounds([_sides(case)])


def decoy(case: Case):
    """1 in the place of 2, and one in a hundred less."""
    return 0.99 / 2 * predict(case) if case.even else None


def measure(case: Case) -> Measured:
    """‖softmax(ξ₁) − softmax(ξ₂)‖₁."""
    return as_measured([_sides(case)])


def _sides(case: Case):
    first, second = (np.asarray(_softmax(one)) for one in (case.first, case.second))
    moved = np.sum(np.abs(first - second), axis=1)
    bound = 2 * np.max(np.abs(case.first - case.second), axis=1)
    largest = np.maximum(np.abs(case.first), np.abs(case.second))
    return tightest(moved, bound, rounding(1 + np.max(largest, axis=1)))


_softmax = jax.jit(lambda scores: jax.nn.softmax(scores, axis=-1))
