"""What Lemmas 6 and 7 say of the j-th component f_j(X) = E(⟨C, X⟩ + w[j])²."""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured, rounded
from iclab.papers.ahn2023._single_layer import moments


@dataclass(frozen=True)
class Component:
    """Inputs with independent coordinates of these variances; one coordinate j."""

    variances: tuple[float, ...]
    samples: int
    j: int


# Names of the six numbers of a component.
COMPONENT = (
    "E[w_jC] at (d+1, j)",
    "E[w_jC] elsewhere",
    "E[⟨C, E⟩C] at (d+1, j)",
    "E[⟨C, E⟩C] elsewhere",
    "X + Xᵀ at (d+1, j)",
    "least f_j",
)


def measured_component(case: Component) -> Measured:
    """Six numbers: moments by quadrature, a minimiser by solving the linear equations.

    The entry at (d+1, j) of E[w[j]C], what that matrix has elsewhere, the same two of
    E[⟨C, E⟩C], and the same entry of X + Xᵀ with the value of f_j for a minimiser X.
    Every C is symmetric: X counts only through X + Xᵀ.
    """
    found = moments(np.diag(case.variances), case.samples)
    j, last = case.j, len(case.variances)
    first, second = found.linear[..., j], found.square[last, j]
    X = found.least()[..., j]
    least = 1 + np.sum(X * (np.tensordot(found.square, X, 2) + 2 * first))
    value = [
        first[last, j],
        _elsewhere(first, last, j),
        second[last, j],
        _elsewhere(second, last, j),
        X[last, j] + X[j, last],
        least,
    ]
    eigenvalues = np.linalg.eigvalsh(found.square.reshape((last + 1) ** 2, -1))
    # Solving the equations loses digits with their condition number.
    condition = eigenvalues[-1] / eigenvalues[eigenvalues > 1e-9].min()
    nodes = 9 ** len(case.variances)
    return rounded(np.array(value), nodes * condition, max(1.0, np.max(np.abs(value))))


def predicted_component(mean: float, coefficient: float, entry: float) -> np.ndarray:
    """The same six from the entries that the lemma gives; `entry` is that of X_j."""
    least = 1 + entry**2 * coefficient + 2 * entry * mean
    return np.array([mean, 0, coefficient, 0, entry, least])


def flat_directions(case: Component) -> int:
    """Dimension of the set of minimisers of f_j."""
    square = moments(np.diag(case.variances), case.samples).square
    size = len(case.variances) + 1
    return size**2 - int(np.linalg.matrix_rank(square.reshape(size**2, -1), tol=1e-9))


def _elsewhere(matrix: np.ndarray, last: int, j: int) -> float:
    """Largest entry other than those at (d+1, j) and (j, d+1)."""
    rest = matrix.copy()
    rest[last, j] = rest[j, last] = 0
    return float(np.max(np.abs(rest)))
