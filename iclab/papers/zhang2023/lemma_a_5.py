"""Lemma A.5: u₋₁ never falls below the constant of (A.14)."""

import numpy as np

from iclab.evidence import Claim, Measured, solved
from iclab.papers.zhang2023._extreme_starts import aligned_start, even_start
from iclab.papers.zhang2023._fixed_covariance import (
    SOLVER_TOLERANCE,
    Setting,
    settings,
    trajectory,
)
from iclab.theory import last_weight_bound


def cases(scale):
    """Random starts, starts at the edge of (A.13), and one where (A.14) is sharp."""
    found = {"d=3, even start of small scale, N=10": even_start(3), **settings(scale)}
    for name, setting in settings(scale).items():
        if len(setting.covariance) == 3:
            found[f"{name}, leading start at the edge"] = aligned_start(setting)
    return found


def predict(case: Setting):
    """The bound (A.14)."""
    return float(_bound(case))


def measure(case: Setting, key, scale) -> Measured:
    """The smallest u₋₁ over every step of the flow on the exact loss."""
    along = np.asarray(trajectory(case).u_last)
    size = float(np.max(along))
    return solved(float(np.min(along)), SOLVER_TOLERANCE, len(along), size)


def decoy(case: Setting):
    """The 2 in the denominator of (A.14) lost, where the bound is sharp."""
    return np.sqrt(2) * float(_bound(case)) if case is even_start(3) else None


def _bound(case: Setting):
    return last_weight_bound(
        case.covariance, case.context_length, case.theta, case.scale
    )


CLAIM = Claim(
    "zhang2023/lemma-a.5",
    cases=cases,
    predict=predict,
    measure=measure,
    decoy=decoy,
    relation=">=",
)
