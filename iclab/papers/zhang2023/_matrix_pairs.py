"""Extremes of traces and products over thousands of random pairs of matrices."""

import itertools

import numpy as np

# Entries of products of matrices near 1 that differ by less are equal.
_ROUNDED_TO_ZERO = 1e-12


def trace_ratios(random: np.random.Generator, number: int) -> np.ndarray:
    """tr(UᵀV), Σσ(U)σ(V), ‖U‖Σσ(V), √d‖V‖_F‖U‖: largest ratio of neighbours."""
    U, V = random.standard_normal((2, number, 3, 5))
    # Where all steps are equalities.
    U[0] = V[0] = np.eye(3, 5)
    of_U, of_V = (np.linalg.svd(W, compute_uv=False) for W in (U, V))
    largest = of_U[:, 0]
    chain = [
        np.einsum("nij,nij->n", U, V),
        np.sum(of_U * of_V, axis=1),
        largest * np.sum(of_V, axis=1),
        largest * np.sqrt(3) * np.linalg.norm(V, axis=(1, 2)),
    ]
    return np.array([np.max(a / b) for a, b in itertools.pairwise(chain)])


def negative_traces(random: np.random.Generator, number: int) -> np.ndarray:
    """Largest −tr(AB)/tr(A)tr(B), among it matrices of rank one."""
    roots = random.standard_normal((2, number, 3, 3))
    roots[:, : number // 2, :, 1:] = 0
    A, B = roots @ roots.swapaxes(2, 3)
    traces = np.trace(A, axis1=1, axis2=2) * np.trace(B, axis1=1, axis2=2)
    return np.atleast_1d(np.max(-np.einsum("nij,nij->n", A, B) / traces))


def products(random: np.random.Generator, number: int) -> np.ndarray:
    """How many pairs contradict the equivalence, and how many AB are not ⪰ 0.

    Half of the pairs share their eigenvectors; ⪰ 0 means symmetric with no negative
    eigenvalue.
    """
    basis = np.linalg.qr(random.standard_normal((2, number, 3, 3)))[0]
    basis[1, : number - number // 2] = basis[0, : number - number // 2]
    eigenvalues = random.uniform(0.1, 1, (2, number, 1, 3))
    A, B = (basis * eigenvalues) @ basis.swapaxes(2, 3)
    AB = A @ B
    symmetric = np.max(np.abs(AB - AB.swapaxes(1, 2)), axis=(1, 2)) < _ROUNDED_TO_ZERO
    lowest = np.min(np.linalg.eigvalsh((AB + AB.swapaxes(1, 2)) / 2), axis=1)
    semidefinite = symmetric & (lowest > -_ROUNDED_TO_ZERO)
    commuting = np.max(np.abs(AB - B @ A), axis=(1, 2)) < _ROUNDED_TO_ZERO
    return np.array([np.sum(semidefinite != commuting), np.sum(~semidefinite)])
