"""Prompts with weights that integrate exactly, in place of random ones."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from iclab.evidence import Scale


class ExactPrompts(NamedTuple):
    """Nodes of a quadrature over prompts: `weights` @ f is the mean of f."""

    tokens: np.ndarray
    task: np.ndarray
    query: np.ndarray
    weights: np.ndarray

    def quadratic_forms(self) -> np.ndarray:
        """H = ½ X ⊗ EEᵀ/N of every prompt, (5.1)."""
        points, size, columns = self.tokens.shape
        X = np.zeros((points, size, size))
        X[:, :-1, -1] = X[:, -1, :-1] = self.query
        Z = self.tokens @ np.swapaxes(self.tokens, 1, 2) / (columns - 1)
        H = np.einsum("pij,pkl->pikjl", X, Z) / 2
        return H.reshape(points, size**2, size**2)

    def targets(self) -> np.ndarray:
        """The labels ⟨w, x_q⟩ that the queries should get."""
        return np.sum(self.task * self.query, axis=1)


@dataclass(frozen=True, eq=False)
class Weights:
    """A training distribution and weights U whose four blocks are all nonzero."""

    covariance: np.ndarray
    context_length: int
    U: np.ndarray


def entries_of_U(case: Weights) -> list[str]:
    """Names of the entries of U, column by column."""
    rows = range(1, len(case.U) + 1)
    return [f"U[{i}, {j}]" for j in rows for i in rows]


def small_weights(scale: Scale) -> dict[str, Weights]:
    """Two inputs: what quadrature over whole prompts can do exactly."""
    lengths = {"smoke": (1, 2), "desk": (1, 2), "paper": (1, 2, 3)}[scale]
    spectra = {"equal": (1.0, 1.0), "steep": (1.6, 0.4), "one tiny": (1.2, 0.02)}
    found = {}
    for N in lengths:
        for name, eigenvalues in spectra.items():
            random = np.random.default_rng([N, *name.encode()])
            basis, _ = np.linalg.qr(random.standard_normal((2, 2)))
            covariance = (basis * np.array(eigenvalues)) @ basis.T
            U = random.standard_normal((3, 3))
            found[f"d=2, {name} spectrum, N={N}"] = Weights(covariance, N, U)
    return found


def exact_prompts(covariance, context_length: int) -> ExactPrompts:
    """Gauss–Hermite nodes for N examples, w and x_q; (3^(N+1)·4)^d of them.

    Three nodes are exact up to degree 5 in a coordinate of an example or of w, four up
    to degree 7 in one of the query: enough for the square of a prediction.
    """
    N, d = context_length, len(covariance)
    three, four = (np.polynomial.hermite_e.hermegauss(order) for order in (3, 4))
    axes = [three] * (d * N + d) + [four] * d
    grids = np.meshgrid(*(nodes for nodes, _ in axes), indexing="ij")
    points = np.stack([grid.ravel() for grid in grids], axis=1)
    grids = np.meshgrid(*(weights for _, weights in axes), indexing="ij")
    weights = np.prod([grid.ravel() for grid in grids], axis=0)
    root = np.linalg.cholesky(np.asarray(covariance)).T
    examples = points[:, : d * N].reshape(-1, N, d) @ root
    task, query = points[:, d * N : d * N + d], points[:, d * N + d :] @ root
    tokens = np.zeros((len(points), d + 1, N + 1))
    tokens[:, :d, :N] = np.swapaxes(examples, 1, 2)
    tokens[:, :d, N] = query
    tokens[:, d, :N] = np.einsum("pnd,pd->pn", examples, task)
    return ExactPrompts(tokens, task, query, weights / weights.sum())
