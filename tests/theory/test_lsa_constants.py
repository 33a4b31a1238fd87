"""Constants of the convergence proofs: formulas by NumPy, promises along the flow."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from iclab.theory import (
    convergence_constant,
    convergence_constant_random_covariance,
    expected_gamma_norm,
    largest_initial_scale,
    largest_initial_scale_random_covariance,
    last_weight_bound,
    last_weight_bound_random_covariance,
    lsa_flow,
    lsa_flow_random_covariance,
    lsa_loss,
    lsa_loss_random_covariance,
    lsa_optimum,
    lsa_optimum_random_covariance,
)
from tests.assertions import assert_close, assert_mean_close
from tests.refusals import refused

COVARIANCE = jnp.array([[1.0, 0.3, 0.0], [0.3, 0.5, -0.1], [0.0, -0.1, 0.2]])
# Rows E λ, E λ², E λ³ of Exponential(1) three times.
MOMENTS = jnp.repeat(jnp.array([[1.0], [2.0], [6.0]]), 3, axis=1)
N = 6


def _theta():
    """Θ with ‖ΘΘᵀ‖_F = 1."""
    Theta = np.random.default_rng(3).normal(size=(3, 3))
    return jnp.asarray(Theta / np.sqrt(np.linalg.norm(Theta @ Theta.T)))


def _gamma_norm():
    """E‖Γ‖‖Λ‖²_F of three exponentials, by a Gauss–Laguerre rule in the sorted entries.

    With the gaps of the order statistics, λ₍₁₎ = e₁/3, λ₍₂₎ = λ₍₁₎ + e₂/2,
    λ₍₃₎ = λ₍₂₎ + e₃ for independent exponentials e: the integrand is a cubic.
    """
    nodes, mass = np.polynomial.laguerre.laggauss(3)
    e = np.stack(np.meshgrid(nodes, nodes, nodes), axis=-1).reshape(-1, 3)
    p = np.einsum("i,j,k->ijk", mass, mass, mass).ravel()
    sorted_entries = np.cumsum(e / np.array([3, 2, 1]), axis=1)
    norm = (1 + 1 / N) * sorted_entries[:, -1] + sorted_entries.sum(axis=1) / N
    return float(p @ (norm * np.sum(sorted_entries**2, axis=1)))


def _trajectory(field, scale):
    """The flow from the balanced start, at 60 times until it has come to rest."""
    Theta = np.asarray(_theta())
    start = np.append(scale * (Theta @ Theta.T).ravel(), scale)
    field = jax.jit(field)

    def flat(t, y):
        dU, du = field(jnp.asarray(y[:9].reshape(3, 3)), jnp.asarray(y[9]))
        return np.append(np.asarray(dU).ravel(), du)

    times = np.concatenate([[0], np.geomspace(1e-2, 1000, 60)])
    y = solve_ivp(flat, (0, 1000), start, "LSODA", times, rtol=1e-9, atol=1e-11).y.T
    return times, jnp.asarray(y[:, :9].reshape(-1, 3, 3)), jnp.asarray(y[:, 9])


def test_formulas_by_numpy():
    Lambda, Theta, sigma, d = np.asarray(COVARIANCE), np.asarray(_theta()), 0.4, 3
    Gamma = (1 + 1 / N) * Lambda + np.trace(Lambda) / N * np.eye(3)
    room = 2 - np.sqrt(d) * sigma**2 * np.linalg.norm(Gamma, 2)
    aligned = np.linalg.norm(Lambda @ Theta) ** 2
    largest = np.sqrt(2 / np.sqrt(d) / np.linalg.norm(Gamma, 2))
    assert_close(largest_initial_scale(COVARIANCE, N), largest)
    bound = (
        sigma**2 / (2 * np.sqrt(d) * np.linalg.norm(Lambda, 2) ** 2) * aligned * room
    )
    assert_close(last_weight_bound(COVARIANCE, N, _theta(), sigma), np.sqrt(bound))
    inverse = np.linalg.inv(Lambda)
    traces = np.trace(np.linalg.inv(Gamma) @ inverse) * np.trace(inverse)
    mu = sigma**2 * aligned * room
    mu = mu / (np.sqrt(d) * np.linalg.norm(Lambda, 2) ** 2 * traces)
    assert_close(convergence_constant(COVARIANCE, N, _theta(), sigma), mu)


def test_room_ends_at_the_largest_scale():
    # sqrt() of a difference that cancels: zero up to the root of machine precision.
    largest = largest_initial_scale(COVARIANCE, N)
    near = last_weight_bound(COVARIANCE, N, _theta(), largest * (1 - 1e-12))
    assert_close(near, 0.0, atol=1e-5)
    assert last_weight_bound(COVARIANCE, N, _theta(), largest / 2) > 0.1
    gamma_norm = _gamma_norm()
    largest = largest_initial_scale_random_covariance(MOMENTS, _theta(), gamma_norm)
    near = last_weight_bound_random_covariance(
        MOMENTS, _theta(), largest * (1 - 1e-12), gamma_norm
    )
    assert_close(near, 0.0, atol=1e-5)


@pytest.mark.parametrize("context_length", [1, 10])
def test_one_dimension(context_length):
    # d = 1: Γ = (1 + 2/N)λ, and a certain covariance is no different from a fixed one.
    lam, one = jnp.array([[0.25]]), jnp.ones((1, 1))
    gamma = (1 + 2 / context_length) * 0.25
    largest = largest_initial_scale(lam, context_length)
    assert_close(largest, np.sqrt(2 / gamma))
    moments = jnp.array([[0.25], [0.25**2], [0.25**3]])
    norm = gamma * 0.25**2
    found = largest_initial_scale_random_covariance(moments, one, norm)
    assert_close(found, largest)
    bound = last_weight_bound(lam, context_length, one, 0.5)
    found = last_weight_bound_random_covariance(moments, one, 0.5, norm)
    assert_close(found, bound)
    # (5.7) and (C.13) bound different things: μ = 2b²γλ², ν = b²γλ².
    mu = convergence_constant(lam, context_length, one, 0.5)
    nu = convergence_constant_random_covariance(moments, context_length, one, 0.5, norm)
    assert_close(mu, 2 * nu)


def test_expected_gamma_norm_is_a_mean(getkey):
    diagonals = jax.random.exponential(getkey(), (200_000, 3))
    mean, error = expected_gamma_norm(diagonals, N)
    assert_mean_close(mean, error, _gamma_norm())
    assert error < 0.02 * mean


def test_expected_gamma_norm_of_certain_diagonals():
    diagonals = jnp.tile(jnp.array([[1.0, 0.5]]), (4, 1))
    mean, error = expected_gamma_norm(diagonals, 10)
    Gamma = 1.1 * np.diag([1.0, 0.5]) + 0.15 * np.eye(2)
    assert_close(mean, np.linalg.norm(Gamma, 2) * 1.25)
    assert_close(error, 0.0)


def test_promises_along_the_flow():
    sigma = 0.7 * float(largest_initial_scale(COVARIANCE, N))
    times, U, u = _trajectory(lambda U, u: lsa_flow(U, u, COVARIANCE, N), sigma)
    assert jnp.min(u) >= last_weight_bound(COVARIANCE, N, _theta(), sigma)
    mu = convergence_constant(COVARIANCE, N, _theta(), sigma)
    W_KQ, W_PV = lsa_optimum(COVARIANCE, N)
    best = lsa_loss(W_KQ[:3, :3], W_PV[3, 3], COVARIANCE, N)
    value_and_grad = jax.vmap(
        jax.value_and_grad(lambda U, u: lsa_loss(U, u, COVARIANCE, N), argnums=(0, 1))
    )
    values, (gradient_U, gradient_u) = value_and_grad(U, u)
    gap = values - best
    # Far along the flow the gap is round-off.
    assert jnp.all(gap <= gap[0] * jnp.exp(-mu * times) + 1e-12)
    square = jnp.sum(gradient_U**2, axis=(1, 2)) + gradient_u**2
    assert jnp.all(square >= mu * gap - 1e-12)
    assert_close(u[-1], W_PV[3, 3], rtol=1e-7)  # the ODE solver's tolerance


def test_promises_along_the_flow_with_random_covariances():
    gamma_norm = _gamma_norm()
    largest = largest_initial_scale_random_covariance(MOMENTS, _theta(), gamma_norm)
    sigma = 0.7 * float(largest)
    arguments = (MOMENTS, N, _theta(), sigma, gamma_norm)
    times, U, u = _trajectory(
        lambda U, u: lsa_flow_random_covariance(U, u, MOMENTS, N), sigma
    )
    bound = last_weight_bound_random_covariance(MOMENTS, _theta(), sigma, gamma_norm)
    assert 0 < bound <= jnp.min(u)
    nu = convergence_constant_random_covariance(*arguments)
    W_KQ, W_PV = lsa_optimum_random_covariance(MOMENTS, N)
    best = lsa_loss_random_covariance(W_KQ[:3, :3], W_PV[3, 3], MOMENTS, N)
    values = jax.vmap(lambda U, u: lsa_loss_random_covariance(U, u, MOMENTS, N))(U, u)
    gap = values - best
    assert jnp.all(gap <= gap[0] * jnp.exp(-nu * times) + 1e-12)
    # η = min(γ, ζ) = min(6(1 + 1/N) + (6 + 4)/N, 2(1 + 1/N) + (2 + 2 + 1)/N).
    assert_close(nu, (2 + 7 / N) * bound**2)


EYE, LONG, MOMENTS_2 = jnp.eye(2), jnp.ones((3, 3)), jnp.ones((3, 2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: largest_initial_scale(-EYE, 5),
            "largest_initial_scale: `covariance` must be positive definite,"
            " got smallest eigenvalue -1",
        ),
        (
            lambda: largest_initial_scale(EYE, 0),
            "largest_initial_scale: `context_length` must be an integer ≥ 1, got 0",
        ),
        (
            lambda: largest_initial_scale_random_covariance(MOMENTS_2, LONG, 1.0),
            "largest_initial_scale_random_covariance: `theta` must be a 2×2 matrix"
            " like `moments`,"
            " got shape (3, 3)",
        ),
        (
            lambda: largest_initial_scale_random_covariance(MOMENTS_2, EYE, -1.0),
            "largest_initial_scale_random_covariance: `gamma_norm` must be"
            " ≥ 0 and finite, got -1.0",
        ),
        (
            lambda: expected_gamma_norm(jnp.ones((4, 2)), 0),
            "expected_gamma_norm: `context_length` must be an integer ≥ 1, got 0",
        ),
        (
            lambda: expected_gamma_norm(jnp.ones((1, 2)), 5),
            "expected_gamma_norm: `diagonals` must be at least two draws of a diagonal,"
            " in rows, got shape (1, 2)",
        ),
        (
            lambda: last_weight_bound(EYE, 5, EYE, 2.0),
            "last_weight_bound: `scale` must be below 0.940151, where the proof ends,"
            " got 2.0",
        ),
        (
            lambda: last_weight_bound(EYE, 5, LONG, 0.1),
            "last_weight_bound: `theta` must be a 2×2 matrix like `covariance`, got"
            " shape (3, 3)",
        ),
        (
            lambda: last_weight_bound(EYE, 5, EYE, -0.1),
            "last_weight_bound: `scale` must be ≥ 0 and finite, got -0.1",
        ),
        (
            lambda: last_weight_bound(EYE, 0, EYE, 0.1),
            "last_weight_bound: `context_length` must be an integer ≥ 1, got 0",
        ),
        (
            lambda: convergence_constant(jnp.ones((2, 3)), 5, EYE, 0.1),
            "convergence_constant: `covariance` must be a square matrix,"
            " got shape (2, 3)",
        ),
        (
            lambda: last_weight_bound_random_covariance(MOMENTS_2, EYE, -1.0, 1.0),
            "last_weight_bound_random_covariance: `scale` must be ≥ 0 and finite,"
            " got -1.0",
        ),
        (
            lambda: last_weight_bound_random_covariance(MOMENTS_2, EYE, 1.0, -1.0),
            "last_weight_bound_random_covariance: `gamma_norm` must be ≥ 0 and finite,"
            " got -1.0",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_input_is_named(call, message):
    with refused(message):
        call()
