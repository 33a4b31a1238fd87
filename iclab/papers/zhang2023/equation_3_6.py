"""(3.6): only the last row of W_PV and the first d columns of W_KQ matter."""

import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured, rounded
from iclab.models import LinearSelfAttention
from iclab.papers.zhang2023._quadratic_form import (
    Shape,
    gram_space_predictions,
    largest_token,
    prompts,
    shapes,
    token_space_predictions,
)

# Prompts in a case.
_NUMBER = 5

cases = shapes


def predict(case: Shape):
    """(3.6) through the second moments of the prompt, all other weights set to zero."""
    W_KQ, W_PV = _weights(case)
    W_KQ[:, -1] = 0
    W_PV[:-1] = 0
    model = LinearSelfAttention(jnp.asarray(W_KQ), jnp.asarray(W_PV))
    return np.asarray(gram_space_predictions(model, prompts(case, _NUMBER)))


def measure(case: Shape) -> Measured:
    """The forward pass (3.3) on tokens with all weights."""
    weights, batch = _weights(case), prompts(case, _NUMBER)
    model = LinearSelfAttention(*map(jnp.asarray, weights))
    value = np.asarray(token_space_predictions(model, batch))
    size = np.max(np.abs(weights)) ** 2 * largest_token(batch) ** 3
    return rounded(value, (case.dimension + 1) ** 2 * (case.count + 1), size)


def decoy(case: Shape):
    """The query does not attend to itself: xxᵀ/N of the query dropped from EEᵀ/N."""
    W_KQ, W_PV = _weights(case)
    x = prompts(case, _NUMBER).query
    own = (x @ W_PV[-1, :-1]) * np.einsum("ni,ij,nj->n", x, W_KQ[:-1, :-1], x)
    return predict(case) - own / case.count


def _weights(case: Shape) -> np.ndarray:
    """W_KQ and W_PV without a zero in them."""
    size = case.dimension + 1
    return np.random.default_rng([size, case.count]).standard_normal((2, size, size))
