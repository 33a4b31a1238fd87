"""(15): the loss of one layer through b, A and the second moments C of the prompt."""

import numpy as np

from iclab.evidence import Measured, rounded
from iclab.papers.ahn2023._single_layer import (
    Weighted,
    moments,
    prompt_nodes,
    rotated,
    squared_error,
)


def cases(scale):
    """Two inputs and up to three examples: whole prompts can be integrated exactly."""
    found = {}
    for n in {"smoke": (2,), "desk": (1, 2), "paper": (1, 2, 3)}[scale]:
        for kind, eigenvalues in {"equal": (1, 1), "steep": (1.6, 0.2)}.items():
            random = np.random.default_rng([n, *kind.encode()])
            P, Q = random.standard_normal((2, 3, 3))
            name = f"d=2, {kind} spectrum, n={n}, random weights"
            found[name] = Weighted(rotated(eigenvalues), n, P, Q)
    return found


def predict(case: Weighted):
    """E[(bᵀCA + wᵀ)x]², b the last row of P and A the first d columns of Q."""
    return _formula(case, 1.0)


def measure(case: Weighted) -> Measured:
    """The forward pass (4) on a quadrature over whole prompts, query included."""
    nodes = prompt_nodes(case.covariance, case.samples)
    value = float(squared_error(case.P, case.Q, nodes))
    return rounded(value, len(nodes.weights), value)


def decoy(case: Weighted):
    """C averaged over n + 1 tokens, as if the query counted."""
    return _formula(case, case.samples / (case.samples + 1))


def _formula(case: Weighted, factor: float) -> float:
    X = factor * np.einsum("i,jk->ijk", case.P[-1], case.Q[:, :-1])
    return moments(case.covariance, case.samples).loss(X)
