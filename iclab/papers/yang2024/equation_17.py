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
    m,
    rates_of,
)
from iclab.theory import (
    RepresentationConstants,
    smoothness_constant,
    smoothness_constant_printed,
    smoothness_constant_simple,
    weight_bound,
)

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
    """γ at the bound (15) and above it."""
    starts = (QUICK, SMALL) if scale == "smoke" else (QUICK, SECOND, SMALL, *SLOW)
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
    """(17) with γf̄‖Z̄‖ squared and the maximum kept.

    L² = ‖Z̄‖⁴[b²(8γ²/K + 64Nμ) + 2H²(γ⁴/K² + 256Kμ‖Z̄‖²Δ⁽⁰⁾/ζ₀²)] with the bracket b of
    (17) and μ = max{γ²/K, 128K‖Z̄‖²Δ⁽⁰⁾/ζ₀²}. In the limits (17) as printed, from both
    sides, in units of (61).
    """
    if case.limit is not None:
        ratio = case.limit.simple(case) / case.limit.printed(case)
        return np.array([ratio * 1.001, -ratio * 0.999])
    c, gamma = constants_of(case.start), case.gamma
    norm, gap = float(c.root_norm), float(c.initial_gap)
    weights = 32 * K * norm**2 * gap / case.zeta**2
    b = 2 * H * np.sqrt(weights) + 1
    b += float(c.correlation_norm) / (m * case.start.tau)
    mu = max(gamma**2 / K, 4 * weights)
    squares = b**2 * (8 * gamma**2 / K + 64 * N * mu)
    squares += 2 * H**2 * (gamma**4 / K**2 + 8 * mu * weights)
    return norm**2 * np.sqrt(squares)


def decoy(case: Case):
    """Nothing squared, no maximum; in the limits twice (61)."""
    return np.array([0.5, -0.5]) if case.limit is not None else as_printed(case)


def as_printed(case: Case):
    """(17)."""
    c, squared = constants_of(case.start), case.squared_norm
    L = smoothness_constant_simple(c, H, case.gamma, case.zeta, squared_norm=squared)
    return float(L)


def measure(case: Case) -> Measured:
    """Lemma 10 as corrected, whose norms are not estimated; the limits of (17)/(61)."""
    if case.limit is not None:
        far = case.limit.gap > 1
        ratio = np.sqrt((1 + 16 * N) / (1 + 4 * N)) if far else 1.0
        reason = "what is left of the limit is below one in a thousand"
        return Measured(np.array([ratio, -ratio]), 0.0, reason)
    L = float(smoothness_constant(*_of_lemma(case)))
    share = f"{L / predict(case):.3f} of the simple form"
    return Measured(L, 1e-13 * L, f"float64 round-off; {share}")


def measure_printed(case: Case) -> Measured:
    """(61)."""
    L = float(smoothness_constant_printed(*_of_lemma(case)))
    above = f"(61) is larger by a part {L / as_printed(case) - 1:.1e}"
    return Measured(L, 1e-13 * L, f"float64 round-off; {above}")


printed = Printed(predict=as_printed, cases=both_powers, measure=measure_printed)


def _of_lemma(case: Case):
    c = constants_of(case.start)
    return c, H, case.gamma, weight_bound(c, case.zeta, case.gamma)


def numbers(results, printed):
    """How far (17) is below (61), with both powers of ‖Z̄‖."""
    first = printed["features × 0.1, ‖Z̄‖ in the bracket"]
    squared = printed["features × 0.1, ‖Z̄‖² in the bracket"]
    return {
        "first": 1 - first.predicted / first.measured,
        "squared": 1 - squared.predicted / squared.measured,
    }
