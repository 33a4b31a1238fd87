"""Numbers that predictors keep: arrays, so that one compiled function serves all."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from iclab.core import NonNegative, Positive


def positive(value: Positive) -> Float[Array, ""]:
    """`value` > 0 as a floating-point array."""
    return jnp.asarray(value, float)


def non_negative(value: NonNegative) -> Float[Array, ""]:
    """`value` ≥ 0 as a floating-point array."""
    return jnp.asarray(value, float)
