"""The exact loss over all matrices A₀, A₁, A₂ of three layers, and its low points.

One function is compiled for each dimension and number of examples, and every claim
about layers without B goes through it; a network of fewer layers has zeros at the end.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from iclab.evidence import Scale
from iclab.theory import linear_transformer_loss

LAYERS = 3
# Standard deviations along the axes of the inputs in Sections 5.3 and 6.1.
AXES = (1.0, 1.0, 0.5, 0.25, 1.0)

# A term of the loss is a product of up to 6 loops of up to 6 matrices of size d.
_PRODUCTS = (2 * LAYERS) ** 2
_BFGS_STEPS = 500
# Slopes below this: a minimum is near and full Newton steps are safe.
_NEAR = 1e-5
_DIFFERENCE = 1e-6
# Differences at these places, exact for the degree 2·3 that the loss has along a line.
_PLACES = np.array([-3, -2, -1, 1, 2, 3])
_WEIGHTS = np.array([-1, 9, -45, 45, -9, 1]) / 60


@dataclass(frozen=True, eq=False)
class Setting:
    """Inputs from N(0, Σ), weights from N(0, Σ⁻¹), prompts of n examples."""

    covariance: np.ndarray
    samples: int

    @property
    def dimension(self) -> int:
        """Dimension d of the inputs."""
        return len(self.covariance)

    @functools.cached_property
    def inverse(self) -> np.ndarray:
        """Σ⁻¹."""
        return symmetric(np.linalg.inv(self.covariance))

    @functools.cached_property
    def root(self) -> np.ndarray:
        """Σ^½."""
        eigenvalues, basis = np.linalg.eigh(self.covariance)
        return symmetric((basis * np.sqrt(eigenvalues)) @ basis.T)

    def multiples(self, a: np.ndarray) -> np.ndarray:
        """A_i = a_i Σ⁻¹ for up to three layers, zeros after them."""
        a = np.append(a, np.zeros(LAYERS - len(a)))
        return a[:, None, None] * self.inverse

    def whitened(self, A: np.ndarray) -> np.ndarray:
        """Σ^½ A_i Σ^½, a multiple of the identity where A_i is one of Σ⁻¹."""
        return self.root @ A @ self.root


@dataclass(frozen=True)
class Multiples:
    """A point a of S: A_i = a_i Σ⁻¹."""

    setting: Setting
    a: tuple[float, ...]


class Minimum(NamedTuple):
    """Where a descent ended, and how far from a true minimum it may have stopped.

    `slope` is the norm of the gradient that is left and `curvature` the smallest one.
    """

    A: np.ndarray
    loss: float
    slope: float
    curvature: float


@functools.cache
def settings(scale: Scale) -> Mapping[str, Setting]:
    """The spectrum of Section 5.3 and an uneven one, in random bases."""
    found = {
        "d=5, n=20, the paper's spectrum": setting(np.square(AXES), 20),
        "d=5, n=20, geometric spectrum": setting(2.0 * 0.6 ** np.arange(5), 20),
    }
    if scale != "smoke":
        found["d=3, n=8, one tiny"] = setting(np.array([1.5, 0.8, 0.02]), 8)
    if scale == "paper":
        found["d=5, n=10, the paper's spectrum"] = setting(np.square(AXES), 10)
        found["d=4, n=2, geometric spectrum"] = setting(0.5 ** np.arange(4), 2)
    return MappingProxyType(found)


@functools.cache
def isotropic(dimension: int, samples: int) -> Setting:
    """Σ = I."""
    return Setting(np.eye(dimension), samples)


def setting(eigenvalues: np.ndarray, samples: int) -> Setting:
    """A covariance with these eigenvalues in a basis that they fix."""
    d = len(eigenvalues)
    random = np.random.default_rng([samples, *(1000 * eigenvalues).astype(int)])
    basis, _ = np.linalg.qr(random.standard_normal((d, d)))
    return Setting(symmetric((basis * eigenvalues) @ basis.T), samples)


def loss_and_gradient(A: np.ndarray, setting: Setting) -> tuple[float, np.ndarray]:
    """Exact loss f(A) and all its derivatives, A_i arbitrary, by sums over pairings."""
    found = _loss_and_gradient(
        A, setting.covariance, setting.inverse, samples=setting.samples
    )
    return float(found[0]), np.asarray(found[1])


def round_off(A: np.ndarray, setting: Setting) -> tuple[float, float]:
    """Float64 errors of the loss and of an entry of its gradient at `A` near S.

    At −A, with a_i < 0, all terms of both have one sign: what they are there bounds
    what cancels at A.
    """
    loss, gradient = loss_and_gradient(-A, setting)
    unit = _PRODUCTS * setting.dimension * np.finfo(float).eps
    return unit * loss, unit * float(np.max(np.abs(gradient)))


@functools.cache
def trained(setting: Setting, layers: int, starts: int) -> Minimum:
    """The lowest of the points where descents from Gaussian matrices end."""
    return lowest(setting, layers, starts, np.ones((setting.dimension,) * 2))


def lowest(setting: Setting, layers: int, starts: int, free: np.ndarray) -> Minimum:
    """Least loss from random starts over the entries of each A_i that `free` marks.

    BFGS on Σ^½A_iΣ^½, not symmetric at first, whose best end is polished by Newton's
    method with differences of the gradient.
    """
    d = setting.dimension
    index = np.flatnonzero(np.broadcast_to(free, (layers, d, d)))
    whitener = np.linalg.inv(setting.root)

    def matrices(point):
        B = np.zeros(LAYERS * d * d)
        B[index] = point
        return whitener @ B.reshape(LAYERS, d, d) @ whitener

    def evaluate(point):
        loss, gradient = loss_and_gradient(matrices(point), setting)
        return loss, (whitener @ gradient @ whitener).ravel()[index]

    random = np.random.default_rng([d, setting.samples, layers, len(index)])
    spread = random.standard_normal((starts, len(index))) / np.sqrt(len(free))
    ends = [bfgs(evaluate, start) for start in spread]
    point = min(ends, key=lambda end: evaluate(end)[0])
    loss, gradient = evaluate(point)
    units = np.eye(len(index)) * _DIFFERENCE
    hessian = np.array([evaluate(point + unit)[1] - gradient for unit in units])
    hessian = symmetric(hessian / _DIFFERENCE)
    for _ in range(3):
        point = point - np.linalg.solve(hessian, gradient)
        loss, gradient = evaluate(point)
    curvature = float(np.linalg.eigvalsh(hessian)[0])
    return Minimum(matrices(point), loss, float(np.linalg.norm(gradient)), curvature)


def slope(function: Callable[[float], float], width: float) -> float:
    """Derivative at 0 of a polynomial of degree 6 or less, from values near `width`."""
    values = [function(place * width) for place in _PLACES]
    return float(_WEIGHTS @ values) / width


def slope_round_off(of_value: float, width: float) -> float:
    """Error of `slope` when values are off by `of_value`."""
    return float(np.sum(np.abs(_WEIGHTS))) * of_value / width


def symmetric(matrix: np.ndarray) -> np.ndarray:
    """The symmetric part."""
    return (matrix + np.swapaxes(matrix, -1, -2)) / 2


def bfgs(evaluate, point: np.ndarray) -> np.ndarray:
    """Descend with a dense inverse Hessian and backtracking until nearly at rest."""
    loss, gradient = evaluate(point)
    identity = np.eye(len(point))
    inverse = identity / np.linalg.norm(gradient)
    for _ in range(_BFGS_STEPS):
        if np.linalg.norm(gradient) < _NEAR:
            break
        step = -inverse @ gradient
        trial, trial_gradient = evaluate(point + step)
        while not trial <= loss + 1e-4 * step @ gradient:
            step = step / 2
            trial, trial_gradient = evaluate(point + step)
        change = trial_gradient - gradient
        along = step @ change
        if along > 0:
            project = identity - np.outer(step, change) / along
            inverse = project @ inverse @ project.T + np.outer(step, step) / along
        point, loss, gradient = point + step, trial, trial_gradient
    return point


@functools.partial(jax.jit, static_argnames="samples")
def _loss_and_gradient(
    A: Array, covariance: Array, weight_covariance: Array, *, samples: int
) -> tuple[Array, Array]:
    def loss(A):
        return linear_transformer_loss(
            A,
            covariance=covariance,
            weight_covariance=weight_covariance,
            samples=samples,
        )

    return jax.value_and_grad(loss)(jnp.asarray(A))
