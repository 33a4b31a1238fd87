"""Section 3, (i): the loss is not convex, not even that of one layer."""

import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured, rounded
from iclab.papers.ahn2023._single_layer import (
    Weighted,
    prompt_nodes,
    rotated,
    squared_error,
)
from iclab.theory import ahn_optimum, gamma_matrix


def cases(scale) -> dict[str, Weighted]:
    """The global minimum (8); its negative is the same network."""
    found = {}
    for n in {"smoke": (2,), "desk": (1, 2), "paper": (1, 2, 3)}[scale]:
        Sigma = rotated((1.6, 0.2))
        P, Q = map(np.asarray, ahn_optimum(jnp.asarray(Sigma), n))
        found[f"d=2, n={n}, halfway from a minimum to its negative"] = Weighted(
            Sigma, n, P, Q
        )
    return found


def predict(case: Weighted):
    """Halfway the loss is above the mean of both ends by tr(Σ²Γ⁻¹), not below it."""
    return _gain(case, case.samples)


def decoy(case: Weighted):
    """The same for n + 1 examples, as if the query counted."""
    return _gain(case, case.samples + 1)


def measure(case: Weighted) -> Measured:
    """The model's loss on every prompt, at both ends and halfway."""
    nodes = prompt_nodes(case.covariance, case.samples)
    ends = [float(squared_error(s * case.P, s * case.Q, nodes)) for s in (1, -1)]
    halfway = float(squared_error(0 * case.P, 0 * case.Q, nodes))
    return rounded(halfway - np.mean(ends), len(nodes.weights), halfway)


def _gain(case: Weighted, samples: int) -> float:
    Gamma = np.asarray(gamma_matrix(jnp.asarray(case.covariance), samples))
    return float(np.trace(case.covariance @ case.covariance @ np.linalg.inv(Gamma)))
