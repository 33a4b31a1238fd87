"""Lemma A.3: a balanced start stays balanced, u₋₁² = ‖U₁₁‖²_F, along the whole flow."""

import numpy as np

from iclab.evidence import Measured, solved
from iclab.papers.zhang2023._fixed_covariance import (
    SOLVER_TOLERANCE,
    Setting,
    settings,
    trajectory,
)

cases = settings


_WHY = "the flow; both speak of points along it"
shares = {"lsa_loss": _WHY, "lsa_loss_random_covariance": _WHY}


def predict(case: Setting):
    """‖U₁₁‖²_F at the worst step of all, and at six others along the way."""
    U11 = np.asarray(trajectory(case).U11)[_steps(case)]
    return np.sum(U11**2, axis=(1, 2))


def measure(case: Setting) -> Measured:
    """u₋₁² at the same steps of the flow on the exact loss."""
    u_last = np.asarray(trajectory(case).u_last)
    size = float(np.max(u_last)) ** 2
    return solved(u_last[_steps(case)] ** 2, SOLVER_TOLERANCE, len(u_last), size)


def decoy(case: Setting):
    """The operator norm in place of the Frobenius norm."""
    U11 = np.asarray(trajectory(case).U11)[_steps(case)]
    return np.linalg.norm(U11, ord=2, axis=(1, 2)) ** 2


def labels(case: Setting):
    """Steps of the flow."""
    _, *even = _steps(case)
    return ["least balanced step", *(f"step {step}" for step in even)]


def _steps(case: Setting) -> np.ndarray:
    """Indices of saved steps: the least balanced one, then evenly from start to end."""
    found = trajectory(case)
    U11, u_last = np.asarray(found.U11), np.asarray(found.u_last)
    worst = np.argmax(np.abs(u_last**2 - np.sum(U11**2, axis=(1, 2))))
    return np.append(worst, np.linspace(0, len(u_last) - 1, 6).astype(int))
