"""Lemma C.5: u₋₁² = ‖U₁₁‖_F² along the whole flow on random covariances."""

import numpy as np

from iclab.evidence import Measured, solved
from iclab.papers.zhang2023._any_covariance import Law, full, trajectory as of_any
from iclab.papers.zhang2023._random_covariance import (
    SOLVER_TOLERANCE,
    Setting,
    settings,
    trajectory,
)
from iclab.papers.zhang2023._trajectory import Trajectory

Case = Setting | Law
labels = [*(f"u₋₁² at snapshot {i}" for i in range(1, 6)), "largest deviation"]

shares = {
    "lsa_loss_random_covariance": "is the loss; its slope is differentiated",
    "lsa_loss": "is the loss; its slope is differentiated",
}


def cases(scale) -> dict[str, Case]:
    """Diagonal covariances with independent entries, and full matrices."""
    return {**settings(scale), **full(scale)}


def predict(case: Case):
    """‖U₁₁‖_F² at five times, and no deviation at any."""
    frobenius = np.linalg.norm(_snapshots(case)[0], axis=(1, 2))
    return np.append(frobenius**2, 0)


def measure(case: Case) -> Measured:
    """u₋₁² at five times, and how far it ever strays from ‖U₁₁‖_F²."""
    found = _flow(case)
    U11, u_last = found.U11, found.u_last
    worst = np.max(np.abs(u_last**2 - np.sum(U11**2, axis=(1, 2))))
    value = np.append(_snapshots(case)[1] ** 2, worst)
    # The square of a weight u is off by 2u times what u is, and so is ‖U₁₁‖².
    size = 4 * float(np.max(u_last)) ** 2
    return solved(value, SOLVER_TOLERANCE, len(u_last), size)


def decoy(case: Case):
    """Balance in the operator norm."""
    operator = np.linalg.norm(_snapshots(case)[0], ord=2, axis=(1, 2))
    return np.append(operator**2, 0)


def _flow(case: Case) -> Trajectory:
    return of_any(case) if isinstance(case, Law) else trajectory(case)


def _snapshots(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """(U₁₁, u₋₁) at five steps from start to rest."""
    found = _flow(case)
    steps = np.linspace(0, len(found.u_last) - 1, 5).astype(int)
    return found.U11[steps], found.u_last[steps]
