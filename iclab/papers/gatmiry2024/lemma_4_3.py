"""Lemma 4.3 (A.7): eigenvalues of E(A^½SA^½ − I)ᵏ, close to (λ_i − 1)ᵏ."""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured, Printed
from iclab.papers.gatmiry2024._matrices import mean_power_from, rotated
from iclab.theory import looped_delta, moment_deviation

relation = "<="


@dataclass(frozen=True)
class Case:
    """Eigenvalues of Σ⋆ in a random basis, those of a diagonal A, k, and n examples."""

    eigenvalues: tuple[float, ...]
    A: tuple[float, ...]
    order: int
    samples: int

    @property
    def moved(self) -> np.ndarray:
        """A^½Σ⋆A^½."""
        return np.sqrt(np.outer(self.A, self.A)) * rotated(self.eigenvalues)

    def bounds(self, deviation: float) -> np.ndarray:
        """(λ_i − 1)ᵏ ± `deviation`·(λ₁ + 1)ᵏ, and nothing beside the diagonal."""
        k, values = self.order, np.linalg.eigvalsh(self.moved)[::-1]
        middle, width = (values - 1) ** k, deviation * (values[0] + 1) ** k
        return np.concatenate([middle + width, width - middle, [0.0]])


def cases(scale) -> dict[str, Case]:
    """n = 16k²d²; A and Σ⋆ do not commute."""
    pairs = [((1.6, 0.4), (0.9, 1.4)), ((1.5, 0.9, 0.1), (0.5, 1.0, 2.0))]
    if scale != "smoke":
        pairs += [((1.0, 1.0), (1.0, 1.0)), ((3.0, 0.01), (2.0, 5.0))]
    most = {"smoke": 4, "desk": 5, "paper": 6}[scale]
    found = {}
    for spectrum, A in pairs:
        for k in range(2, most + 1):
            case = Case(spectrum, A, k, 16 * (k * len(A)) ** 2)
            found[f"Σ⋆ {spectrum}, A {A}, k={k}, n=16k²d²"] = case
    return found


def printed_cases(scale) -> dict[str, Case]:
    """L = k/2 loops and little more than d examples."""
    return {
        "d=1, A=2, Σ⋆=1, L=3, k=6, n=2": Case((1.0,), (2.0,), 6, 2),
        "d=2, A=10I, Σ⋆=I, L=3, k=6, n=3": Case((1.0, 1.0), (10.0, 10.0), 6, 3),
    }


def predict(case: Case):
    """Within (4kd/√n)(λ₁ + 1)ᵏ."""
    return case.bounds(moment_deviation(len(case.A), case.samples, case.order))


def as_printed(case: Case):
    """Within δᵏ(λ₁ + 1)ᵏ whatever n."""
    delta = looped_delta(len(case.A), case.samples, case.order // 2)
    return case.bounds(delta**case.order)


printed = Printed(predict=as_printed, cases=printed_cases)


def decoy(case: Case):
    """Moments of S as if S were Σ⋆."""
    return case.bounds(0.0)


def labels(case: Case):
    """Every eigenvalue from above and from below, and what is beside them."""
    each = range(1, len(case.A) + 1)
    return [*(f"{sign}β_{i}" for sign in ("", "−") for i in each), "off the diagonal"]


def measure(case: Case) -> Measured:
    """The mean over every S, in the eigenvectors of A^½Σ⋆A^½."""
    covariance, root = rotated(case.eigenvalues), np.diag(np.sqrt(case.A))
    found = mean_power_from(covariance, root, 1.0, case.samples, case.order)
    beta, beside, error = found
    value = np.array([*beta, *-beta, beside])
    reason = "float64 round-off of powers of sample covariances that integrate exactly"
    return Measured(value, error, reason)


def numbers(results, printed):
    """The mean over few examples, and what the printed bound allows."""
    one = printed["d=1, A=2, Σ⋆=1, L=3, k=6, n=2"]
    return {"mean": one.measured[0], "allowed": one.predicted[0]}
