"""Laws of the covariance that the inputs of one prompt have."""

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from iclab.core import Covariance, Natural, Size, checked, read, refuse, require
from iclab.tasks._random_covariance import AbstractPositiveLaw
from iclab.tasks._vector_laws import as_shares

# Draws of a law that are looked at before it is believed to be one of covariances.
_CHECK_DRAWS = 64


class AbstractCovarianceLaw(eqx.Module):
    """A distribution on positive definite matrices."""

    dimension: eqx.AbstractVar[int]

    @abc.abstractmethod
    def sample(self, key: PRNGKeyArray) -> Float[Array, "d d"]:
        """Draw one covariance."""

    @abc.abstractmethod
    def mean(self) -> Float[Array, "d d"] | None:
        """E Λ exactly, or None where it is not known."""

    def draws(self, key: PRNGKeyArray, count: Size) -> Float[Array, "count d d"]:
        """Draw `count` covariances: what formulas for random covariances average."""
        return jax.vmap(self.sample)(jax.random.split(key, count))


@checked
class DiagonalCovariance(AbstractCovarianceLaw):
    """diag(λ) with independent λᵢ of `laws[i]`.

    Source: zhang2023, Section 4.3.
    """

    laws: tuple[AbstractPositiveLaw, ...]
    dimension: int

    def __init__(self, laws: tuple[AbstractPositiveLaw, ...]):
        require(len(laws) >= 1, "laws", "one law per coordinate", "none")
        self.laws, self.dimension = laws, len(laws)

    def sample(self, key: PRNGKeyArray) -> Float[Array, "d d"]:
        return jnp.diag(_spectrum(self.laws, key))

    def mean(self) -> Float[Array, "d d"]:
        return jnp.diag(jnp.array([law.moments()[0] for law in self.laws]))


@checked
class RotatedCovariance(AbstractCovarianceLaw):
    """Q diag(λ)Qᵀ with independent λᵢ of `laws[i]` and a uniform rotation Q."""

    laws: tuple[AbstractPositiveLaw, ...]
    dimension: int

    def __init__(self, laws: tuple[AbstractPositiveLaw, ...]):
        require(len(laws) >= 1, "laws", "one law per eigenvalue", "none")
        self.laws, self.dimension = laws, len(laws)

    def sample(self, key: PRNGKeyArray) -> Float[Array, "d d"]:
        for_spectrum, for_rotation = jax.random.split(key)
        spectrum = _spectrum(self.laws, for_spectrum)
        Q = jax.random.orthogonal(for_rotation, self.dimension)
        return (Q * spectrum[None]) @ Q.T

    def mean(self) -> Float[Array, "d d"]:
        first = sum(law.moments()[0] for law in self.laws)
        return first / self.dimension * jnp.eye(self.dimension)


@checked
class WishartCovariance(AbstractCovarianceLaw):
    """(1/ν)Σzzᵀ over ν = `degrees` vectors z ~ N(0, Λ̄) with Λ̄ = `center`; ν ≥ d."""

    center: Float[Array, "d d"]
    degrees: int
    dimension: int
    _root: Float[Array, "d d"]

    def __init__(self, center: Covariance, degrees: Natural):
        self.center, self.degrees, self.dimension = center, degrees, len(center)
        rule = f"at least the dimension {self.dimension} (covariances are definite)"
        require(degrees >= self.dimension, "degrees", rule, degrees)
        self._root = jnp.linalg.cholesky(center)

    def sample(self, key: PRNGKeyArray) -> Float[Array, "d d"]:
        z = jax.random.normal(key, (int(self.degrees), self.dimension)) @ self._root.T
        return z.T @ z / self.degrees

    def mean(self) -> Float[Array, "d d"]:
        return self.center


@checked
class MixtureOfCovariances(AbstractCovarianceLaw):
    """One of finitely many `covariances`, with chances `shares` (default equal)."""

    covariances: Float[Array, "m d d"]
    shares: Float[Array, " m"]
    dimension: int

    def __init__(
        self,
        covariances: Float[Array, "m d d"],
        shares: Float[Array, " m"] | None = None,
    ):
        for index, one in enumerate(covariances):
            read(one, Covariance, f"covariances[{index}]")
        self.covariances, self.dimension = covariances, covariances.shape[-1]
        self.shares = as_shares(shares, len(covariances))

    def sample(self, key: PRNGKeyArray) -> Float[Array, "d d"]:
        return self.covariances[jax.random.choice(key, len(self.shares), p=self.shares)]

    def mean(self) -> Float[Array, "d d"]:
        return jnp.einsum("m,mij->ij", self.shares, self.covariances)


@checked
class DrawnCovariance(AbstractCovarianceLaw):
    """Any law, with entries as dependent as you like: `draw(key)` gives a covariance.

    64 draws are looked at, and a matrix among them that is not symmetric and positive
    definite is refused.

    ```python
    def one_scale(key):            # diagonal entries that are always equal
        return jax.random.exponential(key) * jnp.eye(3)

    DrawnCovariance(one_scale)
    ```
    """

    draw: Callable[[PRNGKeyArray], Float[Array, "d d"]]
    dimension: int

    def __init__(self, draw: Callable[[PRNGKeyArray], Float[Array, "d d"]]):
        keys = jax.random.split(jax.random.key(0), _CHECK_DRAWS)
        try:
            found = np.asarray(jax.vmap(draw)(keys))
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
            refuse(f"`draw` must be a function of a key that JAX can map, got {told}")
        square = found.ndim == 3 and found.shape[1] == found.shape[2]
        rule = "a function of a key → a d×d matrix"
        require(square, "draw", rule, f"shape {found.shape[1:]}")
        for one in found:
            read(jnp.asarray(one), Covariance, "draw(key)")
        self.draw, self.dimension = draw, found.shape[1]

    def sample(self, key: PRNGKeyArray) -> Float[Array, "d d"]:
        return self.draw(key)

    def mean(self) -> None:
        return None


def _spectrum(
    laws: tuple[AbstractPositiveLaw, ...], key: PRNGKeyArray
) -> Float[Array, " d"]:
    keys = jax.random.split(key, len(laws))
    return jnp.stack([law.sample(one) for law, one in zip(laws, keys, strict=True)])
