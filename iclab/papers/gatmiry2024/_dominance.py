"""The exact loss and its gradient at symmetric A, for the claims on gradient dominance.

Where A is a multiple of the identity a quadrature serves any dimension; elsewhere the
loss is averaged word by word, and one program is compiled for each size of problem.
"""

import functools
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from iclab.evidence import Measured
from iclab.theory import (
    looped_loss,
    looped_loss_on_draws,
    looped_optimum,
    loss_by_test_loops,
)

# A constant above the sharp one, which is 4 in units of `dominance_constant`.
TOO_LARGE = 4.2

_DIRECTIONS = 12
_DISTANCES = np.geomspace(0.02, 50.0, 24)


class Slopes(NamedTuple):
    """Losses, squared norms of their gradients, and the round-off of both."""

    loss: np.ndarray
    squared: np.ndarray
    loss_error: np.ndarray
    squared_error: np.ndarray

    def ratio(self, power: float) -> tuple[np.ndarray, np.ndarray]:
        """‖∇L‖² in units of L^`power`, and its round-off."""
        ratio = self.squared / self.loss**power
        relative = self.squared_error / self.squared
        return ratio, ratio * (relative + power * self.loss_error / self.loss)


@dataclass(frozen=True)
class Even:
    """A = aI for these a, in inputs of covariance I: all eigenvalues of A agree."""

    dimension: int
    samples: int
    loops: int
    steps: tuple[float, ...] = (0.0,)

    def slopes(self) -> Slopes:
        """By quadrature: ∇L is a multiple of I too, and its trace is dL/da."""
        a = np.array(self.steps)
        loss, slope = map(
            np.asarray,
            _along_multiples(
                jnp.asarray(a),
                dimension=self.dimension,
                samples=self.samples,
                loops=self.loops,
            ),
        )
        squared = slope**2 / self.dimension
        # 1 − ah is off by a few units in the last place, and 2L − 1 powers follow.
        relative = 8 * self.loops * np.finfo(float).eps / np.abs(1 - a)
        return Slopes(loss, squared, relative * loss, 2 * relative * squared)


@dataclass(frozen=True, eq=False)
class Scattered:
    """Symmetric A in many directions from the optimum, near it and far from it.

    `aligned`: A has the axes of Σ⋆. The gradient is that in Σ⋆^½AΣ⋆^½, which for Σ⋆ = I
    is the gradient in A. The loss is exact, or a mean over `draws` of S.
    """

    covariance: np.ndarray
    samples: int
    loops: int
    aligned: bool = False
    draws: int = 0

    @property
    def dimension(self) -> int:
        """Dimension d of the inputs."""
        return len(self.covariance)

    def slopes(self) -> Slopes:
        """By automatic differentiation of the exact loss."""
        return _scattered(self)


def smallest(
    ratio: np.ndarray, error: np.ndarray, tested: np.ndarray, constant: float
) -> Measured:
    """The least of the ratios that meet a hypothesis; there has to be one."""
    worst = int(np.argmin(np.where(tested, ratio, np.inf)))
    assert tested[worst], "no case meets the hypothesis"
    reason = (
        f"float64 round-off; the smallest of {int(np.sum(tested))},"
        f" {ratio[worst] / constant:.7g} times the corrected constant"
    )
    return Measured(float(ratio[worst]), float(error[worst]), reason)


@functools.lru_cache(maxsize=16)
def _scattered(case: Scattered) -> Slopes:
    A, larger = _matrices(case)
    loss, gradient = _value_and_gradient(A, case)
    # At −|A| all terms of the loss have one sign: what it is there bounds what cancels.
    most, steepest = _value_and_gradient(-larger, case)
    unit = (2 * case.loops) ** 2 * case.dimension * np.finfo(float).eps
    norm = np.linalg.norm(gradient, axis=(1, 2))
    of_norm = unit * np.linalg.norm(steepest, axis=(1, 2))
    if case.draws:  # S is off by √(d/n), 2L times
        unit += 4 * case.loops * np.sqrt(case.dimension / case.samples)
        of_norm = of_norm + unit * norm
    return Slopes(loss, norm**2, unit * most, 2 * norm * of_norm)


def _matrices(case: Scattered) -> tuple[np.ndarray, np.ndarray]:
    """A = Σ⋆^{−½}(a⋆I + sV)Σ⋆^{−½} for unit V and distances s, and with |a⋆I + sV|."""
    d = case.dimension
    random = np.random.default_rng([d, case.samples % 2**32, case.loops])
    scale, axes = np.linalg.eigh(case.covariance)
    v = random.standard_normal((_DIRECTIONS, d))
    v[:4] = [np.ones(d), -np.ones(d), np.eye(d)[0], -np.eye(d)[0]]
    v[4] = (-1.0) ** np.arange(d)
    v /= np.max(np.abs(v), axis=1, keepdims=True)
    bases = np.broadcast_to(axes, (_DIRECTIONS, d, d))
    if not case.aligned:
        bases = np.linalg.qr(random.standard_normal((_DIRECTIONS, d, d)))[0]
    centre, _ = looped_optimum(d, case.samples, case.loops)
    values = centre + _DISTANCES[:, None, None] * v  # distance, direction, eigenvalue
    whitener = (axes / np.sqrt(scale)) @ axes.T

    def assembled(values: np.ndarray) -> np.ndarray:
        B = (bases * values[..., None, :]) @ bases.swapaxes(1, 2)
        return (whitener @ B @ whitener).reshape(-1, d, d)

    return assembled(values), assembled(np.abs(values))


def _value_and_gradient(
    A: np.ndarray, case: Scattered
) -> tuple[np.ndarray, np.ndarray]:
    scale, axes = np.linalg.eigh(case.covariance)
    whitener = (axes / np.sqrt(scale)) @ axes.T
    sizes = {"samples": case.samples, "loops": case.loops, "draws": case.draws}
    loss, gradient = map(np.asarray, _slopes(A, case.covariance, **sizes))
    gradient = (gradient + gradient.swapaxes(1, 2)) / 2
    return loss, whitener @ gradient @ whitener


@functools.partial(jax.jit, static_argnames=("samples", "loops", "draws"))
def _slopes(
    A: Array, covariance: Array, *, samples: int, loops: int, draws: int
) -> tuple[Array, Array]:
    setting = {"covariance": covariance, "samples": samples, "loops": loops}
    if draws:
        drawn = {"key": jax.random.key(loops), "draws": draws, "mixture": False}
        loss = looped_loss_on_draws(**setting, **drawn)
    else:
        loss = functools.partial(looped_loss, **setting)
    return jax.vmap(jax.value_and_grad(loss))(jnp.asarray(A))


@functools.partial(jax.jit, static_argnames=("dimension", "samples", "loops"))
def _along_multiples(
    a: Array, *, dimension: int, samples: int, loops: int
) -> tuple[Array, Array]:
    def loss(a):
        return loss_by_test_loops(a, dimension, samples, loops)[-1]

    return jax.vmap(jax.value_and_grad(loss))(a)
