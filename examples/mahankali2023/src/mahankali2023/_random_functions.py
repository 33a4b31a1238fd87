"""Tasks of one's own: labels by random functions that no rotation can tell apart."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from iclab.tasks import AbstractTask


class RandomFunction(AbstractTask):
    """Labels sin⟨w, x⟩, or ⟨w, x⟩ + b(⟨v, x⟩² − ‖v‖²), of standard Gaussian inputs.

    w ~ N(0, `scale`² I) and v ~ N(0, I) are drawn for every prompt. With a `bend` b
    the function is the second.
    """

    dimension: int
    scale: float = 1.0
    bend: float | None = None
    noise_std: float = 0.0

    def latent(self, key: PRNGKeyArray) -> Any:
        """The two weights."""
        w, v = jax.random.normal(key, (2, self.dimension))
        return self.scale * w, v

    def inputs(
        self, latent: Any, count: int, key: PRNGKeyArray
    ) -> Float[Array, "count d"]:
        """Standard Gaussian inputs."""
        return jax.random.normal(key, (count, self.dimension))

    def labels(
        self, latent: Any, inputs: Float[Array, "count d"]
    ) -> Float[Array, " count"]:
        """The function's values."""
        w, v = latent
        if self.bend is None:
            return jnp.sin(inputs @ w)
        return inputs @ w + self.bend * ((inputs @ v) ** 2 - v @ v)

    def noise(
        self, latent: Any, count: int, key: PRNGKeyArray
    ) -> Float[Array, " count"]:
        """Gaussian noise."""
        return self.noise_std * jax.random.normal(key, (count,))
