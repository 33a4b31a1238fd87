"""Section 6.1, second observation: with B free, later layers take larger steps.

An observation about d = 5 inputs, not a law: the minima on S compete, and with d = 3,
n = 10 the best one has |a₀| a little above |a₁|.
"""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured
from iclab.papers.ahn2023._multiples import LAYERS, STARTS, trained
from iclab.theory import optimal_gd_plus_plus

labels = "‖A₁‖/‖A₀‖", "‖A₂‖/‖A₁‖", "layers that grow"

shares = {"_normalised": "units: moments divided by d nᵏ"}


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
    """Both ratios at the best point of S, and that both are above 1."""
    a, _, _ = optimal_gd_plus_plus(case.dimension, case.samples, LAYERS)
    return np.append(_ratios(np.asarray(a)), LAYERS - 1)


def measure(case: Case) -> Measured:
    """Train multiples of Σ⁻¹ and I on the exact loss, from Gaussian starts."""
    found = trained(case.dimension, case.samples)
    ratios = _ratios(found.a)
    error = 2 * found.shift * (1 + ratios) / np.abs(found.a)[:-1]
    reason = f"distance to the minimum where {found.reached} of {STARTS} descents ended"
    value = np.append(ratios, np.sum(ratios > 1))
    return Measured(value, np.append(error, 0), reason)


def decoy(case: Case):
    """The best point of S for one example more, as if the query counted."""
    found = trained(case.dimension, case.samples + 1)
    return np.append(_ratios(found.a), LAYERS - 1)


def _ratios(a: np.ndarray) -> np.ndarray:
    return np.abs(a[1:]) / np.abs(a[:-1])
