"""Lemma 3, (31): the square of a sum of l vectors is at most l times their squares.

Equal vectors reach it.
"""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured
from iclab.papers.yang2024._bounds import as_bounds, as_measured, rounding, tightest

relation = "<="


@dataclass(frozen=True, eq=False)
class Case:
    """Sets of l vectors of length p, sets × l × p; `equal`: all of a set agree."""

    vectors: np.ndarray
    equal: bool = False


def cases(scale) -> dict[str, Case]:
    """Random vectors of unlike lengths, and equal ones."""
    count = {"smoke": 1000, "desk": 100_000, "paper": 1_000_000}[scale]
    random, found = np.random.default_rng(19), {}
    for l, p in ((2, 3), (3, 1), (4, 5)):
        sizes = 10 ** random.uniform(-1, 1, (count, l, 1))
        vectors = sizes * random.standard_normal((count, l, p))
        found[f"l={l}, p={p}, random"] = Case(vectors)
        equal = np.broadcast_to(vectors[:, :1], vectors.shape)
        found[f"l={l}, p={p}, equal"] = Case(equal, equal=True)
    return found


def predict(case: Case):
    """l Σ‖x_i‖², where the left side is the largest part of it."""
    return as_bounds([_sides(case)])


def decoy(case: Case):
    """l − 1 in the place of l."""
    l = case.vectors.shape[1]
    return (l - 1) / l * predict(case) if case.equal else None


def measure(case: Case) -> Measured:
    """‖Σ x_i‖², with the sum taken first."""
    return as_measured([_sides(case)])


def _sides(case: Case):
    left = np.sum(np.sum(case.vectors, axis=1) ** 2, axis=1)
    right = case.vectors.shape[1] * np.sum(case.vectors**2, axis=(1, 2))
    return tightest(left, right, rounding(right))
