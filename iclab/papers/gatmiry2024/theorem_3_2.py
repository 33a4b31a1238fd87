"""Theorem 3.2 (A.8): the weights of least loss, within its bounds, and exactly.

Among symmetric A the least loss is at a⋆Σ⋆⁻¹, u = 0. Among all matrices it is not: with
two loops and 15 examples or more of two inputs, Σ⋆^½AΣ⋆^½ = aI ± εJ does better, J the
rotation by 90°, nε² → 1. With X = I − S and antisymmetric K, the mean of ‖(X − εK)²‖²
is that of ‖X²‖² less 2ε²‖K‖²/n − ε⁴‖K²‖² to leading order, in every dimension.
"""

from dataclasses import dataclass
from math import inf

import numpy as np

from iclab.evidence import Measured
from iclab.papers.gatmiry2024._matrices import rotated
from iclab.papers.gatmiry2024._rotations import best_turned
from iclab.papers.gatmiry2024._search import lowest
from iclab.theory import looped_optimum, looped_optimum_bounds

# Products and sums behind a prediction.
_OPERATIONS = 100
# Inputs in it have the same whitened weights, and rounding is another: what it moves
# alike at every step, and steps at rest do not show, differs. No power of two.
_OTHER_UNIT = 3.0
# Samples up to which a search can tell how many there are.
_TOLD_APART = 2**30

relation = "<="

shares = {
    "looped_optimum": "is the unit in which both sides are given",
}


@dataclass(frozen=True)
class Case:
    """Eigenvalues of Σ⋆, n, L, and whether the search keeps to symmetric matrices."""

    eigenvalues: tuple[float, ...]
    samples: int
    loops: int
    symmetric: bool = True

    @property
    def sizes(self) -> tuple[int, int, int]:
        """d, n and L."""
        return len(self.eigenvalues), self.samples, self.loops

    @property
    def optimum(self) -> tuple[float, float, float]:
        """The best a, ε and their loss."""
        a, loss = looped_optimum(*self.sizes)
        return (a, 0.0, loss) if self.symmetric else best_turned(self.samples)


def cases(scale) -> dict[str, Case]:
    """The smallest n that the theorem allows, and n for which it says nothing."""
    two, three = (1.6, 0.4), (1.5, 0.9, 0.1)
    found = {
        "d=2, L=2, n=2²⁰, symmetric A": Case(two, 2**20, 2),
        "d=2, L=2, n=2²⁰, all A": Case(two, 2**20, 2, symmetric=False),
        "d=2, L=2, n=20, symmetric A": Case(two, 20, 2),
        "d=2, L=2, n=20, all A": Case(two, 20, 2, symmetric=False),
    }
    if scale != "smoke":
        found["d=2, L=1, n=2¹⁴, symmetric A"] = Case(two, 2**14, 1)
        found["d=2, L=1, n=2²⁴, symmetric A"] = Case(two, 2**24, 1)
        found["d=2, L=2, n=2³⁸, symmetric A"] = Case(two, 2**38, 2)
        found["d=3, L=1, n=82944, symmetric A"] = Case(three, 82944, 1)
    if scale == "paper":
        found["d=3, L=2, n=5308416, symmetric A"] = Case(three, 5308416, 2)
        found["d=2, L=3, n=37748736, symmetric A"] = Case(two, 37748736, 3)
    return found


def predict(case: Case):
    """Loss and distance within bounds; u = 0, A = the exact optimum, and its loss.

    The distance is half of c by (22). The loss is a multiple of that of a⋆Σ⋆⁻¹, from
    above and from below.
    """
    d, n, L = case.sizes
    enough = n >= (8 * L * d**2 * 4**L) ** 2
    loss, distance = looped_optimum_bounds(d, n, L) if enough else (inf, inf)
    ratio = case.optimum[2] / looped_optimum(d, n, L)[1]
    return np.array([loss, distance / 2, 0.0, 0.0, ratio, -ratio])


def decoy(case: Case):
    """The optimum of a twentieth more samples; among all matrices a⋆Σ⋆⁻¹.

    With very many samples rounding hides their number, and Σ⋆⁻¹ itself is it.
    """
    bounds = predict(case)
    if case.symmetric:
        d, n, L = case.sizes
        more = 1.0 if n > _TOLD_APART else looped_optimum(d, n + n // 20, L)[0]
        bounds[1] = 1 - more
    else:
        bounds[4:6] = 1.0, -1.0
    return bounds


def labels(case: Case):
    """The bounds, and the optimum from both sides."""
    return ["loss", "distance", "‖u‖", "away from the optimum", "ratio", "−ratio"]


def measure(case: Case) -> Measured:
    """Search the loss of the model, integrated over every prompt, for its minimum."""
    d, n, L = case.sizes
    covariance = rotated(case.eigenvalues)
    found, again = (
        lowest(unit * covariance, n, L, symmetric=case.symmetric)
        for unit in (1, _OTHER_UNIT)
    )
    a, turn, _ = case.optimum
    forms = np.linalg.eigvalsh((found.B + found.B.T) / 2)
    spin = np.sign(found.B[0, 1]) * turn * (np.eye(d, k=1) - np.eye(d, k=-1))
    ratio = found.loss / looped_optimum(d, n, L)[1]
    far = np.max(np.abs(forms - 1))
    beside = np.linalg.norm(found.B - a * np.eye(d) - spin)
    value = [found.loss, far, np.linalg.norm(found.v), beside, ratio, -ratio]
    unit = _OPERATIONS * np.finfo(float).eps
    apart = np.abs(np.abs(found.B) - np.abs(again.B))  # εJ may have either sign
    moved = found.jitter + np.linalg.norm(apart) + unit * np.linalg.cond(covariance)
    # Predictions are of order 1, their errors of order n^{−L/2}.
    of_ratio = 2 * unit * (1 + n ** (L / 2))
    error = [found.loss * of_ratio, moved, moved, moved, of_ratio, of_ratio]
    reason = (
        "the steps that rounding makes at rest, how far the search ends elsewhere with "
        "inputs in another unit, and round-off of predictions"
    )
    return Measured(np.array(value), np.array(error), reason)


def numbers(results):
    """Losses at the least n allowed, and what an antisymmetric part gains."""
    at_least = results["d=2, L=2, n=2²⁰, symmetric A"]
    turned = results["d=2, L=2, n=20, all A"]
    return {
        "loss": at_least.measured[0],
        "bound": at_least.predicted[0],
        "turned": turned.measured[4],
    }
