"""(65): the inverse of an N×N matrix of labels through one of m×m features."""

import numpy as np

from iclab.evidence import Measured, rounded
from iclab.papers.yang2024._tables import Table, tables

cases = tables


def predict(case: Table):
    """(I_N − Zᵀ(mτI_m + ZZᵀ)⁻¹Z)/(mτ)."""
    return _right_side(case, 1 / (case.m * case.tau))


def decoy(case: Table):
    """1/(mτ) missing before the second term."""
    return _right_side(case, 1.0)


def measure(case: Table) -> Measured:
    """(mτI_N + ZᵀZ)⁻¹ from the eigenvalues of ZᵀZ."""
    values, vectors = np.linalg.eigh(case.Z.T @ case.Z)
    inverse = vectors / (values + case.m * case.tau) @ vectors.T
    size = case.condition / (case.m * case.tau)
    return rounded(inverse, 10.0 * (case.N + case.m), size)


def _right_side(case: Table, factor: float) -> np.ndarray:
    penalty, Z = case.m * case.tau, case.Z
    inner = np.linalg.solve(Z @ Z.T + penalty * np.eye(case.m), Z)
    return np.eye(case.N) / penalty - factor * Z.T @ inner
