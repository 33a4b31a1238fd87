"""After Theorem 1: for standard normal inputs the best A is a multiple of I."""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured, rounded
from iclab.papers.ahn2023._single_layer import moments


@dataclass(frozen=True)
class Case:
    """Standard normal inputs in dimension d, n of them."""

    dimension: int
    samples: int


def cases(scale):
    """A single example, few and many; the paper's d = 5, n = 20 among them."""
    shapes = {
        "smoke": ((3, 2), (5, 20)),
        "desk": ((3, 1), (3, 2), (5, 20)),
        "paper": ((1, 4), (2, 10), (3, 1), (3, 2), (5, 20), (5, 10**6)),
    }[scale]
    return {f"d={d}, n={n}": Case(d, n) for d, n in shapes}


def predict(case: Case):
    """Diagonal −1/((n−1)/n + (d+2)/n), nothing beside it, and loss d(1 − 1/(…))."""
    return _weights(case, case.dimension + 2)


def measure(case: Case) -> Measured:
    """Solve for the minimiser of the exact loss; the form of A and b is not assumed."""
    d = case.dimension
    found = moments(np.eye(d), case.samples)
    X = found.least()
    # b = e_{d+1} and X[i, j, k] = b[i] A[j, k], of which X + Xᵀ matters.
    A = X[d, :d] + X[:d, d]
    diagonal = np.diagonal(A)
    beside = np.max(np.abs(A - np.diag(diagonal)))
    value = np.array([diagonal.min(), diagonal.max(), beside, found.loss(X)])
    return rounded(value, 9**d, d)


def decoy(case: Case):
    """d + 1 for d + 2: a fourth moment of 2 in place of 3."""
    return _weights(case, case.dimension + 1)


def _weights(case: Case, fourth: int) -> np.ndarray:
    d, n = case.dimension, case.samples
    step = 1 / ((n - 1) / n + fourth / n)
    return np.array([-step, -step, 0, d * (1 - step)])
