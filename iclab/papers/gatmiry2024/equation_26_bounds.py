"""After (26): γ_j, and the eigenvalues of the sum, within their bounds."""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured, Printed
from iclab.papers.gatmiry2024._every_prompt import every_sample
from iclab.theory import moment_deviation

relation = "<="


@dataclass(frozen=True)
class Word:
    """Eigenvalues of A, largest first, ℓ₁ and ℓ₂, for n = 16k²d², k = ℓ₁ + ℓ₂ + 1."""

    A: tuple[float, ...]
    before: int
    after: int

    @property
    def degree(self) -> int:
        """k."""
        return self.before + self.after + 1

    @property
    def samples(self) -> int:
        """n."""
        return 16 * (self.degree * len(self.A)) ** 2

    def inside(self, S: np.ndarray, A: np.ndarray) -> np.ndarray:
        """A^{−½}T^{ℓ₁+1}A⁻¹T^{ℓ₂}A^½, T = A^½SA^½."""
        half = np.sqrt(A)
        T = half @ S @ half
        left, right = (
            np.linalg.matrix_power(T, power) for power in (self.before + 1, self.after)
        )
        middle = left @ np.linalg.inv(A) @ right
        return np.linalg.inv(half) @ middle @ half


@dataclass(frozen=True)
class Sum:
    """Eigenvalues of A, largest first, L and i, for so many samples that signs show."""

    A: tuple[float, ...]
    loops: int
    place: int
    samples: int = 10**8

    @property
    def degree(self) -> int:
        """2L."""
        return 2 * self.loops

    def inside(self, S: np.ndarray, A: np.ndarray) -> np.ndarray:
        """(I − SA)ⁱS(I − SA)^{2L−1−i}."""
        factor, last = np.eye(len(A)) - S @ A, self.degree - 1 - self.place
        left, right = (np.linalg.matrix_power(factor, p) for p in (self.place, last))
        return left @ S @ right


def cases(scale) -> dict[str, Word | Sum]:
    """A⁻¹ at both ends and between, in two and three dimensions."""
    two, three = (1.5, 0.2), (1.5, 0.9, 0.1)
    found = [Word(two, 0, 2), Word(two, 1, 1), Sum(two, 2, 1)]
    if scale != "smoke":
        found += [Word(three, 1, 1), Word(three, 2, 1), Sum(three, 2, 0)]
    return {_name(case): case for case in found}


def sums(scale) -> dict[str, Word | Sum]:
    """Those whose sign is printed wrong."""
    return {name: one for name, one in cases(scale).items() if isinstance(one, Sum)}


def predict(case: Word | Sum):
    """Upper bounds, lower ones with a minus, and nothing beside the diagonal."""
    return _bounds(case, 1)


def as_printed(case: Word | Sum):
    """(λ_j − 1)^{2L−1}."""
    return _bounds(case, -1)


printed = Printed(predict=as_printed, cases=sums, nearby=True)


def decoy(case: Word | Sum):
    """As if S were the identity."""
    return _bounds(case, 1, exact=True)


def measure(case: Word | Sum) -> Measured:
    """The mean of these products over every S, from the eigenvectors of A."""
    A = np.diag(case.A)
    rule = every_sample(np.eye(len(A)), case.samples, case.degree)
    M = rule.mean(case.inside(rule.S, A))
    beside = np.max(np.abs(M - np.diag(np.diag(M))))
    size = (1 + case.A[0]) ** case.degree * np.sqrt(case.A[0] / case.A[-1])
    error = 100 * len(A) * case.degree * np.finfo(float).eps * size / case.A[-1]
    reason = "float64 round-off of products; all S integrate exactly"
    return Measured(np.array([*np.diag(M), *-np.diag(M), beside]), error, reason)


def _bounds(case: Word | Sum, sign: int, *, exact: bool = False) -> np.ndarray:
    values, k, d = np.array(case.A), case.degree, len(case.A)
    width = 0.0 if exact else moment_deviation(d, case.samples, k)
    if isinstance(case, Word):
        middle = values ** (k - 1)
        upper, lower = middle + width * values[0] ** (k - 1), middle
    else:
        middle = sign * (1 - values) ** (k - 1)
        spread = width * (1 + values[0]) ** (k - 1)
        upper, lower = middle + spread, middle - spread
    return np.concatenate([upper, -lower, [0.0]])


def labels(case: Word | Sum):
    """Every eigenvalue from above and from below, and what is beside them."""
    each = range(1, len(case.A) + 1)
    return [*(f"{sign}γ_{j}" for sign in ("", "−") for j in each), "off the diagonal"]


def _name(case: Word | Sum) -> str:
    if isinstance(case, Word):
        return f"A={case.A}, ℓ₁={case.before}, ℓ₂={case.after}, n=16k²d²"
    return f"A={case.A}, L={case.loops}, i={case.place}, n=10⁸"
