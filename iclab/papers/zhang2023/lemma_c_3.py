"""Lemmas C.3 and C.4: the loss ℓ_rdm, its slope, its minimum and its minimisers."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from iclab.evidence import Measured, rounded
from iclab.papers.zhang2023._random_covariance import Setting, settings
from iclab.theory import (
    lsa_flow_random_covariance,
    lsa_loss_random_covariance,
    random_covariance_coefficients,
)

cases = settings
labels = "loss (C.5)", "slope", "minimum (C.6)", "gap (C.7)", "trace (C.8)", "off it"


def predict(case: Setting):
    """(C.5), the slope by (C.4), (C.6), (C.7) and the sums of (C.8) on and off the
    diagonal.
    """
    coefficients = random_covariance_coefficients(case.moments, case.context_length)
    return _statement(case, *map(np.asarray, coefficients))


def decoy(case: Setting):
    """λᵢ and Σλⱼ averaged apart, as if j = i were not in the sum."""
    N = case.context_length
    first, second, third = map(np.asarray, case.moments)
    gamma = (1 + 1 / N) * third + second * first.sum() / N
    pairs = (1 + 1 / N) * second[:, None] + first[:, None] * first.sum() / N
    zeta = pairs * first
    np.fill_diagonal(zeta, gamma)
    return _statement(case, gamma, second, zeta)


def measure(case: Setting) -> Measured:
    """Values, slope and Newton's minimum of the exact loss, which knows no (C.3)."""
    moments, N = case.moments, case.context_length
    loss, slope, constant, gradient, hessian = map(
        np.asarray, _exact(*_point(case), *_direction(case), moments, N)
    )
    # In B = u₋₁U₁₁ the loss is quadratic, so Newton's method ends in one step.
    B = -np.linalg.solve(hessian, gradient)
    minimum = gradient @ B / 2
    B = B.reshape(case.theta.shape)
    value = [loss - constant, slope, minimum, loss - constant - minimum]
    sums = [np.trace(B), np.sum(np.abs(B)) - np.trace(B)]
    size = np.abs(hessian).max() + np.abs(gradient).max() + np.abs(B).max()
    return rounded(np.stack([*value, *sums]), 10.0 * B.size, size)


@jax.jit
def _exact(U11, u_last, dU11, du_last, moments, N) -> tuple[Array, ...]:
    """Loss and slope at a point; constant, gradient and Hessian in B = u₋₁U₁₁ at 0."""

    def loss(U11, u_last):
        return lsa_loss_random_covariance(U11, u_last, moments, N)

    def of_product(B):
        return loss(B.reshape(U11.shape), 1.0)

    value, slope = jax.jvp(loss, (U11, u_last), (dU11, du_last))
    zero = jnp.zeros(U11.size)
    derivatives = jax.grad(of_product)(zero), jax.hessian(of_product)(zero)
    return value, slope, of_product(zero), *derivatives


def _statement(case: Setting, gamma, xi, zeta) -> np.ndarray:
    U11, u = map(np.asarray, _point(case))
    B, off = u * U11, ~np.eye(len(U11), dtype=bool)
    b = np.diag(B)
    cross = np.sum(zeta[off] * B[off] ** 2)
    loss = np.sum(gamma * b**2) / 2 + cross / 2 - xi @ b
    minimum = -np.sum(xi**2 / gamma) / 2
    gap = np.sum(gamma * (b - xi / gamma) ** 2) / 2 + cross / 2
    field = lsa_flow_random_covariance(*_point(case), case.moments, case.context_length)
    dU11, du = _direction(case)
    slope = -np.sum(np.asarray(field[0] * dU11)) - float(field[1] * du)
    return np.stack([loss, slope, minimum, gap, np.sum(xi / gamma), 0.0])


def _point(case: Setting) -> tuple[Array, Array]:
    """A point that no trajectory visits: U₁₁ without symmetry, u₋₁ < 0."""
    return _random(case, 1), jnp.asarray(-0.8)


def _direction(case: Setting) -> tuple[Array, Array]:
    return _random(case, 2), jnp.asarray(0.5)


def _random(case: Setting, stream: int) -> Array:
    d = len(case.theta)
    entries = np.random.default_rng([d, stream]).standard_normal((d, d))
    return jnp.asarray(entries / np.sqrt(d))
