"""(25), (26): E[(I − SA)ⁱS(I − SA)^{2L−1−i}], opened up word by word."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import comb

import numpy as np

from iclab.evidence import Measured, Printed, rounded
from iclab.papers.gatmiry2024._every_prompt import every_sample
from iclab.papers.gatmiry2024._pairings import middle_word

# Eigenvalues of A; Σ⋆ = I.
_A = Fraction(1, 2), Fraction(5, 4)


@dataclass(frozen=True)
class Case:
    """L loops, the place i of the factor S, and n examples."""

    loops: int
    place: int
    samples: int


def cases(scale) -> dict[str, Case]:
    """S first and in the middle; with more loops at larger scales."""
    found = [Case(2, 0, 8), Case(2, 1, 3)]
    if scale != "smoke":
        found += [Case(2, 3, 8), Case(3, 1, 5)]
    return {f"d=2, L={c.loops}, i={c.place}, n={c.samples}": c for c in found}


def predict(case: Case):
    """Σ C(i,ℓ₁)C(2L−1−i,ℓ₂)(−1)^{ℓ₁+ℓ₂}γ_j(ℓ₁,ℓ₂), and nothing off the diagonal."""
    return _sum(case, lambda i, m, a, b: comb(i, a) * comb(m, b))


def as_printed(case: Case):
    """C(2L−1−i,ℓ₁)C(i,ℓ₂)."""
    return _sum(case, lambda i, m, a, b: comb(m, a) * comb(i, b))


printed = Printed(predict=as_printed, nearby=True)


def decoy(case: Case):
    """Without the last of the words, ℓ₁ = i and ℓ₂ = 2L − 1 − i."""
    return _sum(case, lambda i, m, a, b: comb(i, a) * comb(m, b) * ((a, b) != (i, m)))


def measure(case: Case) -> Measured:
    """Products of matrices, for every S."""
    A, degree = np.diag(np.array(_A, float)), 2 * case.loops
    S = every_sample(np.eye(2), case.samples, degree)
    factor = np.eye(2) - S.S @ A
    left, right = (
        np.linalg.matrix_power(factor, power)
        for power in (case.place, degree - 1 - case.place)
    )
    M = S.mean(left @ S.S @ right)
    size = S.mean((1 + np.linalg.norm(S.S @ A, axis=(1, 2))) ** degree)
    return rounded(np.array([*np.diag(M), M[0, 1], M[1, 0]]), 100 * degree, size)


def _sum(case: Case, times: Callable[[int, int, int, int], int]) -> np.ndarray:
    i, m = case.place, 2 * case.loops - 1 - case.place
    total = [Fraction(0), Fraction(0)]
    for a in range(i + 1):
        for b in range(m + 1):
            for j, gamma in enumerate(middle_word(_A, case.samples, a, b)):
                total[j] += times(i, m, a, b) * (-1) ** (a + b) * gamma
    return np.array([*total, 0, 0], float)
