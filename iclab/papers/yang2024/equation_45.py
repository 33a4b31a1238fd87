"""Equation (45): the gradient of the loss in the weights α of all heads."""

import numpy as np

from iclab.evidence import Measured, rounded
from iclab.papers.yang2024._bounds import in_alpha
from iclab.papers.yang2024._instances import Instances
from iclab.papers.yang2024._population import evaluated
from iclab.papers.yang2024._single import error_scale, formulas, single_problems

cases = single_problems


def predict(case: Instances):
    """(γ/K) B_kᵀZ̄δ_k for every token k, H×K."""
    return case.gamma[0] * formulas(case).value_gradient


def decoy(case: Instances):
    """(γ/K) C_kᵀZ̄δ_k: attention in the place of B_k = Z̄C_k."""
    found, N = formulas(case), case.context_length
    Z, m = case.features[0, :N].T, case.features.shape[2]
    gram = Z.T @ Z + m * case.noise_variance[0] * np.eye(N)
    values, vectors = np.linalg.eigh(gram)
    scaled = (vectors * np.sqrt(values)) @ vectors.T @ (found.weights - found.optimum)
    slopes = np.einsum("hnk,nk->hk", found.attention, scaled)
    return case.gamma[0] * slopes / case.features.shape[1]


def measure(case: Instances) -> Measured:
    """Differentiating the model's loss over a population of tasks."""
    found = evaluated(case)
    gradient = in_alpha(case, found)[0]
    size = (1 + found.loss[0]) * case.gamma[0]
    return rounded(gradient, error_scale(case), size)
