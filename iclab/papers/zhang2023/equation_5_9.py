"""(5.9): where u₋₁ and U₁₁ go, whatever the balanced start."""

import numpy as np

from iclab.evidence import Measured
from iclab.papers.zhang2023._extreme_starts import with_edges
from iclab.papers.zhang2023._fixed_covariance import Setting, trajectory
from iclab.theory import optimal_preconditioner

cases = with_edges


def predict(case: Setting):
    """u₋₁ = ‖Γ⁻¹‖_F^{1/2}, and U₁₁ = Γ⁻¹/u₋₁ in a few numbers."""
    inverse = optimal_preconditioner(case.covariance, case.context_length)
    return _limits(np.asarray(inverse), np.linalg.norm(inverse))


def measure(case: Setting) -> Measured:
    """The end of the flow on the exact loss."""
    found = trajectory(case)
    U11, u_last = map(np.asarray, found.flow.model)
    return found.measured(_summary(U11, u_last), len(U11))


def decoy(case: Setting):
    """The operator norm in place of the Frobenius norm."""
    inverse = optimal_preconditioner(case.covariance, case.context_length)
    return _limits(np.asarray(inverse), np.linalg.norm(inverse, 2))


def _limits(inverse: np.ndarray, norm) -> np.ndarray:
    u_last = np.sqrt(norm)
    return _summary(inverse / u_last, u_last)


def _summary(U11: np.ndarray, u_last) -> np.ndarray:
    """u₋₁; extreme singular values, trace and one entry of U₁₁."""
    singular = np.linalg.svd(U11, compute_uv=False)
    return np.array([u_last, singular[0], singular[-1], np.trace(U11), U11[0, -1]])
