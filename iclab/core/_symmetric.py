"""Algebra of symmetric positive definite matrices."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from iclab.core._checked import checked
from iclab.core._rules import Covariance, SecondMoment


@checked
def square_root(matrix: SecondMoment) -> Float[Array, "d d"]:
    """Symmetric square root of a positive semi-definite matrix."""
    eigenvalues, vectors = jnp.linalg.eigh(matrix)
    return (vectors * jnp.sqrt(jnp.clip(eigenvalues, 0))[None]) @ vectors.T


@checked
def inverse_square_root(matrix: Covariance) -> Float[Array, "d d"]:
    """Symmetric inverse square root of a positive definite matrix."""
    eigenvalues, vectors = jnp.linalg.eigh(matrix)
    return (vectors / jnp.sqrt(eigenvalues)[None]) @ vectors.T
