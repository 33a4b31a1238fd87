"""Laws of white vectors: what inputs, noise, queries and weights are made of."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from iclab.core import PositiveFloat, Size, checked, require

# How far from 1 the sum of shares may be.
_ROUND_OFF = 1e-9


class AbstractVectorLaw(eqx.Module):
    """Law of vectors of any dimension, with mean 0 and second moment I unless said."""

    @abc.abstractmethod
    def sample(
        self, key: PRNGKeyArray, count: Size, dimension: Size
    ) -> Float[Array, "count dimension"]:
        """Draw `count` independent vectors."""

    def second_moment(self, dimension: Size) -> Float[Array, "d d"] | None:
        """E zzᵀ, or None where it is infinite."""
        return jnp.eye(dimension)


@checked
class GaussianVectors(AbstractVectorLaw):
    """N(0, I)."""

    def sample(
        self, key: PRNGKeyArray, count: Size, dimension: Size
    ) -> Float[Array, "count dimension"]:
        return jax.random.normal(key, (count, dimension))


@checked
class SphereVectors(AbstractVectorLaw):
    """Uniform on the sphere of radius √d. In one dimension: ±1."""

    def sample(
        self, key: PRNGKeyArray, count: Size, dimension: Size
    ) -> Float[Array, "count dimension"]:
        z = jax.random.normal(key, (count, dimension))
        return z * jnp.sqrt(dimension) / jnp.linalg.norm(z, axis=1, keepdims=True)


@checked
class SignVectors(AbstractVectorLaw):
    """Independent entries ±1 with equal chances."""

    def sample(
        self, key: PRNGKeyArray, count: Size, dimension: Size
    ) -> Float[Array, "count dimension"]:
        return jax.random.rademacher(key, (count, dimension), dtype=float)


@checked
class UniformVectors(AbstractVectorLaw):
    """Independent entries, uniform between −√3 and √3."""

    def sample(
        self, key: PRNGKeyArray, count: Size, dimension: Size
    ) -> Float[Array, "count dimension"]:
        return np.sqrt(3) * jax.random.uniform(key, (count, dimension), minval=-1)


@checked
class StudentVectors(AbstractVectorLaw):
    """Independent entries of Student's t with ν = `degrees`, of variance 1 if ν > 2.

    With ν ≤ 2 the variance is infinite: entries are t itself, and no risk exists.
    """

    degrees: PositiveFloat

    def sample(
        self, key: PRNGKeyArray, count: Size, dimension: Size
    ) -> Float[Array, "count dimension"]:
        # Bailey's polar form: t = √(ν(U^{−2/ν} − 1)) cos 2πV, U and V uniform.
        nu, shape = self.degrees, (count, dimension)
        for_size, for_angle = jax.random.split(key)
        U = 1 - jax.random.uniform(for_size, shape)  # never 0
        V = jax.random.uniform(for_angle, shape)
        square = (nu - 2 if nu > 2 else nu) * jnp.expm1(-2 / nu * jnp.log(U))
        return jnp.sqrt(square) * jnp.cos(2 * jnp.pi * V)

    def second_moment(self, dimension: Size) -> Float[Array, "d d"] | None:
        return jnp.eye(dimension) if self.degrees > 2 else None


@checked
class SparseVectors(AbstractVectorLaw):
    """Independent entries: N(0, 1/p) with chance p = `share`, and 0 otherwise."""

    share: float

    def __check_init__(self):
        require(0 < self.share <= 1, "share", "above 0 and at most 1", self.share)

    def sample(
        self, key: PRNGKeyArray, count: Size, dimension: Size
    ) -> Float[Array, "count dimension"]:
        for_places, for_values = jax.random.split(key)
        shape = (count, dimension)
        there = jax.random.bernoulli(for_places, self.share, shape)
        return there * jax.random.normal(for_values, shape) / np.sqrt(self.share)


@checked
class DiscreteVectors(AbstractVectorLaw):
    """One of the rows of `points`, with chances `shares` (default equal ones).

    Mean and second moment are those of the points: 0 and I only if they have them.
    """

    points: Float[Array, "m d"]
    shares: Float[Array, " m"]

    def __init__(
        self, points: Float[Array, "m d"], shares: Float[Array, " m"] | None = None
    ):
        self.points, self.shares = points, as_shares(shares, len(points))

    def sample(
        self, key: PRNGKeyArray, count: Size, dimension: Size
    ) -> Float[Array, "count dimension"]:
        d = self.points.shape[1]
        require(d == dimension, "points", f"of dimension {dimension}", d)
        at = jax.random.choice(key, len(self.points), (count,), p=self.shares)
        return self.points[at]

    def second_moment(self, dimension: Size) -> Float[Array, "d d"]:
        return self.points.T @ (self.shares[:, None] * self.points)


def as_shares(shares: Float[Array, " m"] | None, count: int) -> Float[Array, " m"]:
    """Chances that are positive and sum to 1; equal ones for None."""
    if shares is None:
        return jnp.full(count, 1 / count)
    found = np.asarray(shares)
    rule = f"{count} positive numbers that sum to 1"
    good = len(found) == count and np.all(found > 0)
    good = good and abs(found.sum() - 1) <= _ROUND_OFF
    require(bool(good), "shares", rule, found.tolist())
    return jnp.asarray(shares, float)
