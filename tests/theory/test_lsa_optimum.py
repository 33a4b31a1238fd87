"""What linear attention learns: against brute force, autodiff and exact fractions."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from iclab.theory import (
    gamma_matrix,
    lsa_full_loss,
    lsa_loss,
    lsa_loss_random_covariance,
    lsa_optimum,
    lsa_optimum_random_covariance,
    optimal_preconditioner,
    random_covariance_coefficients,
)
from tests.assertions import assert_close
from tests.gaussian_grid import gaussian_grid
from tests.refusals import refused

COVARIANCE = jnp.array([[1.0, 0.3, 0.0], [0.3, 0.5, -0.1], [0.0, -0.1, 0.2]])
# Rows E λ, E λ², E λ³ of Exponential(1), Uniform(0, 2) and the constant 1/2.
MOMENTS = jnp.array([[1.0, 1.0, 0.5], [2.0, 4 / 3, 0.25], [6.0, 2.0, 0.125]])
EVERY_N = [1, 2, 7, 100]

full_gradient = jax.jit(jax.grad(lsa_full_loss, argnums=(0, 1)))


@pytest.mark.parametrize("N", [1, 2])
def test_gamma_is_the_second_moment_of_sample_covariances(N):
    Lambda = np.array([[1.0, 0.3], [0.3, 0.5]])
    points, mass = gaussian_grid(2 * N, 3)
    X = points.reshape(-1, N, 2) @ np.linalg.cholesky(Lambda).T
    S = np.einsum("pni,pnj->pij", X, X) / N
    expected = np.einsum("p,pij,pjk->ik", mass, S, S)
    assert_close(gamma_matrix(jnp.asarray(Lambda), N) @ Lambda, expected)


@pytest.mark.parametrize("N", EVERY_N)
def test_one_dimension_is_a_fraction(N):
    expected = 1 / (Fraction(1, 4) * (1 + Fraction(2, N)))
    assert_close(optimal_preconditioner(jnp.array([[0.25]]), N), [[float(expected)]])


@pytest.mark.parametrize("N", EVERY_N)
def test_preconditioner_solves_the_normal_equations(N):
    # min over P of E‖Λ̂P − I‖² in the Λ-norm: the gradient of the exact loss is zero.
    P = optimal_preconditioner(COVARIANCE, N)
    gradient = jax.grad(lambda P: lsa_loss(P, 1.0, COVARIANCE, N))(P)
    assert_close(gradient, jnp.zeros((3, 3)))


def test_infinitely_long_prompts_invert_the_covariance():
    P = optimal_preconditioner(COVARIANCE, 10**12)
    assert_close(P, np.linalg.inv(COVARIANCE), rtol=1e-9)  # the error is O(1/N)


@pytest.mark.parametrize("N", EVERY_N)
def test_every_weight_is_stationary_at_the_optimum(N):
    weights = lsa_optimum(COVARIANCE, N)
    for gradient in full_gradient(*weights, COVARIANCE, N):
        assert_close(gradient, jnp.zeros((4, 4)))


def test_optimum_is_balanced_and_block_diagonal():
    W_KQ, W_PV = lsa_optimum(COVARIANCE, 7)
    P = optimal_preconditioner(COVARIANCE, 7)
    assert_close(W_PV[3, 3] * W_KQ[:3, :3], P)
    assert_close(W_PV[3, 3] ** 2, jnp.sum(W_KQ**2))
    assert_close(W_PV[3, 3], np.trace(np.linalg.matrix_power(P, 2)) ** 0.25)
    assert np.count_nonzero(W_KQ[3]) == np.count_nonzero(W_KQ[:, 3]) == 0
    assert np.count_nonzero(W_PV) == 1


def test_optimum_has_the_ledger_limits():
    W_KQ, W_PV = lsa_optimum(jnp.diag(jnp.array([1.0, 0.5])), 10)
    # The ledger gives twelve digits after the point.
    assert_close(W_PV[2, 2], 1.279578001057, rtol=1e-12)
    assert_close(jnp.diag(W_KQ)[:2], [0.625206122127, 1.116439503799], rtol=1e-11)


@settings(max_examples=8, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 10_000), st.sampled_from(EVERY_N))
def test_rotations_pass_through(seed, N):
    R, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    turned = jnp.asarray(R @ np.asarray(COVARIANCE) @ R.T)
    turned = (turned + turned.T) / 2
    expected = R @ np.asarray(optimal_preconditioner(COVARIANCE, N)) @ R.T
    assert_close(optimal_preconditioner(turned, N), expected)


def test_coefficients_of_the_ledger():
    moments = jnp.repeat(jnp.array([[1.0], [2.0], [6.0]]), 20, axis=1)
    gamma, xi, zeta = random_covariance_coefficients(moments, 40)
    assert_close(gamma, np.full(20, 29 / 4))
    assert_close(xi, np.full(20, 2.0))
    assert_close(zeta, np.where(np.eye(20), 29 / 4, 13 / 5))


@pytest.mark.parametrize("N", EVERY_N)
def test_coefficients_are_expectations(N):
    # Three independent entries with two values each: E as a sum over eight cases.
    values = np.array([[0.5, 2.0], [1.0, 3.0], [0.1, 0.7]])
    moments = jnp.asarray([np.mean(values**k, axis=1) for k in (1, 2, 3)])
    gamma, xi, zeta = np.zeros(3), np.zeros(3), np.zeros((3, 3))
    for case in np.ndindex(2, 2, 2):
        x = values[np.arange(3), case]
        gamma += ((N + 1) / N * x**3 + x**2 * x.sum() / N) / 8
        xi += x**2 / 8
        pairs = np.outer(x, x)
        zeta += ((N + 1) / N * x[:, None] * pairs + pairs * x.sum() / N) / 8
    found = random_covariance_coefficients(moments, N)
    assert_close(found[0], gamma)
    assert_close(found[1], xi)
    assert_close(found[2], zeta)


@pytest.mark.parametrize("N", EVERY_N)
def test_random_covariance_optimum_is_stationary(N):
    W_KQ, W_PV = lsa_optimum_random_covariance(MOMENTS, N)
    gradients = jax.grad(lsa_loss_random_covariance, argnums=(0, 1))(
        W_KQ[:3, :3], W_PV[3, 3], MOMENTS, N
    )
    assert_close(gradients[0], jnp.zeros((3, 3)))
    assert_close(gradients[1], 0.0)
    assert_close(W_PV[3, 3] ** 2, jnp.sum(W_KQ**2))


def test_certain_covariances_are_not_random():
    diagonal = jnp.array([1.0, 0.5, 0.2])
    moments = jnp.stack([diagonal, diagonal**2, diagonal**3])
    for found, expected in zip(
        lsa_optimum_random_covariance(moments, 7),
        lsa_optimum(jnp.diag(diagonal), 7),
        strict=True,
    ):
        assert_close(found, expected)


@pytest.mark.parametrize(
    "function", [gamma_matrix, optimal_preconditioner, lsa_optimum]
)
@pytest.mark.parametrize(
    ("covariance", "N", "complaint"),
    [
        (jnp.ones((2, 3)), 5, "`covariance` must be a square matrix, got shape (2, 3)"),
        (
            jnp.array([[1.0, 0.5], [0.0, 1.0]]),
            5,
            "`covariance` must be symmetric,"
            " got entries that differ from their mirror image by 0.5",
        ),
        (
            jnp.diag(jnp.array([1.0, -1.0])),
            5,
            "`covariance` must be positive definite, got smallest eigenvalue -1",
        ),
        (
            jnp.full((2, 2), jnp.nan),
            5,
            "`covariance` must be finite, got 4 entries that are not",
        ),
        (jnp.eye(2), 0, "`context_length` must be an integer ≥ 1, got 0"),
        (jnp.eye(2), -3, "`context_length` must be an integer ≥ 1, got -3"),
        (jnp.eye(2), 2.5, "`context_length` must be an integer ≥ 1, got 2.5"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_input_is_named(function, covariance, N, complaint):
    with refused(f"{function.__name__}: {complaint}"):
        function(covariance, N)


@pytest.mark.parametrize(
    "function", [random_covariance_coefficients, lsa_optimum_random_covariance]
)
@pytest.mark.parametrize(
    ("moments", "N", "complaint"),
    [
        (
            jnp.ones((2, 3)),
            5,
            "`moments` must be a 3×d matrix, got shape (2, 3)",
        ),
        (
            jnp.ones(3),
            5,
            "`moments` must be a 3×d matrix, got shape (3,)",
        ),
        (
            jnp.ones((3, 2)).at[0, 0].set(jnp.nan),
            5,
            "`moments` must be finite, got 1 entries that are not",
        ),
        (jnp.ones((3, 2)), 0, "`context_length` must be an integer ≥ 1, got 0"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_moments_are_named(function, moments, N, complaint):
    with refused(f"{function.__name__}: {complaint}"):
        function(moments, N)
