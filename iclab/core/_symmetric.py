"""Algebra of symmetric positive definite matrices, which refuses what is not one."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from iclab.core._errors import is_traced, require, square_matrix

# Asymmetry above this, relative to the largest entry, is a mistake, not round-off.
_ASYMMETRY = 1e-8


def symmetric_matrix(
    value: object, owner: str, name: str, *, dimension: int | None = None
) -> Float[Array, "d d"]:
    """`value` as a finite symmetric d×d array; traced, only its shape is checked."""
    matrix = square_matrix(value, owner, name, dimension=dimension)
    if not is_traced(matrix):
        known = np.asarray(matrix)
        gap = float(np.max(np.abs(known - known.T)))
        size = float(np.max(np.abs(known)))
        found = f"entries that differ from their mirror image by {gap:.3g}"
        require(gap <= _ASYMMETRY * size, owner, name, "symmetric", found)
    return matrix


def covariance_matrix(
    value: object,
    owner: str,
    name: str = "covariance",
    *,
    dimension: int | None = None,
    singular: bool = False,
) -> Float[Array, "d d"]:
    """`value` as a symmetric positive definite matrix, or a `ValueError`.

    `singular=True` admits positive semi-definite matrices: fine for sampling, not for
    an inverse.
    """
    matrix = symmetric_matrix(value, owner, name, dimension=dimension)
    if not is_traced(matrix):
        eigenvalues = np.linalg.eigvalsh(np.asarray(matrix))
        floor = matrix.shape[0] * np.finfo(matrix.dtype).eps * eigenvalues[-1]
        smallest = float(eigenvalues[0])
        holds = smallest >= -floor if singular else smallest > floor
        rule = "positive semi-definite" if singular else "positive definite"
        found = f"smallest eigenvalue {smallest:.3g}"
        require(bool(holds), owner, name, rule, found)
    return matrix


def square_root(matrix: Float[Array, "d d"]) -> Float[Array, "d d"]:
    """Symmetric square root of a positive semi-definite matrix."""
    matrix = covariance_matrix(matrix, "square_root", "matrix", singular=True)
    eigenvalues, vectors = jnp.linalg.eigh(matrix)
    return (vectors * jnp.sqrt(jnp.clip(eigenvalues, 0))[None]) @ vectors.T


def inverse_square_root(matrix: Float[Array, "d d"]) -> Float[Array, "d d"]:
    """Symmetric inverse square root of a positive definite matrix."""
    matrix = covariance_matrix(matrix, "inverse_square_root", "matrix")
    eigenvalues, vectors = jnp.linalg.eigh(matrix)
    return (vectors / jnp.sqrt(eigenvalues)[None]) @ vectors.T
