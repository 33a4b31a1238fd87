"""Lemma A.4: below the scale (A.13), ℓ̃ starts negative and u₋₁ stays positive."""

import numpy as np

from iclab.evidence import Measured
from iclab.papers.zhang2023._extreme_starts import with_edges
from iclab.papers.zhang2023._fixed_covariance import (
    SOLVER_TOLERANCE,
    Setting,
    trajectory,
)
from iclab.theory import lsa_loss

cases = with_edges
relation = ">="


def predict(case: Setting):
    """−ℓ̃ at the start and the smallest u₋₁ are positive."""
    return np.zeros(2)


def measure(case: Setting) -> Measured:
    """−ℓ̃(0)/σ²‖ΛΘ‖², and the smallest u₋₁/σ over every step, less its error."""
    U11, u_last = case.start
    loss = lsa_loss(U11, u_last, case.covariance, case.context_length)
    reduced = float(loss) - np.trace(case.covariance) / 2
    drive = np.linalg.norm(np.asarray(case.covariance) @ np.asarray(case.theta)) ** 2
    along = np.asarray(trajectory(case).u_last)
    error = SOLVER_TOLERANCE * len(along) * float(np.max(along))
    reason = f"lower ends: the solver's error over {len(along)} steps is taken off"
    value = [-reduced / (case.scale**2 * drive), (np.min(along) - error) / case.scale]
    return Measured(np.array(value), 0.0, reason)


def decoy(case: Setting):
    """u₋₁ never falls below its start: false where it can be told apart."""
    leading = np.linalg.matrix_rank(np.asarray(case.theta)) == 1
    return np.array([0.0, 1.0]) if leading else None
