"""Section 5.3: the distance to multiples of the identity, and its minimiser."""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured
from iclab.papers.ahn2023._multi_layer import AXES, setting

_GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, eq=False)
class Case:
    """A matrix M."""

    matrix: np.ndarray


def cases(scale) -> dict[str, Case]:
    """Σ⁻¹ of the experiment, whose distance is the red line of Figure 1; others."""
    random = np.random.default_rng([5, 3])
    found = {
        "Σ⁻¹ of the experiment": setting(np.square(AXES), 20).inverse,
        "a random matrix": random.standard_normal((5, 5)),
        "near a multiple of I": np.eye(5) + 0.01 * random.standard_normal((5, 5)),
        "trace 0": np.diag([1.0, -1.0, 2.0, -3.0, 1.0]),
    }
    return {name: Case(matrix) for name, matrix in found.items()}


def predict(case: Case):
    """α = tr M/d, and √(1 − (tr M)²/(d‖M‖²)) that it leaves."""
    M, d = case.matrix, len(case.matrix)
    alpha = np.trace(M) / d
    return np.array([alpha, np.sqrt(1 - d * alpha**2 / np.sum(M**2))])


def measure(case: Case) -> Measured:
    """Search α by golden sections, knowing nothing but ‖M − αI‖_F/‖M‖_F."""
    M = case.matrix
    size = float(np.linalg.norm(M))
    low, high = -size, size
    while high - low > 1e-9 * size:
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if _distance(M, left) < _distance(M, right):
            high = right
        else:
            low = left
    alpha = (low + high) / 2
    distance = _distance(M, alpha)
    # Values that differ by round-off cannot be told apart: α is known to its root.
    width = 4 * np.sqrt(np.finfo(float).eps) * size
    error = np.array([width, len(M) * (width / size) ** 2 / distance])
    reason = "golden sections resolve a minimum to the root of the round-off"
    return Measured(np.array([alpha, distance]), error, reason)


def decoy(case: Case):
    """The minimiser of the spectral norm: the middle between extreme eigenvalues."""
    M = case.matrix
    eigenvalues = np.linalg.eigvalsh((M + M.T) / 2)
    alpha = (eigenvalues[0] + eigenvalues[-1]) / 2
    return np.array([alpha, _distance(M, alpha)])


def _distance(M: np.ndarray, alpha: float) -> float:
    """‖M − αI‖_F/‖M‖_F."""
    return float(np.linalg.norm(M - alpha * np.eye(len(M))) / np.linalg.norm(M))
