"""(20) and (25): two ridge regressions, alike only if N = m."""

import functools

import jax
import numpy as np

from iclab.evidence import Measured, rounded
from iclab.papers.yang2024._tables import Table, tables
from iclab.theory import icl_ridge

cases = tables


def predict(case: Table):
    """λ̂ and λ̂_τ in closed form, and which of them is longer."""
    return _statement(*_coefficients(case))


def decoy(case: Table):
    """Penalties mτ and Nτ exchanged; nothing where they agree."""
    return None if case.m == case.N else _statement(*_coefficients(case)[::-1])


def labels(case: Table):
    """Entries of both, and the sign of the difference of their lengths."""
    entries = range(1, case.m + 1)
    names = [f"{name}_{i}" for name in ("λ̂", "λ̂_τ") for i in entries]
    return [*names, "which is longer"]


def measure(case: Table) -> Measured:
    """Least squares whose rows are the terms of (20) and of (25) as they stand."""
    half = 1 / np.sqrt(2 * case.N)
    found = []
    for penalty in (case.m * case.tau / (2 * case.N), case.tau / 2):
        of_penalty = np.sqrt(penalty) * np.eye(case.m)
        rows = np.concatenate([half * case.features[: case.N], of_penalty])
        targets = np.concatenate([half * _labels(case), np.zeros(case.m)])
        found.append(np.linalg.lstsq(rows, targets, rcond=None)[0])
    size = case.condition * np.abs(found).max()
    return rounded(_statement(*found), 20.0 * (case.N + case.m), size)


def _statement(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    difference = np.linalg.norm(ours) - np.linalg.norm(theirs)
    longer = 0.0 if abs(difference) < 1e-12 else np.sign(difference)
    return np.concatenate([ours, theirs, [longer]])


def _coefficients(case: Table) -> tuple[np.ndarray, np.ndarray]:
    ours, theirs = _both(case.features, _labels(case), case.tau)
    return np.asarray(ours), np.asarray(theirs)


@jax.jit
def _both(features, labels, tau):
    ridge = functools.partial(icl_ridge, features, labels, tau)
    return ridge()[0], ridge(best=True)[0]


def _labels(case: Table) -> np.ndarray:
    return case.random(1).standard_normal(case.N)
