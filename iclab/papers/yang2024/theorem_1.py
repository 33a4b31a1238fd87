"""Theorem 1: with the learning rates (15)–(17) the gap shrinks at a linear rate."""

import numpy as np

from iclab.evidence import Measured
from iclab.papers.yang2024._descents import (
    Descent,
    label_root_of,
    path_of,
    rates_of,
    theorem_runs,
)

# Near the optimum only w moves, and its slowest direction shrinks by (1 − η_wζ₀/K)² a
# step: four times the guarantee, no less as long as Q rests. More is not reached.
_TOO_FAST = 4.2
_SLOWEST = 3.96

# Below this part of the first gap Â − A is lost in the rounding of Â.
_FLOOR = 1e-16

relation = ">="


def cases(scale) -> dict[str, Descent]:
    """Starts with L of (17) and with the corrected one."""
    return {str(run): run for run in theorem_runs(scale)}


def predict(case: Descent):
    """−log(1 − η_wζ₀/(2K)), from the first step on and in every single step.

    And what it comes to while Q hardly moves, four times that, less one in a hundred.
    """
    return np.array([1, 1, _SLOWEST]) * _guarantee(case)


def decoy(case: Descent):
    """The rate of (18), made larger than it ever is in the end."""
    return np.full(3, _TOO_FAST * _guarantee(case))


def measure(case: Descent, scale) -> Measured:
    """The smallest log(Δ⁽⁰⁾/Δ⁽ᵗ⁾)/t and the smallest log(Δ⁽ᵗ⁾/Δ⁽ᵗ⁺¹⁾) of all steps."""
    path = path_of(case, scale)
    gaps = path.gaps
    last = int(np.argmin(gaps > _FLOOR * gaps[0])) or len(gaps)
    logs = np.log(gaps[:last])
    average = (logs[0] - logs[1:]) / np.arange(1, last)
    single = -np.diff(logs)
    slowest = np.array([average.min(), single.min(), single.min()])
    # Entries of Â are known to some 1e-15, and the gap is ‖Z̄(Â − A)‖²/(2K).
    size = np.linalg.norm(label_root_of(case.start), 2)
    error = 4e-15 * size / np.sqrt(gaps[last - 1])
    moved = np.max(np.abs(path.key_query[last - 1] - path.key_query[0]))
    guarantee = _guarantee(case)
    reason = (
        f"round-off of Â in {last - 1} steps; rates are {slowest[0] / guarantee:.2f}"
        f" and {slowest[1] / guarantee:.2f} times the guarantee {guarantee:.3g}, the"
        f" gap ends at {gaps[last - 1]:.1g}, no entry of Q moves more than {moved:.1g}"
    )
    return Measured(slowest, error, reason)


def _guarantee(case: Descent) -> float:
    return float(-np.log(rates_of(case.start, case.rates).factor))
