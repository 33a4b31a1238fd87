"""The papers' vector fields are the gradients of the exact losses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from iclab.theory import (
    lsa_flow,
    lsa_flow_random_covariance,
    lsa_full_loss,
    lsa_loss,
    lsa_loss_random_covariance,
)
from tests.assertions import assert_close
from tests.refusals import refused

COVARIANCE = jnp.array([[1.0, 0.3, 0.0], [0.3, 0.5, -0.1], [0.0, -0.1, 0.2]])
MOMENTS = jnp.array([[1.0, 1.0, 0.5], [2.0, 4 / 3, 0.25], [6.0, 2.0, 0.125]])


@pytest.mark.parametrize("N", [1, 4, 50])
def test_field_is_minus_the_gradient(getkey, N):
    U11, u_last = jax.random.normal(getkey(), (3, 3)), jnp.asarray(-0.7)
    field = lsa_flow(U11, u_last, COVARIANCE, N)
    gradient = jax.grad(lsa_loss, argnums=(0, 1))(U11, u_last, COVARIANCE, N)
    assert_close(field[0], -gradient[0])
    assert_close(field[1], -gradient[1])


def test_off_diagonal_blocks_stay_zero(getkey):
    U11 = jax.random.normal(getkey(), (3, 3))
    W_KQ = jnp.zeros((4, 4)).at[:3, :3].set(U11)
    W_PV = jnp.zeros((4, 4)).at[3, 3].set(0.6)
    gradient = jax.grad(lsa_full_loss, argnums=(0, 1))(W_KQ, W_PV, COVARIANCE, 4)
    field = lsa_flow(U11, jnp.asarray(0.6), COVARIANCE, 4)
    assert_close(gradient[0], jnp.zeros((4, 4)).at[:3, :3].set(-field[0]))
    assert_close(gradient[1], jnp.zeros((4, 4)).at[3, 3].set(-field[1]))


@pytest.mark.parametrize("N", [1, 4, 50])
def test_random_covariance_field_is_minus_the_gradient(getkey, N):
    U11, u_last = jax.random.normal(getkey(), (3, 3)), jnp.asarray(1.1)
    field = lsa_flow_random_covariance(U11, u_last, MOMENTS, N)
    gradient = jax.grad(lsa_loss_random_covariance, argnums=(0, 1))(
        U11, u_last, MOMENTS, N
    )
    assert_close(field[0], -gradient[0])
    assert_close(field[1], -gradient[1])


def test_ledger_value_at_time_one():
    outer = np.array([[0.8, 0.3], [0.3, 0.4]])
    start = np.append(0.5 * (outer / np.linalg.norm(outer)).ravel(), 0.5)
    covariance = jnp.diag(jnp.array([1.0, 0.5]))
    field = jax.jit(lambda U, u: lsa_flow(U, u, covariance, 10))

    def flat(t, y):
        dU, du = field(jnp.asarray(y[:4].reshape(2, 2)), jnp.asarray(y[4]))
        return np.append(np.asarray(dU).ravel(), du)

    end = solve_ivp(flat, (0, 1), start, method="DOP853", rtol=1e-10, atol=1e-12).y[
        :, -1
    ]
    ledger = [0.7268214461, 0.1137389568, 0.1290385850, 0.3470425788, 0.8235869552]
    assert_close(end, ledger, rtol=0, atol=1e-9)  # ten digits printed


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: lsa_flow(jnp.eye(2), jnp.ones(()), jnp.ones((2, 3)), 5),
            "lsa_flow: `covariance` must be a 2×2 matrix like `U11`, got shape (2, 3)",
        ),
        (
            lambda: lsa_flow(jnp.eye(2), jnp.ones(()), jnp.eye(2), 0),
            "lsa_flow: `context_length` must be an integer ≥ 1, got 0",
        ),
        (
            lambda: lsa_flow_random_covariance(
                jnp.eye(2), jnp.ones(()), jnp.ones((2, 2)), 5
            ),
            "lsa_flow_random_covariance: `moments` must be a 3×2 matrix like `U11`,"
            " got shape (2, 2)",
        ),
        (
            lambda: lsa_flow_random_covariance(
                jnp.eye(2), jnp.ones(()), -jnp.ones((3, 2)), 5
            ),
            "lsa_flow_random_covariance: `moments` must be positive, got an entry -1",
        ),
        (
            lambda: lsa_flow(jnp.eye(3), jnp.ones(()), jnp.eye(2), 5),
            "lsa_flow: `covariance` must be a 3×3 matrix like `U11`, got shape (2, 2)",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_input_is_named(call, message):
    with refused(message):
        call()
