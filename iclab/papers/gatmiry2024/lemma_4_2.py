"""Lemma 4.2 (A.5): E Sᵏ has the eigenvectors of Σ̃, and eigenvalues close to λ_jᵏ."""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured, Printed
from iclab.papers.gatmiry2024._matrices import mean_power_from, rotated
from iclab.papers.gatmiry2024._pairings import mean_power
from iclab.theory import looped_delta, moment_deviation

relation = "<="


@dataclass(frozen=True)
class Case:
    """Eigenvalues of Σ̃, largest first, the power k, and n examples."""

    eigenvalues: tuple[float, ...]
    order: int
    samples: int


def cases(scale) -> dict[str, Case]:
    """n = 16k²d², in random bases."""
    spectra, most = {
        "smoke": ([(1.6, 0.4), (1.5, 0.9, 0.1)], 4),
        "desk": ([(1.0, 1.0), (1.6, 0.4), (3.0, 0.01), (1.5, 0.9, 0.1)], 5),
        "paper": ([(1.0, 1.0), (1.6, 0.4), (3.0, 0.01), (1.5, 0.9, 0.1)], 6),
    }[scale]
    return {
        f"eigenvalues {spectrum}, k={k}, n=16k²d²": Case(
            spectrum, k, 16 * (k * len(spectrum)) ** 2
        )
        for spectrum in spectra
        for k in range(2, most + 1)
    }


def printed_cases(scale) -> dict[str, Case]:
    """L = k/2 loops and little more than d examples, which nothing forbids."""
    return {
        "white, d=2, L=3, k=6, n=3": Case((1.0,) * 2, 6, 3),
        "white, d=5, L=3, k=6, n=6": Case((1.0,) * 5, 6, 6),
    }


def predict(case: Case):
    """λ_jᵏ ≤ α_j ≤ λ_jᵏ + (4kd/√n)λ₁ᵏ, and nothing beside the diagonal."""
    d, n, k = len(case.eigenvalues), case.samples, case.order
    return _bounds(case, 0.0, moment_deviation(d, n, k))


def as_printed(case: Case):
    """|α_j − λ_jᵏ| ≤ δᵏλ₁ᵏ with δ = (8Ld/√n)^{1/(2L)}, whatever n."""
    deviation = looped_delta(len(case.eigenvalues), case.samples, case.order // 2)
    return _bounds(case, deviation**case.order, deviation**case.order)


printed = Printed(predict=as_printed, cases=printed_cases)


def decoy(case: Case):
    """Moments of S as if S were Σ̃."""
    return _bounds(case, 0.0, 0.0)


def labels(case: Case):
    """Every α_j from above and from below, and what is beside them."""
    each = range(1, len(case.eigenvalues) + 1)
    return [*(f"{sign}α_{j}" for sign in ("", "−") for j in each), "off the diagonal"]


def measure(case: Case) -> Measured:
    """E Sᵏ over every S; with more than three inputs, all white, over all pairings."""
    d, n, k = len(case.eigenvalues), case.samples, case.order
    if d > 3:
        alpha = np.full(d, float(mean_power(d, n, k)))
        value = np.concatenate([alpha, -alpha, [0.0]])
        return Measured(value, 0, "rational arithmetic")
    covariance = rotated(case.eigenvalues)
    alpha, beside, error = mean_power_from(covariance, np.eye(d), 0.0, n, k)
    reason = "float64 round-off of powers of sample covariances that integrate exactly"
    return Measured(np.concatenate([alpha, -alpha, [beside]]), error, reason)


def _bounds(case: Case, below: float, above: float) -> np.ndarray:
    powers = np.array(case.eigenvalues) ** case.order
    upper, lower = powers + above * powers[0], powers - below * powers[0]
    return np.concatenate([upper, -lower, [0.0]])


def numbers(results, printed):
    """The moment of few examples, and what the printed bound allows."""
    one = printed["white, d=5, L=3, k=6, n=6"]
    return {"alpha": one.measured[0], "allowed": one.predicted[0]}
