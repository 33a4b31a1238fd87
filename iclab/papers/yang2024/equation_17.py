"""(17): the simple form of the smoothness constant L, said to be above (61)."""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Claim, Measured, Printed
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
    smoothness_constant,
    smoothness_constant_printed,
    smoothness_constant_simple,
    weight_bound,
)


@dataclass(frozen=True)
class Case:
    """A start, γ in units of (15), and the power of ‖Z̄‖ in the bracket of (17)."""

    start: Start
    times: float = 1.0
    squared_norm: bool = False

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
    return {
        f"{start}, γ = {times:g} × (15)": Case(start, times)
        for start in starts
        for times in (1.0, 4.0)
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
    (17) and μ = max{γ²/K, 128K‖Z̄‖²Δ⁽⁰⁾/ζ₀²}.
    """
    c, gamma = constants_of(case.start), case.gamma
    norm, gap = float(c.root_norm), float(c.initial_gap)
    weights = 32 * K * norm**2 * gap / case.zeta**2
    b = 2 * H * np.sqrt(weights) + 1
    b += float(c.correlation_norm) / (m * case.start.tau)
    mu = max(gamma**2 / K, 4 * weights)
    squares = b**2 * (8 * gamma**2 / K + 64 * N * mu)
    squares += 2 * H**2 * (gamma**4 / K**2 + 8 * mu * weights)
    return norm**2 * np.sqrt(squares)


def as_printed(case: Case):
    """(17)."""
    c, squared = constants_of(case.start), case.squared_norm
    L = smoothness_constant_simple(c, H, case.gamma, case.zeta, squared_norm=squared)
    return float(L)


def measure(case: Case, key, scale) -> Measured:
    """Lemma 10 as corrected, whose norms are not estimated."""
    L = float(smoothness_constant(*_of_lemma(case)))
    share = f"{L / predict(case):.3f} of the simple form"
    return Measured(L, 1e-13 * L, f"float64 round-off; {share}")


def measure_printed(case: Case, key, scale) -> Measured:
    """(61)."""
    L = float(smoothness_constant_printed(*_of_lemma(case)))
    above = f"(61) is larger by a part {L / as_printed(case) - 1:.1e}"
    return Measured(L, 1e-13 * L, f"float64 round-off; {above}")


def _of_lemma(case: Case):
    c = constants_of(case.start)
    return c, H, case.gamma, weight_bound(c, case.zeta, case.gamma)


CLAIM = Claim(
    "yang2024/equation-17",
    cases=cases,
    predict=predict,
    measure=measure,
    # Nothing squared, no maximum.
    decoy=as_printed,
    relation="<=",
    printed=Printed(
        predict=as_printed,
        cases=both_powers,
        measure=measure_printed,
    ),
)
