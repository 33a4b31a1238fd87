"""Numbers that predictors keep: arrays, so that one compiled function serves all."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def number(value: float | Float[Array, ""]) -> Float[Array, ""]:
    """`value` as a floating-point array."""
    return jnp.asarray(value, float)
