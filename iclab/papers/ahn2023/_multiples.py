"""Training A_i = a_iΣ⁻¹, B_i = b_iI of three layers on the exact loss, from any start.

The loss is a mean of squares over the eigenvalues h of the whitened sample covariance.
Their rule is made here from moments by zonal polynomials, in fractions, so that what
`iclab.theory` finds by another rule and another search can be contradicted.
"""

import functools
from fractions import Fraction
from typing import Any, NamedTuple

import mpmath
import numpy as np

from iclab.papers.ahn2023._two_inputs import LAYERS
from iclab.theory import wishart_moments_zonal

STARTS = 96
_STEPS = 400
_DIGITS = 40
_STEP = 1e-30  # in an imaginary direction
_DIFFERENCE = 1e-6


class Trained(NamedTuple):
    """The lowest point that descents found, and how near they came to it.

    `shift` is how far the point may be from its minimum: Newton's last step, and what
    rounding hides. `reached` is the number of starts that ended here.
    """

    a: np.ndarray
    b: np.ndarray
    shift: float
    reached: int


@functools.cache
def trained(dimension: int, samples: int) -> Trained:
    """Levenberg–Marquardt from Gaussian a and b, from `STARTS` starts at once."""
    h, weight = _rule(dimension, samples)
    root = np.sqrt(weight)
    random = np.random.default_rng([dimension, samples])
    point = random.standard_normal((STARTS, 2 * LAYERS - 1))
    r, J = _residuals(point, h, root)
    loss, damping = np.sum(r**2, axis=1), np.ones(STARTS)
    for _ in range(_STEPS):
        trial = point + _step(r, J, damping)
        trial_r, trial_J = _residuals(trial, h, root)
        trial_loss = np.sum(trial_r**2, axis=1)
        better = trial_loss < loss  # False for NaN
        point[better], loss[better] = trial[better], trial_loss[better]
        r[better], J[better] = trial_r[better], trial_J[better]
        damping = np.clip(np.where(better, damping / 4, damping * 3), 1e-14, 1e14)
    best = np.argmin(loss)
    reached = int(np.sum(loss < loss[best] * (1 + 1e-6)))
    found, shift = _polished(point[best], h, root)
    return Trained(found[:LAYERS], np.append(found[LAYERS:], 0.0), shift, reached)


def _polished(
    point: np.ndarray, h: np.ndarray, root: np.ndarray
) -> tuple[np.ndarray, float]:
    """Newton's method from near, and how far from the minimum it may have ended."""
    units = _DIFFERENCE * np.eye(len(point))

    def newton(point):
        slope, noise = _slope(point, h, root)
        sides = [_slope(point + s * u, h, root)[0] for u in units for s in (1, -1)]
        hessian = (np.array(sides[::2]) - np.array(sides[1::2])) / (2 * _DIFFERENCE)
        curvatures = np.linalg.eigvalsh((hessian + hessian.T) / 2)
        return -np.linalg.solve(hessian, slope), noise / np.min(np.abs(curvatures))

    for _ in range(3):
        point = point + newton(point)[0]
    step, hidden = newton(point)
    return point, float(np.linalg.norm(step) + hidden)


def _slope(
    point: np.ndarray, h: np.ndarray, root: np.ndarray
) -> tuple[np.ndarray, float]:
    """Half the gradient of the loss over d, and what rounding does to it."""
    r, J = _residuals(point[None], h, root)
    noise = len(h) * np.finfo(float).eps * float(np.sum(np.abs(J[0].T) @ np.abs(r[0])))
    return J[0].T @ r[0], noise


def _step(r: np.ndarray, J: np.ndarray, damping: np.ndarray) -> np.ndarray:
    """Marquardt's: −(JᵀJ + damping · its diagonal)⁻¹Jᵀr of every start."""
    normal = J.swapaxes(1, 2) @ J
    ridge = damping[:, None] * np.einsum("sii->si", normal) + 1e-300
    normal = normal + ridge[:, :, None] * np.eye(normal.shape[1])
    slope = np.einsum("smp,sm->sp", J, r)
    return -np.linalg.solve(normal, slope[..., None])[..., 0]


def _residuals(
    point: np.ndarray, h: np.ndarray, root: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """√w times the error at every node, and its derivatives, of every start."""
    size = point.shape[1]
    moved = point[:, None] + _STEP * 1j * np.eye(size)
    with np.errstate(over="ignore", invalid="ignore"):
        found = root * _error(moved, h)
    return np.real(found[:, 0]).copy(), np.imag(found).swapaxes(1, 2) / _STEP


def _error(point: np.ndarray, h: np.ndarray) -> np.ndarray:
    """The query's label after the layers (54) of one example x = y = √h.

    The query and its label are 1: Lemma 9. On S every eigenvalue h meets this network.
    """
    x = y = np.sqrt(h)
    query = label = np.ones_like(h)
    for i in range(LAYERS):
        a = point[..., i, None]
        # B of the last layer moves only what nothing reads.
        b = point[..., LAYERS + i, None] if i < LAYERS - 1 else 0.0
        attended, own = x * a * query, x * a * x
        label, y = label + y * attended, y + y * own
        query, x = query + b * x * attended, x + b * x * own
    return label


@functools.cache
def _rule(dimension: int, samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights, exact up to the degree 26 of the loss (Chebyshev; Golub)."""
    size = (3**LAYERS + 1) // 2
    row: list[Any] = wishart_moments_zonal(dimension, samples, 2 * size - 1)
    before = [Fraction(0)] * (2 * size)
    middle, beside = [row[1] / row[0]], [Fraction(0)]
    for k in range(1, size):
        after = [Fraction(0)] * (2 * size)
        for j in range(k, 2 * size - k):
            after[j] = row[j + 1] - middle[-1] * row[j] - beside[-1] * before[j]
        middle.append(after[k + 1] / after[k] - row[k] / row[k - 1])
        beside.append(after[k] / row[k - 1])
        before, row = row, after
    with mpmath.workdps(_DIGITS):
        jacobi = mpmath.diag([_number(one) for one in middle])
        for k in range(1, size):
            jacobi[k, k - 1] = jacobi[k - 1, k] = mpmath.sqrt(_number(beside[k]))
        nodes, vectors = mpmath.eigsy(jacobi)
        first = [float(vectors[0, k] ** 2) for k in range(size)]
        return np.array([float(node) for node in nodes]), np.array(first)


def _number(fraction: Fraction) -> Any:
    return mpmath.mpf(fraction.numerator) / fraction.denominator
