"""Linear labels, a new diagonal covariance for every prompt."""

import abc
import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from iclab.core import (
    NonNegative,
    NonNegativeFloat,
    PositiveFloat,
    Size,
    checked,
    require,
)
from iclab.tasks._task import AbstractTask, Input, Inputs, Labels

# Standard deviations of the inputs, and the weights.
_Drawn = tuple[Input, Input]


class AbstractPositiveLaw(eqx.Module):
    """A distribution on the positive numbers that knows its first three moments."""

    @abc.abstractmethod
    def sample(self, key: PRNGKeyArray) -> Float[Array, ""]:
        """Draw one number."""

    @abc.abstractmethod
    def moments(self) -> tuple[float, float, float]:
        """E λ, E λ², E λ³, exactly."""


@checked
class Exponential(AbstractPositiveLaw):
    """Exponential law with the given `mean`."""

    mean: PositiveFloat = 1.0

    def sample(self, key: PRNGKeyArray) -> Float[Array, ""]:
        return self.mean * jax.random.exponential(key)

    def moments(self) -> tuple[float, float, float]:
        return self.mean, 2 * self.mean**2, 6 * self.mean**3


@checked
class Gamma(AbstractPositiveLaw):
    """Gamma law with `shape` k and `scale` θ: mean kθ, variance kθ²."""

    shape: PositiveFloat
    scale: PositiveFloat = 1.0

    def sample(self, key: PRNGKeyArray) -> Float[Array, ""]:
        return self.scale * jax.random.gamma(key, self.shape)

    def moments(self) -> tuple[float, float, float]:
        k, theta = self.shape, self.scale
        first = k * theta
        second = first * (k + 1) * theta
        return first, second, second * (k + 2) * theta


@checked
class Uniform(AbstractPositiveLaw):
    """Uniform law between `low` ≥ 0 and `high` > `low`."""

    low: NonNegativeFloat
    high: float

    def __check_init__(self):
        rule = f"> `low` = {self.low}"
        require(self.high > self.low, "high", rule, self.high)

    def sample(self, key: PRNGKeyArray) -> Float[Array, ""]:
        return jax.random.uniform(key, minval=self.low, maxval=self.high)

    def moments(self) -> tuple[float, float, float]:
        a, b = self.low, self.high
        return (a + b) / 2, (a * a + a * b + b * b) / 3, (a + b) * (a * a + b * b) / 4


@checked
class LogNormal(AbstractPositiveLaw):
    """Law of exp(z), z ~ N(`log_mean`, `log_std`²)."""

    log_mean: float = 0.0
    log_std: PositiveFloat = 1.0

    def sample(self, key: PRNGKeyArray) -> Float[Array, ""]:
        return jnp.exp(self.log_mean + self.log_std * jax.random.normal(key))

    def moments(self) -> tuple[float, float, float]:
        m, v = self.log_mean, self.log_std**2
        return math.exp(m + v / 2), math.exp(2 * m + 2 * v), math.exp(3 * m + 4.5 * v)


@checked
class Fixed(AbstractPositiveLaw):
    """Always the same `value`."""

    value: PositiveFloat

    def sample(self, key: PRNGKeyArray) -> Float[Array, ""]:
        return jnp.asarray(self.value, dtype=float)

    def moments(self) -> tuple[float, float, float]:
        return self.value, self.value**2, self.value**3


@checked
class RandomCovariance(AbstractTask):
    r"""y = ⟨w, x⟩ with x ~ N(0, c·diag(λ)), λᵢ drawn anew for every prompt.

    Entry i of λ follows `laws[i]`, independently of the others; c = `scale` multiplies
    the covariance (not the inputs); w ~ N(0, I); σ = `noise_std` on the examples.

    Source: zhang2023, Section 4.3 and Appendix E.
    """

    laws: tuple[AbstractPositiveLaw, ...]
    scale: float
    noise_std: NonNegative
    dimension: int

    def __init__(
        self,
        laws: tuple[AbstractPositiveLaw, ...],
        *,
        scale: PositiveFloat = 1.0,
        noise_std: NonNegative = 0.0,
    ):
        require(len(laws) >= 1, "laws", "one law per coordinate", "none")
        self.laws, self.dimension = laws, len(laws)
        self.scale, self.noise_std = scale, noise_std

    def moments(self) -> Float[Array, "3 d"]:
        """Exact E λᵢᵏ of the scaled entries, k = 1, 2, 3 down the rows."""
        plain = jnp.asarray([law.moments() for law in self.laws], dtype=float).T
        return plain * self.scale ** jnp.arange(1.0, 4.0)[:, None]

    def diagonal(self, key: PRNGKeyArray) -> Float[Array, " d"]:
        """Draw the diagonal of one covariance."""
        keys = jax.random.split(key, self.dimension)
        draws = [law.sample(one) for law, one in zip(self.laws, keys, strict=True)]
        return self.scale * jnp.stack(draws)

    def latent(self, key: PRNGKeyArray) -> _Drawn:
        """Standard deviations of the inputs, and the weights."""
        for_covariance, for_weight = jax.random.split(key)
        deviations = jnp.sqrt(self.diagonal(for_covariance))
        return deviations, jax.random.normal(for_weight, (self.dimension,))

    def inputs(self, latent: _Drawn, count: Size, key: PRNGKeyArray) -> Inputs:
        deviations, _ = latent
        return jax.random.normal(key, (count, self.dimension)) * deviations[None]

    def input_root(self, latent: _Drawn) -> Float[Array, "d d"]:
        return jnp.diag(latent[0])

    def labels(self, latent: _Drawn, inputs: Inputs) -> Labels:
        _, weight = latent
        return inputs @ weight

    def noise(self, latent: _Drawn, count: Size, key: PRNGKeyArray) -> Labels:
        return self.noise_std * jax.random.normal(key, (count,))
