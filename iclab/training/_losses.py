"""What an error costs: losses of a prediction and its target."""

from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Float

from iclab.core import PositiveFloat, checked

Loss = Callable[[Float[Array, "*n"], Float[Array, "*n"]], Float[Array, "*n"]]


@checked
def squared(
    prediction: Float[Array, "*n"], target: Float[Array, "*n"]
) -> Float[Array, "*n"]:
    """(ŷ − y)²."""
    return (prediction - target) ** 2


@checked
@dataclass(frozen=True)
class HuberLoss:
    """½(ŷ − y)² where that is at most δ²/2 with δ = `threshold`, and beyond it the
    tangent δ|ŷ − y| − δ²/2: large errors pull with a bounded force.
    """

    threshold: PositiveFloat = 1.0

    def __call__(
        self, prediction: Float[Array, "*n"], target: Float[Array, "*n"]
    ) -> Float[Array, "*n"]:
        error = jnp.abs(prediction - target)
        small = jnp.minimum(error, self.threshold)
        return small * (error - small / 2)
