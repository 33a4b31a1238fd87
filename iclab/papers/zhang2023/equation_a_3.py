"""(A.3)–(A.4): the mean of label times quadratic form, block by block."""

import numpy as np

from iclab.evidence import Measured, rounded
from iclab.papers.zhang2023._gaussian_prompts import (
    Weights,
    entries_of_U,
    exact_prompts,
    small_weights,
)

cases = small_weights
labels = entries_of_U


def predict(case: Weights):
    """½(0 A; Aᵀ 0)u with A the column of blocks V_j + V_jᵀ, V_j = (0 ΛΛ_j; 0 0)."""
    return _applied(case, lambda V: V + V.T)


def measure(case: Weights) -> Measured:
    """E[wᵀx_q H]u by exact quadrature over whole prompts."""
    prompts = exact_prompts(case.covariance, case.context_length)
    mean = np.einsum(
        "p,p,pij->ij", prompts.weights, prompts.targets(), prompts.quadratic_forms()
    )
    u = case.U.ravel(order="F")
    size = np.max(np.abs(u)) * np.trace(case.covariance) ** 2
    return rounded(mean @ u, len(prompts.weights) ** 0.5 * len(u), size)


def decoy(case: Weights):
    """Blocks V_j without their transposes: half of A is lost."""
    return _applied(case, lambda V: V)


def _applied(case: Weights, block):
    Lambda, d = case.covariance, len(case.covariance)
    blocks = []
    for j in range(d):
        V = np.zeros((d + 1, d + 1))
        V[:d, d] = Lambda @ Lambda[:, j]
        blocks.append(block(V))
    A = np.vstack(blocks)
    lower = np.zeros((d + 1, d + 1))
    upper = np.zeros((d * (d + 1), d * (d + 1)))
    return np.block([[upper, A], [A.T, lower]]) @ case.U.ravel(order="F") / 2
