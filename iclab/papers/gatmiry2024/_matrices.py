"""Covariances in random bases, and means of matrices seen from their eigenvectors."""

import numpy as np

from iclab.papers.gatmiry2024._every_prompt import every_sample


def rotated(eigenvalues: tuple[float, ...]) -> np.ndarray:
    """A symmetric matrix with these eigenvalues in a random basis."""
    d = len(eigenvalues)
    entries = np.random.default_rng([d, 7]).standard_normal((d, d))
    basis, _ = np.linalg.qr(entries)
    matrix = (basis * np.array(eigenvalues)) @ basis.T
    return (matrix + matrix.T) / 2


def mean_power_from(
    covariance: np.ndarray, root: np.ndarray, centre: float, samples: int, order: int
) -> tuple[np.ndarray, float, float]:
    """M = E(`root` S `root` − `centre` I)ᵏ in the eigenvectors of root Σ⋆ root.

    Returns the diagonal of M in their basis, that of the largest one first, the largest
    entry beside the diagonal, and the round-off of all of them.
    """
    d = len(covariance)
    _, basis = np.linalg.eigh(root @ covariance @ root)
    rule = every_sample(covariance, samples, order)
    inside = root @ rule.S @ root
    power = np.linalg.matrix_power(inside - centre * np.eye(d), order)
    M = (basis.T @ rule.mean(power) @ basis)[::-1, ::-1]
    size = rule.mean((abs(centre) + np.linalg.norm(inside, axis=(1, 2))) ** order)
    error = float(10 * d**2 * order * np.finfo(float).eps * size)
    beside = float(np.max(np.abs(M - np.diag(np.diag(M))), initial=0))
    return np.diag(M), beside, error
