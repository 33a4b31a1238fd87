"""Section 6.1, second observation: with B free, later layers take larger steps.

An observation about d = 5 inputs, not a law: the minima on S compete, and with d = 3,
n = 10 the best one has |a₀| a little above |a₁|.
"""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured, rounded
from iclab.theory import optimal_gd_plus_plus

_LAYERS = 3

relation = ">="


@dataclass(frozen=True)
class Case:
    """Inputs and examples."""

    dimension: int
    samples: int


def cases(scale) -> dict[str, Case]:
    """The experiment's sizes, and other lengths."""
    sizes = [(5, 10), (5, 20)]
    if scale != "smoke":
        sizes += [(5, 5), (5, 40)]
    if scale == "paper":
        sizes += [(10, 20), (20, 40), (5, 100)]
    return {f"d={d}, n={n}": Case(d, n) for d, n in sizes}


def predict(case: Case):
    """‖A₁‖/‖A₀‖ and ‖A₂‖/‖A₁‖ are at least 1."""
    return np.ones(_LAYERS - 1)


def measure(case: Case) -> Measured:
    """Ratios at the best point of S that a search from many starts finds."""
    # Polished until the gradient is below 1e-12: right to the digits of float64.
    return rounded(_ratios(case), 10.0, _ratios(case))


def decoy(case: Case):
    """Geometric growth: each ratio at least as large as the other."""
    return _ratios(case)[::-1]


def _ratios(case: Case) -> np.ndarray:
    a, _, _ = optimal_gd_plus_plus(case.dimension, case.samples, _LAYERS)
    return np.abs(np.asarray(a))[1:] / np.abs(np.asarray(a))[:-1]
