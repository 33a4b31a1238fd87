"""Lemma A.5: u₋₁ never falls below the constant of (A.14).

In one dimension, at the edge of (A.13), u₋₁ falls from σ to its limit, and without the
bracket of (A.14) the bound would stay above it; from even starts of small scale (A.14)
is sharp at t = 0.
"""

import numpy as np

from iclab.evidence import Measured, solved
from iclab.papers.zhang2023._extreme_starts import aligned_start, even_start, on_a_line
from iclab.papers.zhang2023._fixed_covariance import (
    SOLVER_TOLERANCE,
    Setting,
    settings,
    trajectory,
)
from iclab.theory import gamma_matrix, last_weight_bound

# Of σ_max: at the edge of (A.13).
_EDGE = 0.995

relation = ">="


def cases(scale):
    """Random starts, starts at the edge of (A.13), and two where (A.14) is sharp."""
    found = {
        "d=1, at the edge, N=10": on_a_line(_EDGE),
        "d=1, small scale, N=10": even_start(1),
        "d=3, even start of small scale, N=10": even_start(3),
        **settings(scale),
    }
    for name, setting in settings(scale).items():
        if len(setting.covariance) == 3:
            found[f"{name}, leading start at the edge"] = aligned_start(setting)
    return found


def predict(case: Setting):
    """The bound (A.14)."""
    return float(
        last_weight_bound(case.covariance, case.context_length, case.theta, case.scale)
    )


def measure(case: Setting) -> Measured:
    """The smallest u₋₁ over every step of the flow on the exact loss."""
    along = np.asarray(trajectory(case).u_last)
    size = float(np.max(along))
    return solved(float(np.min(along)), SOLVER_TOLERANCE, len(along), size)


def decoy(case: Setting):
    """A third of what the bracket takes away; a tenth more, where (A.14) is sharp."""
    if case in (even_start(1), even_start(3)):
        return 1.1 * predict(case)
    if case is not on_a_line(_EDGE):
        return None
    Gamma = np.asarray(gamma_matrix(case.covariance, case.context_length))
    lost = case.scale**2 * float(Gamma[0, 0])
    return predict(case) * np.sqrt((2 - lost / 3) / (2 - lost))
