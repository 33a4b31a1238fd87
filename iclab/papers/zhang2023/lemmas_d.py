"""Lemmas D.1–D.4: matrix calculus, a Gaussian fourth moment, trace inequalities."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured, rounded
from iclab.papers.zhang2023._matrix_pairs import negative_traces, products, trace_ratios
from iclab.papers.zhang2023._quadrature import gaussian_rule

# Random pairs of matrices for an inequality.
_NUMBER = {"smoke": 1000, "desk": 10_000, "paper": 100_000}

Formula = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]

relation = "<="


@dataclass(frozen=True)
class Identity:
    """Both sides of an equation between matrices A, B, C, X, and a wrong right side."""

    left: Formula
    right: Formula
    wrong: Formula


@dataclass(frozen=True)
class Inequality:
    """Worst values over random pairs, the bounds that they keep, and tighter ones."""

    worst: Callable[[np.random.Generator, int], np.ndarray]
    bounds: Callable[[], np.ndarray]
    tighter: Callable[[], np.ndarray]


def cases(scale):
    """Every item of the four lemmas, for general 3×3 matrices."""
    number = _NUMBER[scale]
    return {
        "D.1, gradient of xᵀBx": Identity(
            lambda A, B, C, X: _gradient(lambda x: x @ B @ x, X[0]),
            lambda A, B, C, X: (B + B.T) @ X[0],
            lambda A, B, C, X: 2 * B @ X[0],
        ),
        "D.1, Vec(AXB)": Identity(
            lambda A, B, C, X: _vec(A @ X @ B),
            lambda A, B, C, X: np.kron(B.T, A) @ _vec(X),
            lambda A, B, C, X: np.kron(A, B.T) @ _vec(X),
        ),
        "D.1, tr(AᵀB)": Identity(
            lambda A, B, C, X: np.trace(A.T @ B),
            lambda A, B, C, X: _vec(A) @ _vec(B),
            lambda A, B, C, X: _vec(A.T) @ _vec(B),
        ),
        "D.1, gradient of tr(XBXᵀ)": Identity(
            lambda A, B, C, X: _gradient(lambda X: np.trace(X @ B @ X.T), X),
            lambda A, B, C, X: X @ B.T + X @ B,
            lambda A, B, C, X: 2 * X @ B,
        ),
        "D.1, gradient of tr(AXᵀ)": Identity(
            lambda A, B, C, X: _gradient(lambda X: np.trace(A @ X.T), X),
            lambda A, B, C, X: A,
            lambda A, B, C, X: A.T,
        ),
        "D.1, gradient of tr(AXBXᵀC)": Identity(
            lambda A, B, C, X: _gradient(lambda X: np.trace(A @ X @ B @ X.T @ C), X),
            lambda A, B, C, X: A.T @ C.T @ X @ B.T + C @ A @ X @ B,
            lambda A, B, C, X: A.T @ C.T @ X @ B + C @ A @ X @ B.T,
        ),
        "D.2, E[xxᵀAxxᵀ] with Λ = BBᵀ": Identity(
            lambda A, B, C, X: _fourth_moment(A, B @ B.T),
            lambda A, B, C, X: _isserlis(A + A.T, np.trace(A @ B @ B.T), B @ B.T),
            lambda A, B, C, X: _isserlis(2 * A, np.trace(A @ B @ B.T), B @ B.T),
        ),
        # The last constant is √d; the next smaller is √(d−1).
        "D.3, each step over the next": Inequality(
            trace_ratios,
            lambda: np.ones(3),
            lambda: np.array([1.0, 1.0, np.sqrt(2 / 3)]),
        ),
        # Tighter: tr(AB) ≥ tr(A)tr(B)/d, as if semi-definite matrices were aligned.
        "D.4, −tr(AB)/tr(A)tr(B)": Inequality(
            negative_traces, lambda: np.zeros(1), lambda: np.full(1, -1 / 3)
        ),
        # Tighter: every product of semi-definite matrices is semi-definite.
        "D.4, AB ⪰ 0 against AB = BA": Inequality(
            products, lambda: np.array([0, number // 2]), lambda: np.array([0, 0])
        ),
    }


def predict(case: Identity | Inequality):
    """The right-hand side; the bounds."""
    return _both_sides(case.right) if isinstance(case, Identity) else case.bounds()


def measure(case: Identity | Inequality, scale) -> Measured:
    """The left-hand side by differences, sums or quadrature; the worst of the pairs."""
    if isinstance(case, Identity):
        value = _both_sides(case.left)
        return rounded(value, 1e3, max(10.0, float(np.max(value))))
    random = np.random.default_rng(_NUMBER[scale])
    return rounded(case.worst(random, _NUMBER[scale]), 1e2)


def decoy(case: Identity | Inequality):
    """A transpose forgotten or misplaced; a constant too small."""
    return _both_sides(case.wrong) if isinstance(case, Identity) else case.tighter()


def _both_sides(formula: Formula) -> np.ndarray:
    """A formula at fixed random matrices, up to five entries; an equality is two ≤."""
    matrices = np.random.default_rng([3, 1]).standard_normal((4, 3, 3))
    value = np.ravel(formula(*matrices))[:5]
    return np.concatenate([value, -value])


def _vec(matrix: np.ndarray) -> np.ndarray:
    """Columns one below the other."""
    return matrix.ravel(order="F")


def _gradient(
    function: Callable[[np.ndarray], np.ndarray], at: np.ndarray
) -> np.ndarray:
    """Central differences, which are exact for functions of degree two."""
    steps = np.eye(at.size).reshape(-1, *at.shape)
    slopes = [(function(at + step) - function(at - step)) / 2 for step in steps]
    return np.reshape(slopes, at.shape)


def _fourth_moment(A: np.ndarray, Lambda: np.ndarray) -> np.ndarray:
    """E[xxᵀAxxᵀ] by a rule that is exact up to degree five."""
    x, weights = gaussian_rule(Lambda, 3)
    return (x.T * weights * np.einsum("ni,ij,nj->n", x, A, x)) @ x


def _isserlis(doubled: np.ndarray, trace: float, Lambda: np.ndarray) -> np.ndarray:
    return Lambda @ doubled @ Lambda + trace * Lambda
