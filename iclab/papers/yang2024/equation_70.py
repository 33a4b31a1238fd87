"""(70) and the display before it: the gap is a Frobenius norm of Â − A."""

import functools

import jax
import numpy as np

from iclab.evidence import Measured, Printed, rounded
from iclab.papers.yang2024._tables import Table, expected_loss, tables
from iclab.theory import label_root, representation_optimum

cases = tables


def predict(case: Table):
    """‖Z̄(Â − A)‖_F²/(2K) above L*, and ‖Â − A‖₂ ≤ √(2K(L − L*)/(mτ)) not broken."""
    return np.array([_gap(case, "fro"), 0.0])


def as_printed(case: Table):
    """The spectral norm."""
    return np.array([_gap(case, 2), 0.0])


printed = Printed(predict=as_printed, nearby=True)


def decoy(case: Table):
    """The lower bound mτ‖Â − A‖_F²/(2K) for the gap itself."""
    distance = np.linalg.norm(_weights(case) - _theory(case)[1])
    return np.array([case.m * case.tau * distance**2 / (2 * case.K), 0.0])


def measure(case: Table) -> Measured:
    """The loss (9) of Â less that of the best linear prediction, by covariances."""
    covariance = case.Z_hat.T @ case.Z_hat + case.m * case.tau * np.eye(case.K)
    best = np.linalg.solve(case.gram, covariance[: case.N])
    weights = _weights(case)
    losses = expected_loss(weights, case), expected_loss(best, case)
    gap = losses[0] - losses[1]
    distance = np.linalg.norm(weights - best, 2)
    excess = distance - np.sqrt(2 * case.K * gap / (case.m * case.tau))
    size = case.condition * losses[0] * np.linalg.norm(case.Z_hat, 2) ** 2
    value = np.array([gap, max(excess, 0.0)])
    return rounded(value, 10.0 * case.K, max(1.0, size))


def _gap(case: Table, norm) -> float:
    root, A = _theory(case)
    distance = float(np.linalg.norm(root @ (_weights(case) - A), norm))
    return distance**2 / (2 * case.K)


def _weights(case: Table) -> np.ndarray:
    """Any Â: (36) is about every one."""
    return case.random(2).standard_normal((case.N, case.K)) / np.sqrt(case.N)


def _theory(case: Table) -> tuple[np.ndarray, np.ndarray]:
    root, A = _root_and_optimum(case.features, case.N, case.tau)
    return np.asarray(root), np.asarray(A)


@functools.partial(jax.jit, static_argnums=1)
def _root_and_optimum(features, N, tau):
    return label_root(features, N, tau), representation_optimum(features, N, tau)


def numbers(results, printed):
    """The gap of a random Â, and by the spectral norm."""
    one = printed["K=8, N=5, m=2, τ=0.3"]
    return {"gap": one.measured[0], "printed": one.predicted[0]}
