"""Section 5.1: the characteristic polynomial of X, so one negative eigenvalue."""

import numpy as np

from iclab.evidence import Measured, rounded
from iclab.papers.zhang2023._quadratic_form import Shape, prompts, query_matrix, shapes

# Where the polynomial is compared: it has degree d+1, and d+2 points would do.
_POINTS = np.array([-2.5, -1.0, -0.3, 0.2, 0.7, 1.5, 3.0])

cases = shapes
labels = [f"μ = {point:g}" for point in _POINTS]


def predict(case: Shape):
    """μ^{d−1}(μ² − ‖x‖²)."""
    return _POINTS ** (case.dimension - 1) * (_POINTS**2 - _norm(case) ** 2)


def measure(case: Shape) -> Measured:
    """det(μI − X) by elimination."""
    X = query_matrix(prompts(case, 1))[0]
    value = np.linalg.det(_POINTS[:, None, None] * np.eye(len(X)) - X)
    # A determinant is a sum of products of one entry a row.
    size = (np.max(np.abs(_POINTS)) + _norm(case)) ** len(X)
    return rounded(value, len(X) ** 3, size)


def decoy(case: Shape):
    """The norm of the query not squared."""
    return _POINTS ** (case.dimension - 1) * (_POINTS**2 - _norm(case))


def _norm(case: Shape) -> float:
    return float(np.linalg.norm(prompts(case, 1).query))
