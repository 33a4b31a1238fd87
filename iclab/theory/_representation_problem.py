"""What the formulas about representations are given, checked once."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from iclab.core import (
    finite_array,
    finite_number,
    is_traced,
    positive_integer,
    require,
)

Number = float | int | Float[Array, ""]


class Problem(NamedTuple):
    """The paper's letters: Z (m×N), Ẑ (m×K), m, N, K and τ."""

    Z: Float[Array, "m N"]
    Z_hat: Float[Array, "m K"]
    m: int
    N: int
    K: int
    tau: Number

    @property
    def gram(self) -> Float[Array, "N N"]:
        """ZᵀZ + mτI = Z̄², which is E yyᵀ of the shown labels."""
        return self.Z.T @ self.Z + self.m * self.tau * jnp.eye(self.N)


def problem(
    features: Float[Array, "K m"],
    context_length: int,
    noise_variance: Number,
    *,
    noisy: bool = False,
    length: str = "context_length",
) -> Problem:
    """The letters of a table of features; `noisy` refuses τ = 0.

    `length` names the argument that N was taken from.
    """
    rule, found = "a matrix, one row per token", f"shape {features.shape}"
    require(features.ndim == 2 and features.size > 0, "features", rule, found)
    finite_array(features, "features")
    N = positive_integer(context_length, "context_length")
    K, m = features.shape
    rule = f"at most the dictionary's size {K}"
    if length != "context_length":
        rule = f"of a length that is {rule}"
    require(N <= K, length, rule, N)
    finite_number(noise_variance, "noise_variance", at_least=0)
    if noisy and not is_traced(noise_variance):
        tau = float(noise_variance)
        require(tau > 0, "noise_variance", "> 0", tau)
    Z_hat = features.T
    return Problem(Z_hat[:, :N], Z_hat, m, N, K, noise_variance)


def check_heads(
    key_query: Float[Array, "H d d"],
    tokens: Float[Array, "K d"],
    value: Float[Array, "H K"] | None = None,
) -> None:
    """Refuse shapes of Q, V and w that do not belong together."""
    Q = key_query
    rule, found = "a K×d matrix, one row per token", f"shape {tokens.shape}"
    require(tokens.ndim == 2, "tokens", rule, found)
    K, d = tokens.shape
    rule = f"a stack of {d}×{d} matrices, as tokens have dimension {d}"
    holds = Q.ndim == 3 and Q.shape[1:] == (d, d)
    require(holds, "key_query", rule, f"shape {Q.shape}")
    if value is not None:
        rule = f"of shape {(len(Q), K)}, heads by tokens"
        holds = value.shape == (len(Q), K)
        require(holds, "value", rule, f"shape {value.shape}")


def same_tokens(tokens: Float[Array, "K d"], K: int) -> None:
    """Refuse a dictionary of another size than the table of features."""
    rule = f"a matrix of {K} rows, one per row of `features`"
    require(len(tokens) == K, "tokens", rule, f"shape {tokens.shape}")
