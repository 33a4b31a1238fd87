"""(31): what I − A^½Σ^outA^½ lies between when A is near Σ⋆⁻¹ and Σ^out near Σ⋆."""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured, Printed
from iclab.papers.gatmiry2024._out_of_distribution import at_the_edge, root

relation = "<="


@dataclass(frozen=True)
class Case:
    """r = 16δd^{1/(2L)}, ζ, and the share of r by which A may differ from Σ⋆⁻¹."""

    dimension: int
    spread: float
    margin: float
    share: float = 0.5


def cases(scale) -> dict[str, Case]:
    """A within 8δd^{1/(2L)} of Σ⋆⁻¹, as (23) has it."""
    found = {"d=3, r=0.3, ζ=0.1": Case(3, 0.3, 0.1)}
    if scale != "smoke":
        found["d=2, r=0.8, ζ=0.01"] = Case(2, 0.8, 0.01)
        found["d=5, r=0.05, ζ=0.9"] = Case(5, 0.05, 0.9)
    return found


def as_printed(scale) -> dict[str, Case]:
    """A within 16δd^{1/(2L)} of Σ⋆⁻¹, from which the proof starts."""
    return {"d=3, r=0.3, ζ=0.1": Case(3, 0.3, 0.1, share=1.0)}


def predict(case: Case):
    """Below 1 + r − ζ and above its negative."""
    return np.full(2, 1 + case.spread - case.margin)


printed = Printed(predict=predict, cases=as_printed)


def decoy(case: Case):
    """1 + r/2 − ζ."""
    return np.full(2, 1 + case.spread / 2 - case.margin)


def measure(case: Case, scale) -> Measured:
    """The largest eigenvalues of I − A^½Σ^outA^½ and of its negative.

    Random instances, and the one where all inequalities are equalities at once.
    """
    d, count = case.dimension, {"smoke": 200, "desk": 2000, "paper": 20000}[scale]
    random = np.random.default_rng([d, count])
    Sigma = np.diag(0.5 ** np.arange(d))
    S = at_the_edge(Sigma, case.margin, count, random)
    S[0], S[1] = case.margin * Sigma, (2 - case.margin) * Sigma
    distance = case.share * case.spread
    a = random.uniform(1 - distance, 1 + distance, (count, d))
    a[:, 0], a[:, -1] = 1 - distance, 1 + distance
    a[0], a[1] = 1 - distance, 1 + distance
    axes = np.linalg.qr(random.standard_normal((count, d, d)))[0]
    whitener = np.linalg.inv(root(Sigma))
    A = whitener @ (axes * a[:, None, :]) @ axes.swapaxes(1, 2) @ whitener
    half = root(A)
    eigenvalues = np.linalg.eigvalsh(np.eye(d) - half @ S @ half)
    value = np.array([np.max(eigenvalues), -np.min(eigenvalues)])
    rounding = 100 * d * np.finfo(float).eps * np.linalg.cond(Sigma)
    reason = f"float64 round-off of eigenvalues; largest of {count} instances"
    return Measured(value, rounding, reason)


def numbers(results, printed):
    """Lowest values: from the proof's start, as claimed, and from (23)."""
    name = "d=3, r=0.3, ζ=0.1"
    slip = printed[name]
    return {
        "lowest": -slip.measured[1],
        "allowed": -slip.predicted[1],
        "right": -results[name].measured[1],
    }
