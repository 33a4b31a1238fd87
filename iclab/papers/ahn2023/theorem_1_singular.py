"""Theorem 1 with a singular Σ: (8) is a global minimum there too."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured
from iclab.papers.ahn2023._single_layer import (
    moments,
    prompt_nodes,
    rotated,
    squared_error,
)
from iclab.theory import ahn_optimum

labels = "loss at (8)", "least loss of all b⊗A"


@dataclass(frozen=True)
class Case:
    """Eigenvalues of Σ, some of them 0, and the number of examples."""

    eigenvalues: tuple[float, ...]
    samples: int


def cases(scale) -> dict[str, Case]:
    """Inputs on a line of the plane."""
    lengths = {"smoke": (2,), "desk": (1, 2), "paper": (1, 2, 3)}[scale]
    return {f"d=2, spectrum 1.6, 0, n={n}": Case((1.6, 0.0), n) for n in lengths}


def predict(case: Case):
    """tr Σ − tr(Σ²Γ⁻¹): Γ has an inverse as long as Σ is not 0."""
    Sigma, n = rotated(case.eigenvalues), case.samples
    Gamma = (n + 1) / n * Sigma + np.trace(Sigma) / n * np.eye(len(Sigma))
    return np.full(2, np.trace(Sigma - Sigma @ Sigma @ np.linalg.inv(Gamma)))


def decoy(case: Case):
    """Γ averaged over n + 1 examples, as if the query counted."""
    return predict(Case(case.eigenvalues, case.samples + 1))


def measure(case: Case) -> Measured:
    """The model with (8) on every prompt, and the minimum of the convex loss in b⊗A."""
    Sigma = rotated(case.eigenvalues)
    nodes = prompt_nodes(Sigma, case.samples)
    # Theory asks for a covariance with an inverse; (8) needs none.
    nearly = jnp.asarray(Sigma + 1e-12 * np.eye(len(Sigma)))
    P, Q = map(np.asarray, ahn_optimum(nearly, case.samples))
    exact = moments(Sigma, case.samples)
    value = [float(squared_error(P, Q, nodes)), exact.loss(exact.least())]
    error = len(nodes.weights) * np.finfo(float).eps + 1e-11
    return Measured(np.array(value), error, "float64 round-off, and 1e-12 added to Σ")
