"""Linear labels, inputs from one Gaussian."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from iclab.core import (
    NonNegative,
    SecondMoment,
    Size,
    checked,
    refuse,
    square_root,
)
from iclab.tasks._task import AbstractTask, Input, Inputs, Labels


@checked
class LinearRegression(AbstractTask):
    r"""y = ⟨w, x⟩ + noise with x ~ N(0, Λ), w ~ N(0, Ω), noise ~ N(0, σ²).

    Λ = `covariance`, Ω = `weight_covariance` (default I), σ = `noise_std`. A fixed
    `weight` replaces the random one. The target ⟨w, x_q⟩ carries no noise.

    ```python
    task = LinearRegression(jnp.eye(3), noise_std=0.5)
    prompt = task.sample(key, examples=10)
    prompts = task.sample_batch(key, prompts=64, examples=10)
    ```

    Source: zhang2023, Section 3.3 (Ω = I, σ = 0); ahn2023 (Ω = Λ⁻¹).
    """

    covariance: Float[Array, "d d"]
    noise_std: NonNegative
    weight_mean: Float[Array, " d"]
    _input_root: Float[Array, "d d"]
    _weight_root: Float[Array, "d d"]
    dimension: int

    def __init__(
        self,
        covariance: SecondMoment,
        *,
        weight_covariance: SecondMoment | None = None,
        weight: Float[Array, " d"] | None = None,
        noise_std: NonNegative = 0.0,
    ):
        self.covariance, self.noise_std = covariance, noise_std
        d = self.dimension = len(covariance)
        self._input_root = square_root(covariance)
        if weight is not None and weight_covariance is not None:
            refuse("give `weight` (fixed) or `weight_covariance` (random), not both")
        self.weight_mean, self._weight_root = jnp.zeros(d), jnp.eye(d)
        if weight is not None:
            self.weight_mean = jnp.asarray(weight, dtype=float)
            self._weight_root = jnp.zeros((d, d))
        if weight_covariance is not None:
            self._weight_root = square_root(weight_covariance)

    @property
    def weight_covariance(self) -> Float[Array, "d d"]:
        """Covariance Ω of the weights; 0 for a fixed weight."""
        return self._weight_root @ self._weight_root.T

    def latent(self, key: PRNGKeyArray) -> Input:
        noise = jax.random.normal(key, (self.dimension,))
        return self.weight_mean + self._weight_root @ noise

    def inputs(self, latent: Input, count: Size, key: PRNGKeyArray) -> Inputs:
        return jax.random.normal(key, (count, self.dimension)) @ self._input_root

    def input_root(self, latent: Input) -> Float[Array, "d d"]:
        return self._input_root

    def labels(self, latent: Input, inputs: Inputs) -> Labels:
        return inputs @ latent

    def noise(self, latent: Input, count: Size, key: PRNGKeyArray) -> Labels:
        return self.noise_std * jax.random.normal(key, (count,))
