"""Lemma C.7: a lower bound that u₋₁ keeps along the flow on random covariances."""

import numpy as np

from iclab.evidence import Claim, Measured, solved
from iclab.papers.zhang2023._random_covariance import (
    SOLVER_TOLERANCE,
    Setting,
    settings_and_tight,
    trajectory,
)
from iclab.theory import last_weight_bound_random_covariance


def predict(case: Setting):
    """The bound (C.12), with the sampled E‖Γ_τ‖‖Λ_τ‖_F² at the low end of its interval.

    The bound falls with that expectation: if this one holds, so does the true one.
    """
    return _bound(case, case.gamma_norm - case.gamma_norm_error)


def measure(case: Setting, key, scale) -> Measured:
    """The smallest u₋₁ of the trajectory."""
    u_last = trajectory(case).u_last
    return solved(u_last.min(), SOLVER_TOLERANCE, len(u_last), float(u_last.max()))


def decoy(case: Setting):
    """The 2 forgotten in 2√d; only where the bound is nearly attained can it show."""
    if not case.tight:
        return None
    return np.sqrt(2) * _bound(case, case.gamma_norm + case.gamma_norm_error)


def _bound(case: Setting, gamma_norm: float):
    return last_weight_bound_random_covariance(
        case.moments, case.theta, case.scale, gamma_norm
    )


CLAIM = Claim(
    "zhang2023/lemma-c.7",
    cases=settings_and_tight,
    predict=predict,
    measure=measure,
    decoy=decoy,
    relation=">=",
)
