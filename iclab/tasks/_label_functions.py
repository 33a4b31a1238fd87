"""Label functions, with the moments that the risk of a linear learner depends on."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from iclab.core import (
    NonNegative,
    SecondMoment,
    Size,
    checked,
    require,
    square_root,
)

# Nodes of the Gauss–Hermite rule: exact for polynomials up to degree 255.
_HERMITE_NODES = 128


@checked
class LabelMoments(eqx.Module):
    r"""What a linear learner's risk depends on, for labels y and x ~ N(0, Λ).

    `cross` = E[xy], `square` = E[y²], `covariance` = Cov(xy). `error` bounds the
    standard errors of their entries: zero for closed forms and quadrature.
    """

    cross: Float[Array, " d"]
    square: Float[Array, ""]
    covariance: Float[Array, "d d"]
    error: Float[Array, ""]

    @classmethod
    def from_raw(
        cls,
        cross: Float[Array, " d"],
        square: Float[Array, ""],
        weighted: Float[Array, "d d"],
        error: float | Float[Array, ""] = 0.0,
    ) -> "LabelMoments":
        """From E[xy], E[y²] and `weighted` = E[y²xxᵀ]."""
        return cls(
            cross, square, weighted - jnp.outer(cross, cross), jnp.asarray(error, float)
        )

    def with_noise(
        self, variance: NonNegative, input_covariance: SecondMoment
    ) -> "LabelMoments":
        """Add independent label noise of the given variance."""
        return LabelMoments(
            self.cross,
            self.square + variance,
            self.covariance + variance * input_covariance,
            self.error,
        )


@checked
class AbstractLabelFunction(eqx.Module):
    """A function of one input."""

    dimension: eqx.AbstractVar[int]

    @abc.abstractmethod
    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        """Noiseless label of `x`."""

    @abc.abstractmethod
    def moments(self, covariance: SecondMoment) -> LabelMoments | None:
        """Exact moments for x ~ N(0, `covariance`), or None where no way is known."""


@checked
class Quadratic(AbstractLabelFunction):
    r"""$f(x)=x^\top Ax+b^\top x$ with A = `matrix`, b = `direction` (default 0)."""

    matrix: Float[Array, "d d"]
    direction: Float[Array, " d"]
    dimension: int

    def __init__(
        self, matrix: Float[Array, "d d"], direction: Float[Array, " d"] | None = None
    ):
        A = matrix
        d = self.dimension = len(A)
        self.matrix = (A + A.T) / 2
        b = jnp.zeros(d) if direction is None else direction
        self.direction = jnp.asarray(b, float)

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        return x @ self.matrix @ x + self.direction @ x

    def moments(self, covariance: SecondMoment) -> LabelMoments:
        L, A, b = covariance, self.matrix, self.direction
        LAL, trace = L @ A @ L, jnp.trace(A @ L)
        power = trace**2 + 2 * jnp.trace(LAL @ A)
        Lb = L @ b
        # E[(xᵀAx)²xxᵀ] and E[(bᵀx)²xxᵀ]; the mixed term is odd.
        quadratic = power * L + 4 * trace * LAL + 8 * LAL @ A @ L
        linear = (b @ Lb) * L + 2 * jnp.outer(Lb, Lb)
        return LabelMoments.from_raw(Lb, power + b @ Lb, quadratic + linear)


@checked
class AbstractRidgeFunction(AbstractLabelFunction):
    """A function g(⟨b, x⟩) of one direction b; moments are integrals over a line."""

    direction: eqx.AbstractVar[Float[Array, " d"]]

    @abc.abstractmethod
    def profile(self, z: Float[Array, " m"]) -> Float[Array, " m"]:
        """g, entry by entry."""

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        return self.profile((self.direction @ x)[None])[0]

    def moments(self, covariance: SecondMoment) -> LabelMoments:
        """By Gauss–Hermite quadrature along b; across b everything is Gaussian."""
        L, b = covariance, self.direction
        Lb = L @ b
        variance = b @ Lb
        # Where the variance is 0, so are Lb and every node: a division by 1 keeps them.
        divisor = jnp.where(variance > 0, variance, 1.0)
        nodes, weights = np.polynomial.hermite_e.hermegauss(_HERMITE_NODES)
        weights = jnp.asarray(weights / weights.sum())
        z = jnp.sqrt(variance) * jnp.asarray(nodes)
        g = self.profile(z)
        square = weights @ g**2
        along = weights @ (z**2 * g**2) / divisor
        cross = Lb * (weights @ (z * g)) / divisor
        outer = jnp.outer(Lb, Lb) / divisor
        return LabelMoments.from_raw(
            cross, square, square * L + (along - square) * outer
        )


@checked
class Cubic(AbstractRidgeFunction):
    r"""$f(x)=\langle b,x\rangle^3+\gamma\langle b,x\rangle$ with b = `direction`,
    γ = `slope`.
    """

    direction: Float[Array, " d"]
    slope: float
    dimension: int

    def __init__(self, direction: Float[Array, " d"], slope: float = 0.0):
        self.direction, self.slope = jnp.asarray(direction, float), slope
        self.dimension = len(direction)

    def profile(self, z: Float[Array, " m"]) -> Float[Array, " m"]:
        return z**3 + self.slope * z


@checked
class Sine(AbstractRidgeFunction):
    r"""$f(x)=\sin(\langle b,x\rangle)$ with b = `direction`."""

    direction: Float[Array, " d"]
    dimension: int

    def __init__(self, direction: Float[Array, " d"]):
        self.direction, self.dimension = jnp.asarray(direction, float), len(direction)

    def profile(self, z: Float[Array, " m"]) -> Float[Array, " m"]:
        return jnp.sin(z)


@checked
class ReLUNetwork(AbstractLabelFunction):
    r"""Two-layer network $f(x)=\sum_kv_k\max(0,\langle u_k,x\rangle)$.

    u_k = rows of `hidden` (H×d), v = `output` (H). No closed form is used for its
    fourth-order moments: they are sampled, with an error bar.
    """

    hidden: Float[Array, "h d"]
    output: Float[Array, " h"]
    dimension: int

    def __init__(self, hidden: Float[Array, "h d"], output: Float[Array, " h"]):
        self.hidden, self.output = hidden, output
        self.dimension = hidden.shape[1]

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        return self.output @ jnp.maximum(self.hidden @ x, 0)

    def moments(self, covariance: SecondMoment) -> None:
        return None


@checked
def sampled_moments(
    function: AbstractLabelFunction,
    covariance: SecondMoment,
    *,
    key: PRNGKeyArray,
    draws: Size = 1_000_000,
) -> LabelMoments:
    """Moments of any label function by Monte Carlo, x and −x together.

    `error` is the largest standard error among the entries.
    """
    d = function.dimension
    rule, found = f"a {d}×{d} matrix like `function`", f"shape {covariance.shape}"
    require(len(covariance) == d, "covariance", rule, found)
    root = square_root(covariance)
    pairs = -(-draws // 2)
    half = jax.random.normal(key, (pairs, len(covariance))) @ root

    def pair(x: Float[Array, " d"]):
        plus, minus = function(x), function(-x)
        power = (plus**2 + minus**2) / 2
        return x * (plus - minus) / 2, power, power * jnp.outer(x, x)

    values = jax.vmap(pair)(half)
    means = [jnp.mean(value, axis=0) for value in values]
    errors = [jnp.max(jnp.std(value, axis=0)) / jnp.sqrt(pairs) for value in values]
    return LabelMoments.from_raw(*means, error=jnp.max(jnp.stack(errors)))
