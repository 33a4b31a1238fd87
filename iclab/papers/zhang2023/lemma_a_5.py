"""Lemma A.5: u₋₁ never falls below the constant of (A.14).

The bound vanishes where the scales of (A.13) end: its square is 1 − σ²/σ_max² in units
of σ²‖ΛΘ‖_F²/(√d‖Λ‖²), in every dimension.
"""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured, solved
from iclab.papers.zhang2023._extreme_starts import aligned_start, even_start
from iclab.papers.zhang2023._fixed_covariance import (
    SOLVER_TOLERANCE,
    Setting,
    settings,
    trajectory,
)
from iclab.theory import largest_initial_scale, last_weight_bound

relation = ">="


@dataclass(frozen=True, eq=False)
class Edge:
    """A start whose σ is this `part` of σ_max."""

    setting: Setting
    part: float


def cases(scale):
    """Random starts, starts at the edge of (A.13), and one where (A.14) is sharp.

    And how the bound vanishes at the edge.
    """
    found: dict[str, Setting | Edge] = {
        "d=3, even start of small scale, N=10": even_start(3),
        **settings(scale),
    }
    for name, setting in settings(scale).items():
        if len(setting.covariance) == 3:
            found[f"{name}, leading start at the edge"] = aligned_start(setting)
        found[f"{name}, (A.14) at 0.9 of σ_max"] = Edge(setting, 0.9)
    return found


def predict(case: Setting | Edge):
    """The bound (A.14); near the edge its square in those units, from both sides."""
    if isinstance(case, Edge):
        return _vanishing(case) * np.array([1, -1])
    return float(_bound(case))


def measure(case: Setting | Edge) -> Measured:
    """The smallest u₋₁ over every step of the flow on the exact loss; 1 − σ²/σ_max²."""
    if isinstance(case, Edge):
        left = (1 - case.part**2) * np.array([1, -1])
        return Measured(left, 1e-9, "float64 round-off of norms")
    along = np.asarray(trajectory(case).u_last)
    size = float(np.max(along))
    return solved(float(np.min(along)), SOLVER_TOLERANCE, len(along), size)


def decoy(case: Setting | Edge):
    """1 − σ/σ_max; the 2 of the denominator lost, where (A.14) is sharp."""
    if isinstance(case, Edge):
        return (1 - case.part) * np.array([1, -1])
    return np.sqrt(2) * float(_bound(case)) if case is even_start(3) else None


def _bound(case: Setting):
    return last_weight_bound(
        case.covariance, case.context_length, case.theta, case.scale
    )


def _vanishing(case: Edge) -> float:
    Lambda, Theta = map(np.asarray, (case.setting.covariance, case.setting.theta))
    N = case.setting.context_length
    sigma = case.part * float(largest_initial_scale(case.setting.covariance, N))
    bound = last_weight_bound(case.setting.covariance, N, case.setting.theta, sigma)
    unit = sigma**2 * np.linalg.norm(Lambda @ Theta) ** 2
    unit /= np.sqrt(len(Lambda)) * np.linalg.norm(Lambda, 2) ** 2
    return float(bound) ** 2 / unit
