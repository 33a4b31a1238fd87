"""Second remark after Theorem 1: what tr(Σ)/n in Γ does, and when."""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured, rounded
from iclab.papers.ahn2023._single_layer import moments, rotated

_EIGENVALUES = np.array([1.0, 0.25, 0.0625])

labels = "share at the largest eigenvalue", "at the middle one", "at the smallest"


@dataclass(frozen=True)
class Case:
    """Examples, and by what the variance of the inputs is multiplied."""

    samples: int
    scale: float


def cases(scale) -> dict[str, Case]:
    """Few examples and more, inputs of variance 1 and of variance 100."""
    sizes = [(2, 1.0), (20, 1.0), (20, 100.0)]
    if scale != "smoke":
        sizes += [(2, 0.01), (200, 1.0)]
    return {f"n={n}, variance times {v:g}": Case(n, v) for n, v in sizes}


def predict(case: Case):
    """tr Σ/((n+1)λᵢ + tr Σ), whatever the scale of the inputs."""
    total = np.sum(_EIGENVALUES)
    return total / ((case.samples + 1) * _EIGENVALUES + total)


def decoy(case: Case):
    """n for n + 1."""
    total = np.sum(_EIGENVALUES)
    return total / (case.samples * _EIGENVALUES + total)


def measure(case: Case) -> Measured:
    """Minimise the exact loss: by how much each step falls short of n/((n+1)λᵢ)."""
    eigenvalues, n = case.scale * _EIGENVALUES, case.samples
    found = moments(rotated(eigenvalues.tolist()), n)
    X, d = found.least(), len(eigenvalues)
    A = X[d, :d] + X[:d, d]
    steps = np.sort(-np.linalg.eigvalsh((A + A.T) / 2))  # ascending, as 1/λᵢ
    square = np.linalg.eigvalsh(found.square.reshape((d + 1) ** 2, -1))
    # Solving the equations loses digits with their condition number.
    condition = square[-1] / square[square > 1e-9 * square[-1]].min()
    shares = 1 - (n + 1) / n * eigenvalues * steps
    return rounded(shares, 3.0**d * condition, 1.0)
