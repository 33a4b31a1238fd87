"""(6): the loss of one layer, in which our copy prints no square."""

import jax
import numpy as np

from iclab.evidence import Measured, Printed, rounded
from iclab.papers.ahn2023._single_layer import (
    Nodes,
    Weighted,
    prompt_nodes,
    rotated,
    squared_error,
)
from iclab.theory import lsa_full_loss


def cases(scale):
    """No attention at all, random weights, and one step of gradient descent."""
    n = 2
    Sigma = rotated((1.6, 0.2))
    P, Q = np.random.default_rng([n, 6]).standard_normal((2, 3, 3))
    P[-1, :-1] = 0  # else the query's own term tells the masked from the unmasked
    last, first = np.diag([0.0, 0.0, 1.0]), np.diag([1.0, 1.0, 0.0])
    weights = {
        "zero weights": (0 * P, 0 * Q),
        "random weights": (P, Q),
        "one step of size ½": (last, -first / 2),
    }
    return {
        f"d=2, n={n}, {kind}": Weighted(Sigma, n, *weights[kind]) for kind in weights
    }


def predict(case: Weighted):
    """The mean square in closed form: twice the loss of zhang2023, W_KQ = −Q."""
    return 2 * float(_half_loss(-case.Q, case.P, case.covariance, case.samples))


def as_printed(case: Weighted):
    """The mean without the square, from (6) as written: every error averages out."""
    nodes = prompt_nodes(case.covariance, case.samples)
    return float(nodes.weights @ _printed_errors(case, nodes))


printed = Printed(predict=as_printed, nearby=True)


def measure(case: Weighted) -> Measured:
    """The loss (5) with k = 1, by the model's forward pass."""
    nodes = prompt_nodes(case.covariance, case.samples)
    value = float(squared_error(case.P, case.Q, nodes))
    return rounded(value, len(nodes.weights), value)


def decoy(case: Weighted):
    """A factor ½ in front, as zhang2023 has it."""
    return predict(case) / 2


def _printed_errors(case: Weighted, nodes: Nodes) -> np.ndarray:
    """[Z₀ + (1/n) P Z₀ M (Z₀ᵀ Q Z₀)]_{d+1,n+1} + wᵀx of every prompt."""
    points, n, d = nodes.examples.shape
    Z = np.zeros((points, d + 1, n + 1))
    Z[:, :d, :n] = nodes.examples.swapaxes(1, 2)
    Z[:, :d, n], Z[:, d, :n] = nodes.query, nodes.labels
    M = np.diag(np.append(np.ones(n), 0.0))
    Z = Z + case.P @ Z @ M @ (Z.swapaxes(1, 2) @ case.Q @ Z) / n
    return Z[:, -1, -1] + nodes.target


_half_loss = jax.jit(lsa_full_loss)
