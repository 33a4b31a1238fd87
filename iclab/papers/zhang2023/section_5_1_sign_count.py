"""Section 5.1: how many negative eigenvalues H has, for prompts of every length."""

import numpy as np

from iclab.evidence import Measured, Printed
from iclab.papers.zhang2023._quadratic_form import (
    Shape,
    prompts,
    quadratic_matrix,
    shapes,
)

cases = shapes


def predict(case: Shape):
    """min(d, N) + 1, the rank of E; fewest and most over the prompts."""
    return np.full(2, min(case.dimension, case.count) + 1)


def measure(case: Shape, scale) -> Measured:
    """Count them."""
    number = {"smoke": 20, "desk": 50, "paper": 200}[scale]
    H = quadratic_matrix(prompts(case, number))
    eigenvalues = np.linalg.eigvalsh(H)
    largest = np.max(np.abs(eigenvalues), axis=1, keepdims=True)
    zero = np.finfo(float).eps * H.shape[1] * largest
    counts = np.sum(eigenvalues < -zero, axis=1)
    negative = np.where(eigenvalues < -zero, -eigenvalues / zero, np.inf)
    reason = (
        f"a count; the smallest of the negative ones is {np.min(negative):.1g} times"
        " the round-off below which an eigenvalue is called zero"
    )
    return Measured(np.array([counts.min(), counts.max()]), 0, reason)


def decoy(case: Shape):
    """The query's column of E forgotten."""
    return np.full(2, min(case.dimension, case.count))


def as_printed(case: Shape):
    """At least d + 1, whatever N."""
    return np.full(2, case.dimension + 1)


printed = Printed(predict=as_printed, relation=">=")


def numbers(results, printed):
    """How many there are with fewer examples than dimensions."""
    return {"short": printed["d=3, N=2"].measured[0]}
