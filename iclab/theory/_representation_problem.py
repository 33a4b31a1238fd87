"""The letters of a table of features, which the formulas about it share."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from iclab.core import NonNegative, require


class Problem(NamedTuple):
    """The paper's letters: Z (m×N), Ẑ (m×K), m, N, K and τ."""

    Z: Float[Array, "m N"]
    Z_hat: Float[Array, "m K"]
    m: int
    N: int
    K: int
    tau: NonNegative

    @property
    def gram(self) -> Float[Array, "N N"]:
        """ZᵀZ + mτI = Z̄², which is E yyᵀ of the shown labels."""
        return self.Z.T @ self.Z + self.m * self.tau * jnp.eye(self.N)


def problem(
    features: Float[Array, "K m"],
    context_length: int,
    noise_variance: NonNegative,
    *,
    length: str = "context_length",
) -> Problem:
    """The letters; `length` names the argument that N was taken from."""
    (K, m), N = features.shape, context_length
    rule = f"at most the dictionary's size {K}"
    if length != "context_length":
        rule = f"of a length that is {rule}"
    require(N <= K, length, rule, N)
    Z_hat = features.T
    return Problem(Z_hat[:, :N], Z_hat, m, N, K, noise_variance)
