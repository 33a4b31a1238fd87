"""The exact loss with B for two inputs: prompts are integrated, not sampled."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from iclab.models import LinearTransformer
from iclab.papers._two_inputs import rule

LAYERS = 3
# Matrix products of a layer, forwards and backwards, with 2 + 1 rows each.
_OPERATIONS = 10 * 3**2


class Derivatives(NamedTuple):
    """Loss and gradient in all entries of A and B, and what rounding does to them."""

    loss: float
    A: np.ndarray
    B: np.ndarray
    loss_error: float
    error: float


def derivatives(
    A: np.ndarray,
    B: np.ndarray,
    covariance: np.ndarray,
    samples: int,
    *,
    without_B: bool = False,
) -> Derivatives:
    """Run the layers on every node of the rule; w and the query are summed over.

    The error on the query has degree 1 + 3 + 9 + … in S, and `without_B` that of the
    number of layers: then loss and gradient in A are exact at B = 0.
    """
    layers = len(A)
    nodes, weights = rule(samples, 2 * layers if without_B else 3**layers - 1)
    root = np.linalg.cholesky(covariance)
    found = _per_node(A, B, root, nodes)
    loss, of_A, of_B = (np.asarray(one) for one in found)
    unit = _OPERATIONS * layers * np.finfo(float).eps
    sizes = [np.max(np.abs(one), axis=(1, 2, 3)) for one in (of_A, of_B)]
    return Derivatives(
        float(weights @ loss),
        np.tensordot(weights, of_A, 1),
        np.tensordot(weights, of_B, 1),
        unit * float(weights @ loss),
        unit * float(weights @ np.maximum(*sizes)),
    )


@jax.jit
def _per_node(A: Array, B: Array, root: Array, nodes: Array):
    """Loss given S and its gradient, from forward passes of the model."""
    # Columns of Σ^½ as queries, of Σ^{−½} as weights: E w wᵀ = Σ⁻¹.
    queries, tasks = root.T, jnp.linalg.inv(root)

    def loss_given(A, B, node):
        S = root @ node @ root.T
        model = LinearTransformer.sparse(A, B)

        def error(w, query):
            return w @ query - model.from_moments(S, S @ w, w @ S @ w, query, 1)

        over_queries = jax.vmap(error, (None, 0))
        return jnp.sum(jax.vmap(over_queries, (0, None))(tasks, queries) ** 2)

    value_and_gradient = jax.value_and_grad(loss_given, (0, 1))
    loss, (of_A, of_B) = jax.vmap(value_and_gradient, (None, None, 0))(A, B, nodes)
    return loss, of_A, of_B
