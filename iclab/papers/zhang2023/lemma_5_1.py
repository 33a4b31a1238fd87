"""Lemma 5.1: the prediction is uᵀHu with H = ½ X ⊗ (EEᵀ/N)."""

import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured, rounded
from iclab.models import LinearSelfAttention
from iclab.papers.zhang2023._quadratic_form import (
    Shape,
    largest_token,
    prompts,
    quadratic_matrix,
    shapes,
    token_space_predictions,
)

# Prompts in a case.
_NUMBER = 5

cases = shapes


def predict(case: Shape):
    """uᵀHu with u = Vec(U), columns one below the other."""
    return _form(_blocks(case).ravel(order="F"), case)


def measure(case: Shape) -> Measured:
    """The forward pass on tokens with U₁₁, u₂₁ in W_KQ and u₁₂, u₋₁ in W_PV."""
    U, batch = _blocks(case), prompts(case, _NUMBER)
    W_KQ, W_PV = np.zeros_like(U), np.zeros_like(U)
    W_KQ[:, :-1] = U[:, :-1]
    W_PV[-1] = U[:, -1]
    model = LinearSelfAttention(jnp.asarray(W_KQ), jnp.asarray(W_PV))
    value = np.asarray(token_space_predictions(model, batch))
    size = np.max(np.abs(U)) ** 2 * largest_token(batch) ** 3
    return rounded(value, len(U) ** 4 * (case.count + 1), size)


def decoy(case: Shape):
    """U read row by row."""
    return _form(_blocks(case).ravel(order="C"), case)


def _form(u: np.ndarray, case: Shape) -> np.ndarray:
    return np.einsum("i,nij,j->n", u, quadratic_matrix(prompts(case, _NUMBER)), u)


def _blocks(case: Shape) -> np.ndarray:
    """U, one number for every weight that matters."""
    size = case.dimension + 1
    return np.random.default_rng([size, case.count]).standard_normal((size, size))
