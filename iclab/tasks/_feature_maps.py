"""Representations f: ℝᵈ → ℝᵐ that are functions, not tables."""

import abc
import itertools
import math
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from iclab.core import (
    PositiveFloat,
    Size,
    between,
    checked,
    require,
)

# Longer lists of monomials are taken for a mistake.
_MOST_MONOMIALS = 2**16


class AbstractFeatureMap(eqx.Module):
    """A function from tokens to features; unbatched."""

    @property
    @abc.abstractmethod
    def input_dim(self) -> int:
        """Dimension d of the tokens."""

    @property
    @abc.abstractmethod
    def feature_dim(self) -> int:
        """Dimension m of the features."""

    @abc.abstractmethod
    def __call__(self, token: Float[Array, " d"]) -> Float[Array, " m"]:
        """Features f(v) of one token."""


@checked
class PolynomialFeatures(AbstractFeatureMap):
    """All monomials of degree ≤ `degree`, the constant first: m = C(d + degree, d)."""

    degree: int
    _dimension: int
    _factors: Int[Array, "m degree"]

    def __init__(self, input_dim: Size, degree: Annotated[int, between(1, 64)]):
        self._dimension, self.degree = input_dim, degree
        count = self.feature_dim
        rule = f"so small that there are at most {_MOST_MONOMIALS:,} monomials"
        require(count <= _MOST_MONOMIALS, "degree", rule, f"{count:,}")
        # Coordinate d stands for the constant 1, so that short monomials fill up.
        words = [
            (*word, *[input_dim] * (degree - length))
            for length in range(degree + 1)
            for word in itertools.combinations_with_replacement(
                range(input_dim), length
            )
        ]
        self._factors = jnp.array(words)

    @property
    def input_dim(self) -> int:
        return self._dimension

    @property
    def feature_dim(self) -> int:
        return math.comb(self.input_dim + self.degree, self.degree)

    def __call__(self, token: Float[Array, " d"]) -> Float[Array, " m"]:
        rule, found = f"a vector of dimension {self.input_dim}", f"shape {token.shape}"
        require(len(token) == self.input_dim, "token", rule, found)
        return jnp.prod(jnp.append(token, 1.0)[self._factors], axis=1)


@checked
class FourierFeatures(AbstractFeatureMap):
    r"""$f_i(v)=\sqrt{2/m}\,\cos(\langle\omega_i,v\rangle+b_i)$.

    ωᵢ = `frequencies[i]`, bᵢ = `phases[i]`. With ωᵢ ~ N(0, I/ℓ²) and uniform phases, as
    `random` draws them, ⟨f(u), f(v)⟩ has mean exp(−‖u − v‖²/(2ℓ²)).
    """

    frequencies: Float[Array, "m d"]
    phases: Float[Array, " m"]

    @classmethod
    def random(
        cls,
        key: PRNGKeyArray,
        *,
        input_dim: Size,
        feature_dim: Size,
        length_scale: PositiveFloat = 1.0,
    ) -> "FourierFeatures":
        """Random features of the Gaussian kernel of width ℓ = `length_scale`."""
        d, m = input_dim, feature_dim
        first, second = jax.random.split(key)
        phases = jax.random.uniform(second, (m,), maxval=2 * math.pi)
        return cls(jax.random.normal(first, (m, d)) / length_scale, phases)

    @property
    def input_dim(self) -> int:
        return self.frequencies.shape[1]

    @property
    def feature_dim(self) -> int:
        return self.frequencies.shape[0]

    def __call__(self, token: Float[Array, " d"]) -> Float[Array, " m"]:
        angles = self.frequencies @ token + self.phases
        return math.sqrt(2 / self.feature_dim) * jnp.cos(angles)


@checked
class NetworkFeatures(AbstractFeatureMap):
    r"""A two-layer network, $f(v)=W_2\tanh(W_1v)$.

    W₁ = `hidden` (h×d), W₂ = `output` (m×h).
    """

    hidden: Float[Array, "h d"]
    output: Float[Array, "m h"]

    @classmethod
    def random(
        cls, key: PRNGKeyArray, *, input_dim: Size, hidden_dim: Size, feature_dim: Size
    ) -> "NetworkFeatures":
        """Gaussian weights; those of W₂ have variance 1/h."""
        d, h, m = input_dim, hidden_dim, feature_dim
        first, second = jax.random.split(key)
        output = jax.random.normal(second, (m, h)) / math.sqrt(h)
        return cls(jax.random.normal(first, (h, d)), output)

    @property
    def input_dim(self) -> int:
        return self.hidden.shape[1]

    @property
    def feature_dim(self) -> int:
        return self.output.shape[0]

    def __call__(self, token: Float[Array, " d"]) -> Float[Array, " m"]:
        return self.output @ jnp.tanh(self.hidden @ token)
