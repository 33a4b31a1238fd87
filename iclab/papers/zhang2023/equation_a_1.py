"""(A.1): gradient flow on the loss, written with the quadratic forms H of Lemma 5.1."""

import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured, rounded
from iclab.papers.zhang2023._gaussian_prompts import (
    Weights,
    entries_of_U,
    exact_prompts,
    small_weights,
)
from iclab.papers.zhang2023._loss_landscape import population_gradient

cases = small_weights
labels = entries_of_U


def predict(case: Weights):
    """−2E(⟨H, uuᵀ⟩H)u + 2E(wᵀx_q H)u, averaged exactly over prompts."""
    cubic, linear = _terms(case)
    return -2 * cubic + 2 * linear


def measure(case: Weights) -> Measured:
    """Minus the gradient of the exact loss by automatic differentiation, as Vec(U)."""
    covariance = jnp.asarray(case.covariance)
    _, gradient = population_gradient(case.U[None], covariance, case.context_length)
    size = np.max(np.abs(gradient)) + np.linalg.norm(case.U) * np.trace(covariance) ** 2
    # The other side is a mean over thousands of nodes, added up pairwise.
    return rounded(-gradient[0].ravel(order="F"), 500.0, size)


def decoy(case: Weights):
    """The form differentiated as if it were linear: both factors 2 are lost."""
    cubic, linear = _terms(case)
    return -cubic + linear


def _terms(case: Weights):
    """E(⟨H, uuᵀ⟩H)u and E(wᵀx_q H)u."""
    prompts = exact_prompts(case.covariance, case.context_length)
    Hu = prompts.quadratic_forms() @ case.U.ravel(order="F")
    form = Hu @ case.U.ravel(order="F")
    return (prompts.weights * form) @ Hu, (prompts.weights * prompts.targets()) @ Hu
