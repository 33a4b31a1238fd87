"""The population loss over all weights that matter, its gradient, its lowest points."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from iclab.papers.zhang2023._fixed_covariance import Setting
from iclab.theory import lsa_full_loss, lsa_loss

# Points in one compiled call; fewer are padded, so that one compilation serves all.
_BATCH = 64
_NEWTON_STEPS = 100
# Slopes below this: a minimum is near and full Newton steps are safe.
_NEAR = 1e-5


class Minimum(NamedTuple):
    """Where a descent ended, and how far from a true minimum it may have stopped.

    `slope` is the norm of the gradient that is left; `curvature` the smallest one, but
    for the direction (U₁₁, u₂₁, u₁₂, u₋₁) → (cU₁₁, cu₂₁, u₁₂/c, u₋₁/c), which is flat.
    """

    U: np.ndarray
    loss: float
    slope: float
    curvature: float


class Bowl(NamedTuple):
    """The loss as a quadratic function of the product B = u₋₁U₁₁.

    `bottom` is the best B, `least` its loss, `steepest` a bound on the curvatures.
    """

    bottom: np.ndarray
    least: float
    hessian: np.ndarray
    steepest: float

    def gap(self, products: np.ndarray) -> np.ndarray:
        """Loss above the least one at products B: ½⟨B − B*, hessian (B − B*)⟩."""
        away = (products - self.bottom).reshape(len(products), -1)
        return np.sum((away @ self.hessian) * away, axis=1) / 2


def population_gradient(
    U: np.ndarray, covariance: Float[Array, "d d"], context_length: int
) -> tuple[np.ndarray, np.ndarray]:
    """Loss (3.8) and its gradient at matrices U = (U₁₁ u₁₂; u₂₁ᵀ u₋₁), stacked."""
    losses, gradients = [], []
    for first in range(0, len(U), _BATCH):
        rows = np.minimum(first + np.arange(_BATCH), len(U) - 1)
        loss, gradient = _gradient(U[rows], covariance, context_length)
        losses.append(loss)
        gradients.append(gradient)
    return np.concatenate(losses)[: len(U)], np.concatenate(gradients)[: len(U)]


def descend(
    start: np.ndarray,
    free: np.ndarray,
    covariance: Float[Array, "d d"],
    context_length: int,
) -> Minimum:
    """Minimise the loss from `start` over the entries of U that `free` marks.

    Newton's method with the eigenvalues of the Hessian made positive, so that saddles
    repel it; the loss is searched along each step, and the flat direction is balanced.
    """
    index = np.flatnonzero(free)
    U = start * free

    def derivatives(U):
        _, gradient = population_gradient(U[None], covariance, context_length)
        hessian = _hessian(U, covariance, context_length)
        return gradient.ravel()[index], hessian[np.ix_(index, index)]

    for _ in range(_NEWTON_STEPS):
        U = _balanced(U)
        gradient, hessian = derivatives(U)
        eigenvalues, basis = np.linalg.eigh(hessian)
        sizes = np.abs(eigenvalues)
        slopes = basis.T @ gradient
        curved = sizes > 1e-12 * sizes.max()
        lengths = np.divide(slopes, sizes, out=np.zeros_like(slopes), where=curved)
        step = np.zeros(U.size)
        step[index] = -basis @ lengths
        step = step.reshape(U.shape)
        if np.linalg.norm(gradient) > _NEAR:
            trials = U + 2.0 ** (1 - np.arange(_BATCH))[:, None, None] * step
            losses, _ = population_gradient(trials, covariance, context_length)
            U = trials[np.argmin(losses)]
            continue
        U = U + step
        if np.linalg.norm(step) <= 1e-13 * np.linalg.norm(U):
            break
    loss, _ = population_gradient(U[None], covariance, context_length)
    gradient, hessian = derivatives(U)
    _, curvature, *_ = np.linalg.eigvalsh(hessian)
    return Minimum(U, float(loss[0]), float(np.linalg.norm(gradient)), float(curvature))


@functools.cache
def bowl(setting: Setting) -> Bowl:
    """The quadratic in B = u₋₁U₁₁ and its bottom, by automatic differentiation."""
    covariance = setting.covariance
    found = _second_order(covariance, jnp.asarray(setting.context_length))
    height, slope, hessian = map(np.asarray, found)
    step = np.linalg.solve(hessian, slope)
    least = float(height - slope @ step / 2)
    steepest = float(np.max(np.sum(np.abs(hessian), axis=1)))
    return Bowl(-step.reshape(covariance.shape), least, hessian, steepest)


@jax.jit
def _gradient(U: Array, covariance: Array, context_length: Array):
    def loss(U):
        d = len(covariance)
        W_KQ = jnp.zeros_like(U).at[:, :d].set(U[:, :d])
        W_PV = jnp.zeros_like(U).at[d].set(U[:, d])
        return lsa_full_loss(W_KQ, W_PV, covariance, context_length)

    return jax.vmap(jax.value_and_grad(loss))(U)


def _balanced(U: np.ndarray) -> np.ndarray:
    """U moved along its flat direction until ‖(U₁₁, u₂₁)‖ = ‖(u₁₂, u₋₁)‖."""
    left, right = np.linalg.norm(U[:, :-1]), np.linalg.norm(U[:, -1])
    c = np.sqrt(right / left)
    return np.column_stack([c * U[:, :-1], U[:, -1] / c])


def _hessian(U: np.ndarray, covariance: Array, context_length: int) -> np.ndarray:
    """Second derivatives; the gradient is cubic, five-point differences are exact."""
    size, width = U.size, 0.5
    units = np.eye(size).reshape(size, *U.shape) * width
    shifts = np.concatenate([units, -units, 2 * units, -2 * units])
    _, gradient = population_gradient(U + shifts, covariance, context_length)
    near, back, far, behind = gradient.reshape(4, size, size)
    return (8 * (near - back) - (far - behind)) / (12 * width)


@jax.jit
def _second_order(covariance: Array, context_length: Array):
    def loss(flat):
        return lsa_loss(flat.reshape(covariance.shape), 1.0, covariance, context_length)

    zero = jnp.zeros(covariance.size)
    return loss(zero), jax.grad(loss)(zero), jax.hessian(loss)(zero)
