"""Section 5.2, inputs seen through a distortion W: which w explains the labels."""

import itertools
from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured, rounded


@dataclass(frozen=True, eq=False)
class Case:
    """A distortion W, and the latent weights w̄ of one prompt."""

    W: np.ndarray
    latent: np.ndarray

    @property
    def symmetric(self) -> bool:
        """Whether W = Σ^{1/2}, which makes every way to invert it the same."""
        return np.allclose(self.W, self.W.T)


def cases(scale):
    """A random distortion, a triangular one, and the symmetric root of Σ."""
    found = {}
    for d in {"smoke": (3,), "desk": (3, 5), "paper": (2, 3, 5, 8)}[scale]:
        random = np.random.default_rng([d, 52])
        W = random.standard_normal((d, d)) + np.eye(d)
        latent = random.standard_normal(d)
        kinds = {
            "random W": W,
            "triangular W": np.linalg.cholesky(W @ W.T),
            "symmetric W": _power(W @ W.T, 0.5),
        }
        for kind, distortion in kinds.items():
            found[f"d={d}, {kind}"] = Case(distortion, latent)
    return found


def predict(case: Case):
    """w⋆ = W^{−ᵀ}w̄, and the eigenvalues of its covariance Σ⁻¹."""
    return _summary(case, np.linalg.inv(case.W).T @ case.latent)


def printed(case: Case):
    """w⋆ = Σ^{−1/2}w̄, and the same covariance."""
    return _summary(case, _power(case.W @ case.W.T, -0.5) @ case.latent)


def decoy(case: Case):
    """w⋆ = W⁻¹w̄: the transpose forgotten."""
    if case.symmetric:
        return None
    return _summary(case, np.linalg.inv(case.W) @ case.latent)


def labels(case: Case):
    """Entries of w⋆, and eigenvalues of its covariance."""
    entries = range(1, len(case.W) + 1)
    return [f"{what} {i}" for what in ("entry of w⋆", "eigenvalue") for i in entries]


def measure(case: Case) -> Measured:
    """Least squares on the distorted inputs and the labels of the latent ones.

    The covariance is averaged over w̄ with entries ±1: exact for second moments.
    """
    d = len(case.W)
    latent_inputs = np.random.default_rng([d, 2]).standard_normal((4 * d, d))
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=d)))
    labels = latent_inputs @ np.vstack([case.latent, signs]).T
    inputs = latent_inputs @ case.W.T
    weights, *_ = np.linalg.lstsq(inputs, labels)
    second_moment = weights[:, 1:] @ weights[:, 1:].T / len(signs)
    value = np.append(weights[:, 0], np.linalg.eigvalsh(second_moment))
    # Least squares loses digits with the square of the condition number.
    operations = inputs.size * np.linalg.cond(inputs) ** 2
    return rounded(value, operations, np.max(np.abs(value)))


def _summary(case: Case, weight: np.ndarray) -> np.ndarray:
    inverse = np.linalg.inv(case.W @ case.W.T)
    return np.append(weight, np.linalg.eigvalsh(inverse))


def _power(matrix: np.ndarray, exponent: float) -> np.ndarray:
    """A power of a symmetric positive matrix."""
    eigenvalues, basis = np.linalg.eigh(matrix)
    return (basis * eigenvalues**exponent) @ basis.T
