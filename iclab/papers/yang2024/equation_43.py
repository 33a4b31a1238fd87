"""(43a), (43b) and (49): what the proof of Theorem 1 keeps true along the descent."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from iclab.evidence import Claim, Measured
from iclab.papers.yang2024._descents import (
    K,
    Run,
    attention_of,
    constants_of,
    label_root_of,
    path_of,
    rates_of,
    theorem_runs,
)

# Eigenvalues are computed at this many states of a path.
_STATES = 200


@dataclass(frozen=True)
class Case:
    """One of the three bounds along one descent."""

    run: Run
    bound: Literal["(43a)", "(43b)", "(49)"]


def cases(scale) -> dict[str, Case]:
    """All three bounds along every run."""
    return {
        f"{bound}: {run}": Case(run, bound)
        for run in theorem_runs(scale)
        for bound in ("(43a)", "(43b)", "(49)")
    }


def predict(case: Case):
    """‖α_h‖ ≤ α, 1/λ_min(B_kB_kᵀ) ≤ 2/ζ₀, or (ℓ − L*)/‖∇ℓ‖² ≤ 1/σ."""
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
            return predict(case) * float(rates.zeta) / (4 * largest)
        case "(43b)":
            return 1 / (1.01 * float(rates.zeta))
        case _:
            return predict(case) / 2.1


def measure(case: Case, key, scale) -> Measured:
    """The largest of each along the path; ∇ℓ from the steps that w takes."""
    path = path_of(case.run, scale)
    rates = rates_of(case.run.start, case.run.rates)
    gamma = float(rates.gamma)
    if case.bound == "(43a)":
        alpha = np.linalg.norm(path.value, axis=2) / gamma
        reason = f"float64 round-off; every step, {_part(alpha.max(), case)}"
        return Measured(alpha.max(), 1e-12 * alpha.max(), reason)
    if case.bound == "(43b)":
        states = path.key_query[:: max(1, len(path.gaps) // _STATES)]
        C = np.moveaxis(attention_of(case.run.start, states), -1, -3)
        B = label_root_of(case.run.start) @ np.swapaxes(C, -1, -2)
        s = np.linalg.svd(B, compute_uv=False)
        largest = 1 / s[..., -1].min() ** 2
        error = 20 * np.finfo(float).eps * s.max() / s[..., -1].min() * largest
        reason = f"round-off of singular values; {len(states)} states and all tokens"
        return Measured(largest, error, f"{reason}, {_part(largest, case)}")
    slope = np.diff(path.value, axis=0) / float(rates.value)
    square = gamma**2 * np.sum(slope**2, axis=(1, 2))
    # Steps of w below its round-off tell nothing of the slope.
    clear = path.gaps[:-1] > 1e-16 * path.gaps[0]
    largest = np.max(path.gaps[:-1][clear] / square[clear])
    reason = f"round-off of the steps of w, {clear.sum()} steps, {_part(largest, case)}"
    return Measured(largest, 1e-4 * largest, reason)


def _part(value: float, case: Case) -> str:
    return f"{value / predict(case):.2g} of the bound"


CLAIM = Claim(
    "yang2024/equation-43",
    cases=cases,
    predict=predict,
    measure=measure,
    decoy=decoy,
    relation="<=",
)
