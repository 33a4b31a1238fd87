"""The exact loss with B for two inputs: every prompt's law is integrated, not sampled.

For d = 2 the whitened sample covariance is (t/2n)(I + u R) with t ~ χ²_{2n},
u² ~ Beta(1, (n−1)/2) and a reflection R = (cos φ, sin φ; sin φ, −cos φ), φ uniform, all
independent. The loss is a polynomial in t, u cos φ and u sin φ, and what is odd in u
averages out over φ: equal steps in φ and Gauss rules in t and v = u² are exact.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from iclab.models import LinearTransformer

LAYERS = 3
# The error on the query has degree 1 + 3 + 9 in S.
_DEGREE = 3**LAYERS - 1  # of its square
# Matrix products of a layer, forwards and backwards, with 2 + 1 rows each.
_OPERATIONS = 10 * LAYERS * 3**2


class Derivatives(NamedTuple):
    """Loss and gradient in all entries of A and B, and what rounding does to them."""

    loss: float
    A: np.ndarray
    B: np.ndarray
    loss_error: float
    error: float


def derivatives(
    A: np.ndarray, B: np.ndarray, covariance: np.ndarray, samples: int
) -> Derivatives:
    """Run three layers on every node of the rule; w and the query are summed over."""
    nodes, weights = _rule(samples)
    root = np.linalg.cholesky(covariance)
    found = _per_node(A, B, root, nodes)
    loss, of_A, of_B = (np.asarray(one) for one in found)
    unit = _OPERATIONS * np.finfo(float).eps
    sizes = [np.max(np.abs(one), axis=(1, 2, 3)) for one in (of_A, of_B)]
    return Derivatives(
        float(weights @ loss),
        np.tensordot(weights, of_A, 1),
        np.tensordot(weights, of_B, 1),
        unit * float(weights @ loss),
        unit * float(weights @ np.maximum(*sizes)),
    )


@functools.cache
def _rule(samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Whitened sample covariances and their weights, exact up to degree 26 in S."""
    n, N = samples, _DEGREE // 2 + 1
    # Laguerre polynomials for t^{n−1}e^{−t}, Jacobi polynomials for (1−v)^{(n−3)/2}.
    j, alpha = np.arange(N), n - 1
    t, of_t = _gauss(2 * j + 1 + alpha, np.sqrt(j * (j + alpha)))
    j, alpha = np.arange(N // 2 + 1), (n - 3) / 2
    m = 2 * j + alpha
    middle = -(alpha**2) / (m * (m + 2))
    beside = 2 * j * (j + alpha) / (m * np.sqrt(np.abs(m**2 - 1)))
    v, of_v = _gauss((1 + middle) / 2, beside / 2)
    phi = 2 * np.pi * np.arange(_DEGREE + 1) / (_DEGREE + 1)
    trace, v, phi = np.meshgrid(2 * t / n, v, phi, indexing="ij")
    c, s = np.sqrt(v) * np.cos(phi), np.sqrt(v) * np.sin(phi)
    S = np.stack([1 + c, s, s, 1 - c], axis=-1) * trace[..., None] / 2
    weights = np.broadcast_to(np.multiply.outer(of_t, of_v)[..., None], phi.shape)
    return S.reshape(-1, 2, 2), weights.ravel() / np.sum(weights)


def _gauss(middle: np.ndarray, beside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights from a recurrence's coefficients (Golub and Welsch)."""
    jacobi = np.diag(middle) + np.diag(beside[1:], 1) + np.diag(beside[1:], -1)
    nodes, vectors = np.linalg.eigh(jacobi)
    return nodes, vectors[0] ** 2


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
