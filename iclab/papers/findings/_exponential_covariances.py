"""Exact moments of sample covariances when every prompt draws Λ = diag(λ), λᵢ ~ Exp(1).

A polynomial of degree j in every λᵢ has the same mean over a grid of Gauss–Laguerre
nodes, and what is symmetric in the λᵢ needs each multiset of nodes once.
"""

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np

from iclab.theory import wishart_matrix_moments


def atoms(dimension: int, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Diagonals, and weights, that average symmetric polynomials of a degree by λᵢ."""
    count = degree // 2 + 1
    nodes, weights = np.polynomial.laguerre.laggauss(count)
    rows, shares = [], []
    for chosen in itertools.combinations_with_replacement(range(count), dimension):
        times = [math.factorial(one) for one in np.bincount(chosen)]
        orders = math.factorial(dimension) / math.prod(times)
        rows.append(nodes[list(chosen)])
        shares.append(orders * math.prod(weights[list(chosen)]))
    return np.array(rows), np.array(shares)


def moments(dimension: int, samples: int, order: int) -> np.ndarray:
    """E tr(SʲΛ)/d for j = 0 … `order`, which is at most 8."""
    rows, shares = atoms(dimension, order + 1)
    return shares @ np.asarray(_traces(jnp.asarray(rows), samples, order)) / dimension


@functools.partial(jax.jit, static_argnums=(1, 2))
def _traces(rows: jax.Array, samples: int, order: int) -> jax.Array:
    def of_one(row: jax.Array) -> jax.Array:
        powers = wishart_matrix_moments(jnp.diag(row), samples, order)
        return jnp.einsum("kii,i->k", powers, row)

    return jax.vmap(of_one)(rows)


def least(moments: np.ndarray, degree: int) -> float:
    """min ∫p² dν over p of a degree with p(0) = 1: one entry of an inverse."""
    places = np.arange(degree + 1)
    H = moments[places[:, None] + places]
    sizes = np.sqrt(np.diag(H))
    return float(H[0, 0] / np.linalg.inv(H / np.outer(sizes, sizes))[0, 0])
