"""Lemma C.7: a lower bound that u₋₁ keeps along the flow on random covariances.

Where Λ_τ does not vary, in one dimension and at the edge of (C.10), u₋₁ falls from σ to
its limit, and without the bracket of (C.12) the bound would stay above it.
"""

import functools

import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured, solved
from iclab.papers.zhang2023._random_covariance import (
    SOLVER_TOLERANCE,
    Setting,
    settings_and_tight,
    started,
    trajectory,
)
from iclab.tasks import Fixed, RandomCovariance
from iclab.theory import last_weight_bound_random_covariance

relation = ">="


def cases(scale) -> dict[str, Setting]:
    """Flows on random covariances, and one from the edge of (C.10)."""
    return {**settings_and_tight(scale), "d=1, fixed, at the edge, N=3": _edge()}


def predict(case: Setting):
    """The bound (C.12), with the sampled E‖Γ_τ‖‖Λ_τ‖_F² at the low end of its interval.

    The bound falls with that expectation: if this one holds, so does the true one.
    """
    return _bound(case, case.gamma_norm - case.gamma_norm_error)


def measure(case: Setting) -> Measured:
    """The smallest u₋₁ of the trajectory."""
    u_last = trajectory(case).u_last
    return solved(u_last.min(), SOLVER_TOLERANCE, len(u_last), float(u_last.max()))


def decoy(case: Setting):
    """A third of what the bracket takes away; a tenth more, where (C.12) is sharp."""
    if len(case.theta) == 1 and not case.tight:
        return _bound(case, case.gamma_norm / 3)
    if not case.tight:
        return None
    return 1.1 * _bound(case, case.gamma_norm + case.gamma_norm_error)


@functools.cache
def _edge() -> Setting:
    return started(RandomCovariance((Fixed(1.0),)), 3, jnp.eye(1), 0.995)


def _bound(case: Setting, gamma_norm: float) -> float:
    bound = last_weight_bound_random_covariance(
        case.moments, case.theta, case.scale, np.float64(gamma_norm)
    )
    return float(bound)
