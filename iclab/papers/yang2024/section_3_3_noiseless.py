"""Section 3.3: what A becomes without noise, and (26)."""

import functools

import jax
import numpy as np

from iclab.evidence import Measured, Printed
from iclab.papers.yang2024._tables import Table
from iclab.theory import representation_optimum_closed

# Noise at which (34) is solved, and at half of it.
_TAU = 1e-8


def cases(scale) -> dict[str, Table]:
    """As many labels as features, and more."""
    shapes = [(7, 3, 3), (8, 5, 2)]
    if scale != "smoke":
        shapes += [(12, 6, 6), (30, 20, 5)]
    return {f"K={K}, N={N}, m={m}": Table(K, N, m, _TAU, K) for K, N, m in shapes}


def predict(case: Table):
    """(I_N, Z⁺Z^Q), and noiseless labels λᵀz_k."""
    return _statement(np.asarray(_limit(case.features, case.N, 0.0)), case)


def as_printed(case: Table):
    """Z⁺Ẑ."""
    return _statement(np.linalg.pinv(case.Z) @ case.Z_hat, case)


printed = Printed(predict=as_printed, nearby=True)


def decoy(case: Table):
    """Zᵀ for Z⁺."""
    return _statement(np.eye(case.N, case.K) + _unseen(case.Z.T, case), case)


def measure(case: Table) -> Measured:
    """(34) extrapolated to τ = 0, and ⟨y, (Z⁺Ẑ)_k⟩ of noiseless labels by (26)."""
    A, half = (_solved(case, tau) for tau in (_TAU, _TAU / 2))
    predicted = np.linalg.pinv(case.Z) @ case.Z_hat
    predicted = (_coefficients(case) @ case.Z) @ predicted
    # A is smooth in τ: what is left after a line through both is less than its rise.
    error = np.max(np.abs(A - half)) + 1e-15 * case.condition
    reason = f"τ = {_TAU:g} against τ/2, and round-off of a nearly singular system"
    return Measured(np.concatenate([2 * half - A, predicted[None]]), error, reason)


def _solved(case: Table, tau: float) -> np.ndarray:
    penalty = case.m * tau
    gram = case.Z.T @ case.Z + penalty * np.eye(case.N)
    targets = case.Z.T @ case.Z_hat + penalty * np.eye(case.N, case.K)
    return np.linalg.solve(gram, targets)


def _unseen(inverse: np.ndarray, case: Table) -> np.ndarray:
    columns = inverse @ case.Z_hat
    columns[:, : case.N] = 0
    return columns


def _statement(A: np.ndarray, case: Table) -> np.ndarray:
    return np.concatenate([A, (_coefficients(case) @ case.Z_hat)[None]])


def _coefficients(case: Table) -> np.ndarray:
    return case.random(1).standard_normal(case.m)


_limit = functools.partial(jax.jit, static_argnums=1)(representation_optimum_closed)


def numbers(results, printed):
    """How far apart the limit and Z⁺Ẑ are, at the most."""
    one = printed["K=8, N=5, m=2"]
    return {"away": np.max(np.abs(one.measured - one.predicted))}
