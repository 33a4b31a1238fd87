"""(17): the simple form of the smoothness constant L, said to be above (61).

Where it estimates nothing it is (61): with ‖Z̄‖ for f̄_max and 1 + ‖ZᵀẐ‖/(mτ) for ‖A‖
both agree as γ → ∞ with a small gap, and as the gap grows their ratio tends to
√((1 + 16N)/(1 + 4N)), since αγH is counted twice.
"""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured, Printed
from iclab.papers.yang2024._descents import (
    QUICK,
    SECOND,
    SLOW,
    SMALL,
    H,
    K,
    N,
    Start,
    constants_of,
    label_root_of,
    m,
    rates_of,
)
from iclab.theory import (
    RepresentationConstants,
    smoothness_constant_printed,
    smoothness_constant_simple,
    weight_bound,
)

shares = {
    "learning_rates": ("gives γ and ζ₀, which both constants are functions of"),
}

relation = "<="


@dataclass(frozen=True)
class Limit:
    """What Δ⁽⁰⁾, ‖ZᵀẐ‖ and γ are multiplied by; norms are estimated as (17) does."""

    gap: float
    correlation: float
    gamma: float

    def simple(self, case: "Case") -> float:
        """(17)."""
        c, gamma = self._constants(case), self.gamma * case.gamma
        return float(smoothness_constant_simple(c, H, gamma, case.zeta))

    def printed(self, case: "Case") -> float:
        """(61)."""
        c, gamma = self._constants(case), self.gamma * case.gamma
        alpha = weight_bound(c, case.zeta, gamma)
        return float(smoothness_constant_printed(c, H, gamma, alpha))

    def _constants(self, case: "Case") -> RepresentationConstants:
        c = constants_of(case.start)
        correlation = self.correlation * c.correlation_norm
        return c._replace(
            initial_gap=self.gap * c.initial_gap,
            correlation_norm=correlation,
            largest_column=c.root_norm,
            optimum_norm=1 + correlation / (m * case.start.tau),
        )


@dataclass(frozen=True)
class Case:
    """A start, γ in units of (15), and the power of ‖Z̄‖ in the bracket of (17)."""

    start: Start
    times: float = 1.0
    squared_norm: bool = False
    limit: Limit | None = None

    @property
    def gamma(self) -> float:
        """The ratio of learning rates that is asked for."""
        return self.times * float(rates_of(self.start, "simple").gamma)

    @property
    def zeta(self) -> float:
        """ζ₀ of the start."""
        return float(rates_of(self.start, "simple").zeta)


def cases(scale) -> dict[str, Case]:
    """γ at the bound (15) and above it, with features of size one; and the limits."""
    starts = (QUICK,) if scale == "smoke" else (QUICK, SECOND, *SLOW)
    found = {
        f"{start}, γ = {times:g} × (15)": Case(start, times)
        for start in starts
        for times in (1.0, 4.0)
    }
    limits = {
        "γ → ∞": Limit(1e-40, 1.0, 1e12),
        "γ and ‖ZᵀẐ‖/γ → ∞": Limit(1e-40, 1e24, 1e6),
        "Δ⁽⁰⁾ → ∞": Limit(1e40, 1.0, 1.0),
    }
    return found | {
        f"(17) and (61), {name}": Case(QUICK, limit=limit)
        for name, limit in limits.items()
    }


def both_powers(scale) -> dict[str, Case]:
    """‖Z̄‖ in the bracket, and its square as our copy prints it."""
    return {
        "features × 0.1, ‖Z̄‖ in the bracket": Case(SMALL),
        "features × 0.1, ‖Z̄‖² in the bracket": Case(SMALL, squared_norm=True),
    }


def predict(case: Case):
    """(17); in the limits from both sides, in units of (61)."""
    if case.limit is not None:
        ratio = case.limit.simple(case) / case.limit.printed(case)
        return np.array([ratio * 1.001, -ratio * 0.999])
    c, squared = constants_of(case.start), case.squared_norm
    L = smoothness_constant_simple(c, H, case.gamma, case.zeta, squared_norm=squared)
    return float(L)


def decoy(case: Case):
    """In the limits half of (17)."""
    return np.array([0.5, -0.5]) if case.limit is not None else None


def measure(case: Case) -> Measured:
    """(61) by NumPy, whose norms are not estimated; the limits of (17)/(61)."""
    if case.limit is not None:
        far = case.limit.gap > 1
        ratio = np.sqrt((1 + 16 * N) / (1 + 4 * N)) if far else 1.0
        reason = "what is left of the limit is below one in a thousand"
        return Measured(np.array([ratio, -ratio]), 0.0, reason)
    L = _of_lemma(case)
    share = f"{L / predict(case):.6f} of (17)"
    return Measured(L, 1e-12 * L, f"float64 round-off; {share}")


printed = Printed(predict=predict, cases=both_powers, nearby=True)


def _of_lemma(case: Case) -> float:
    """(61) with α of (44)."""
    root, gamma = label_root_of(case.start), case.gamma
    features, tau = case.start.arrays[1], case.start.tau
    targets = features[:N] @ features.T
    targets[:, :N] += m * tau * np.eye(N)
    norm, column = np.linalg.norm(root, 2), np.linalg.norm(root, axis=0).max()
    gap = np.sum(np.linalg.solve(root, targets) ** 2) / (2 * K)
    best = np.linalg.norm(np.linalg.solve(root @ root, targets), 2)
    alpha = 4 * norm * np.sqrt(2 * K * gap) / (gamma * case.zeta)
    far = gamma * H * alpha
    values = (2 * gamma * norm**2 * (2 * far + best)) ** 2 / K
    values += gamma**4 * H**2 * norm**4 / K**2
    inner = far**2 + 4 * N * (far + best) ** 2
    size = 8 * gamma * column * norm * max(1.0, 4 * K * alpha**2)
    return float(np.sqrt(2 * values + size * inner))


def numbers(results, printed):
    """How far (17) is below (61), with both powers of ‖Z̄‖."""
    first = printed["features × 0.1, ‖Z̄‖ in the bracket"]
    squared = printed["features × 0.1, ‖Z̄‖² in the bracket"]
    return {
        "first": 1 - first.predicted / first.measured,
        "squared": 1 - squared.predicted / squared.measured,
    }
