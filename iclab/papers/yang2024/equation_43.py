"""(43a), (43b) and (49): what the proof of Theorem 1 keeps true along the descent.

The bounds are not tight, by a known amount. α of (44) is what steps of the size (62)
add up to when gaps shrink as (18) has it, up to η_wζ₀/8K of it. Q hardly moves, so that
half of (43b) is reached at once; and what is left in the end lies in the slowest
direction, where half of (49) is.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from iclab.evidence import Measured
from iclab.papers.yang2024._descents import (
    Descent,
    K,
    Path,
    attention_of,
    constants_of,
    label_root_of,
    path_of,
    rates_of,
    theorem_runs,
)

# Eigenvalues are computed at this many states of a path.
_STATES = 200
# How far the known part of a bound may be away, in parts.
_SHARP = 0.02

shares = {
    "learning_rates": (
        "sets the rates that descents are run with; norms and ζ₀ are found again"
    ),
}

relation = "<="


@dataclass(frozen=True)
class Case:
    """One of the three bounds along one descent."""

    run: Descent
    bound: Literal["(43a)", "(43b)", "(49)"]


def cases(scale) -> dict[str, Case]:
    """All three bounds along every run."""
    return {
        f"{bound}: {run}": Case(run, bound)
        for run in theorem_runs(scale)
        for bound in ("(43a)", "(43b)", "(49)")
    }


def predict(case: Case):
    """‖α_h‖ ≤ α, 1/λ_min(B_kB_kᵀ) ≤ 2/ζ₀, or (ℓ − L*)/‖∇ℓ‖² ≤ 1/σ.

    Then the number that says how much of the bound is reached, from both sides: for
    (43a) the sum of the proof's steps, for the others half.
    """
    bound = _bound(case)
    part = 1.0 if case.bound == "(43a)" else 0.5
    return np.array([bound, part * bound * (1 + _SHARP), -part * bound * (1 - _SHARP)])


def _bound(case: Case) -> float:
    rates = rates_of(case.run.start, case.run.rates)
    zeta, gamma = float(rates.zeta), float(rates.gamma)
    match case.bound:
        case "(43a)":
            return float(rates.weight_bound)
        case "(43b)":
            return 2 / zeta
        case _:
            return K / (zeta * gamma**2)


def decoy(case: Case):
    """α for a well-conditioned B_k; eigenvalues that grow at once; (49) with 2.1σ."""
    rates = rates_of(case.run.start, case.run.rates)
    match case.bound:
        case "(43a)":
            largest = float(constants_of(case.run.start).root_norm) ** 2
            wrong = _bound(case) * float(rates.zeta) / (4 * largest)
        case "(43b)":
            wrong = 1 / (1.01 * float(rates.zeta))
        case _:
            wrong = _bound(case) / 2.1
    return np.array([wrong, *predict(case)[1:]])


def measure(case: Case, scale) -> Measured:
    """The largest of each along the path; ∇ℓ from the steps that w takes."""
    path = path_of(case.run, scale)
    rates = rates_of(case.run.start, case.run.rates)
    gamma = float(rates.gamma)
    if case.bound == "(43a)":
        alpha = np.linalg.norm(path.value, axis=2) / gamma
        reason = f"float64 round-off; every step, {_part(alpha.max(), case)}"
        return _two_sided(alpha.max(), _sum_of_steps(case, path), 1e-12, reason)
    if case.bound == "(43b)":
        states = path.key_query[:: max(1, len(path.gaps) // _STATES)]
        C = np.moveaxis(attention_of(case.run.start, states), -1, -3)
        B = label_root_of(case.run.start) @ np.swapaxes(C, -1, -2)
        s = np.linalg.svd(B, compute_uv=False)
        largest = 1 / s[..., -1].min() ** 2
        error = 20 * np.finfo(float).eps * s.max() / s[..., -1].min()
        reason = f"round-off of singular values; {len(states)} states and all tokens"
        return _two_sided(largest, largest, error, f"{reason}, {_part(largest, case)}")
    slope = np.diff(path.value, axis=0) / float(rates.value)
    square = gamma**2 * np.sum(slope**2, axis=(1, 2))
    # Steps of w below its round-off tell nothing of the slope.
    clear = path.gaps[:-1] > 1e-16 * path.gaps[0]
    largest = np.max(path.gaps[:-1][clear] / square[clear])
    reason = f"round-off of the steps of w, {clear.sum()} steps, {_part(largest, case)}"
    return _two_sided(largest, largest, 1e-4, reason)


def _two_sided(most: float, reached: float, relative: float, reason: str) -> Measured:
    value = np.array([most, reached, -reached])
    return Measured(value, relative * np.abs(value), reason)


def _sum_of_steps(case: Case, path: Path) -> float:
    """Σ_t (η_w/γ²)·(62) with gaps (1 − η_wζ₀/2K)ᵗΔ⁽⁰⁾, norms by NumPy."""
    root, Q = label_root_of(case.run.start), path.key_query[0]
    B = root @ np.transpose(attention_of(case.run.start, Q), (2, 1, 0))
    zeta = np.linalg.svd(B, compute_uv=False).min() ** 2
    rates = rates_of(case.run.start, case.run.rates)
    gamma, rate = float(rates.gamma), float(rates.value)
    first = np.linalg.norm(root, 2) / gamma * np.sqrt(2 * path.gaps[0] / K) * rate
    return first / (1 - np.sqrt(1 - rate * zeta / (2 * K)))


def _part(value: float, case: Case) -> str:
    return f"{value / _bound(case):.2g} of the bound"
