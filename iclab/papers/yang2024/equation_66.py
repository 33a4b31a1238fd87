"""(66), (67) and (27): A copies the labels that are shown and does ridge regression."""

import functools

import jax
import numpy as np

from iclab.evidence import Measured, rounded
from iclab.papers.yang2024._tables import Table, ridge_by_rows, tables
from iclab.theory import representation_optimum_closed

_PROMPTS = 4

cases = tables


def predict(case: Table):
    """A by the last line of (66) and by its third, and Aᵀy."""
    A = _closed(case)
    return _stacked(A, _third_line(case), _labels(case) @ A)


def decoy(case: Table):
    """Penalty τ in the place of mτ."""
    A = _closed(case, 1 / case.m)
    return _stacked(A, A, _labels(case) @ A)


def measure(case: Table) -> Measured:
    """(34) solved for A, twice; ŷ* of (22) with λ̂ of (20) by least squares."""
    targets = case.Z.T @ case.Z_hat
    targets[:, : case.N] += case.m * case.tau * np.eye(case.N)
    A = np.linalg.solve(case.gram, targets)
    y = _labels(case)
    ridge = ridge_by_rows(case.Z, y.T, case.m * case.tau)
    predictions = np.concatenate([y, (case.Z_query.T @ ridge).T], axis=1)
    size = case.condition * max(1.0, np.abs(predictions).max())
    # (mτ)⁻¹ of the third line meets differences of numbers near ‖Z‖².
    size *= max(1.0, np.linalg.norm(case.Z_hat, 2) ** 2 / (case.m * case.tau))
    return rounded(_stacked(A, A, predictions), 10.0 * (case.N + case.m), size)


def _third_line(case: Table) -> np.ndarray:
    """The third expression of (66), every term as it stands."""
    Z, Z_hat, penalty = case.Z, case.Z_hat, case.m * case.tau
    M = penalty * np.eye(case.m) + Z @ Z.T
    shown = np.zeros((case.m, case.K))
    shown[:, : case.N] = Z
    copied = penalty * np.eye(case.N, case.K)
    terms = Z.T @ Z_hat + copied - Z.T @ np.linalg.solve(M, M @ Z_hat)
    terms += penalty * Z.T @ np.linalg.solve(M, Z_hat)
    return (terms - penalty * Z.T @ np.linalg.solve(M, shown)) / penalty


def _closed(case: Table, times: float = 1.0) -> np.ndarray:
    return np.asarray(_optimum(case.features, case.N, times * case.tau))


_optimum = functools.partial(jax.jit, static_argnums=1)(representation_optimum_closed)


def _labels(case: Table) -> np.ndarray:
    """Any labels will do: the statement is about every y."""
    return case.random(1).standard_normal((_PROMPTS, case.N))


def _stacked(first, second, predictions) -> np.ndarray:
    return np.concatenate([first, second, predictions])
