"""The list after (25): for N < m shown labels are fitted less, for N > m more."""

import numpy as np

from iclab.evidence import Measured, rounded
from iclab.papers.yang2024._tables import Table, ridge_by_rows, tables

cases = tables


def predict(case: Table):
    """E‖y − Zᵀλ̂‖² with penalties mτ and Nτ, over λ and noise, and which is larger."""
    return _statement(_residual(case, case.m), _residual(case, case.N))


def decoy(case: Table):
    """Penalties exchanged; nothing where they agree."""
    if case.m == case.N:
        return None
    return _statement(_residual(case, case.N), _residual(case, case.m))


def labels(case: Table):
    """Both residuals, and the sign of their difference."""
    return ["with mτ", "with Nτ", "which is larger"]


def measure(case: Table) -> Measured:
    """The same from least squares with the penalty as rows, and E yyᵀ."""
    found = []
    for times in (case.m, case.N):
        ridge = ridge_by_rows(case.Z, np.eye(case.N), times * case.tau)
        left = np.eye(case.N) - case.Z.T @ ridge
        found.append(float(np.sum(left * (left @ case.gram))))
    size = case.condition * max(found)
    return rounded(_statement(*found), 50.0 * (case.N + case.m), size)


def _residual(case: Table, times: int) -> float:
    """Σ (ρ/(s² + ρ))²(s² + mτ) over N directions, s = 0 beyond the features."""
    singular = np.linalg.svd(case.Z, compute_uv=False)
    squares = np.zeros(case.N)
    squares[: len(singular)] = singular**2
    penalty = times * case.tau
    return float(
        np.sum((penalty / (squares + penalty)) ** 2 * (squares + case.m * case.tau))
    )


def _statement(ours: float, theirs: float) -> np.ndarray:
    larger = 0.0 if abs(ours - theirs) < 1e-9 * theirs else np.sign(ours - theirs)
    return np.array([ours, theirs, larger])
