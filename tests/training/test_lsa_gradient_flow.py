"""Flows of linear attention: against SciPy, the general solver, and theory."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from iclab.tasks import Exponential, RandomCovariance, Uniform
from iclab.theory import (
    lsa_flow,
    lsa_flow_random_covariance,
    lsa_full_loss,
    lsa_loss,
    lsa_optimum,
    lsa_optimum_random_covariance,
)
from iclab.training import lsa_gradient_flow
from tests.assertions import assert_close
from tests.refusals import refused

DIAGONAL = jnp.diag(jnp.array([1.0, 0.5]))
COVARIANCE = jnp.array([[1.0, 0.3], [0.3, 0.5]])
RANDOM = RandomCovariance((Exponential(), Uniform(0.0, 2.0)))
MOMENTS = jnp.array([[1.0, 1.0], [2.0, 4 / 3], [6.0, 2.0]])
OUTER = jnp.array([[0.8, 0.3], [0.3, 0.4]])
START = 0.5 * OUTER / jnp.linalg.norm(OUTER)
UNBALANCED = jnp.array([[0.2, -0.4], [0.1, 0.3]])


def _by_scipy(field, U11, u_last, time):
    field = jax.jit(field)

    def flat(t, y):
        dU, du = field(jnp.asarray(y[:4].reshape(2, 2)), jnp.asarray(y[4]))
        return np.append(np.asarray(dU).ravel(), du)

    start = np.append(np.asarray(U11).ravel(), u_last)
    end = solve_ivp(flat, (0, time), start, "LSODA", rtol=1e-10, atol=1e-12).y[:, -1]
    return end[:4].reshape(2, 2), end[4]


def test_ledger_limit():
    result = lsa_gradient_flow(DIAGONAL, 10, START, 0.5)
    assert bool(result.converged)
    U11, u_last = result.model
    # The distance to the limit is the tolerance over the slowest rate, below 1e-9.
    assert_close(u_last, 1.279578001057, atol=1e-9)
    expected = np.diag([0.625206122127, 1.116439503799])
    assert_close(U11, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("covariance", "U11", "u_last"),
    [(DIAGONAL, START, 0.5), (COVARIANCE, UNBALANCED, -0.8)],
    ids=["balanced", "rotated, unbalanced, of the wrong sign"],
)
def test_trajectory_is_that_of_the_vector_field(covariance, U11, u_last):
    result = lsa_gradient_flow(covariance, 10, U11, u_last)
    index = int(np.searchsorted(result.recorded_at, 1.0))
    U, u = (leaf[index] for leaf in result.records)
    expected_U, expected_u = _by_scipy(
        lambda U, u: lsa_flow(U, u, covariance, 10),
        U11,
        u_last,
        float(result.recorded_at[index]),
    )
    # Two solvers with local tolerances of 1e-10.
    assert_close(U, expected_U, rtol=0, atol=2e-8)
    assert_close(u, expected_u, rtol=0, atol=2e-8)


def test_starts_at_the_start_and_keeps_the_balance():
    result = lsa_gradient_flow(COVARIANCE, 10, UNBALANCED, -0.8)
    U, u = result.records
    assert_close(U[0], UNBALANCED)
    assert_close(u[0], -0.8)
    balance = u**2 - jnp.sum(U**2, axis=(1, 2))
    assert_close(balance, np.full(len(u), balance[0]), rtol=0, atol=2e-8)  # solver
    losses = jax.vmap(lambda U, u: lsa_loss(U, u, COVARIANCE, 10))(U, u)
    assert np.all(np.diff(losses) <= 1e-12)


def test_unbalanced_starts_reach_the_same_predictor():
    W_KQ, W_PV = lsa_optimum(COVARIANCE, 10)
    U11, u_last = lsa_gradient_flow(COVARIANCE, 10, UNBALANCED, 1.2).model
    preconditioner = W_PV[2, 2] * W_KQ[:2, :2]
    assert_close(u_last * U11, preconditioner, rtol=0, atol=1e-8)  # tolerance / rate


def test_zero_is_a_saddle_where_the_flow_rests():
    result = lsa_gradient_flow(COVARIANCE, 10, jnp.zeros((2, 2)), 0.0)
    assert bool(result.converged)
    assert_close(result.model[0], np.zeros((2, 2)))
    assert_close(result.model[1], 0.0)


def test_all_parameters_by_autodiff():
    # Where the off-diagonal blocks are zero, the gradient of the exact loss in all
    # parameters is the restricted vector field, and zero elsewhere: from such a start
    # the unrestricted flow is the restricted one.
    def full(U11, u_last):
        W_KQ = jnp.zeros((3, 3)).at[:2, :2].set(U11)
        W_PV = jnp.zeros((3, 3)).at[2, 2].set(u_last)
        return W_KQ, W_PV

    @jax.jit
    @jax.vmap
    def both(U11, u_last):
        slope = jax.grad(lambda W: lsa_full_loss(W[0], W[1], COVARIANCE, 10))
        field = full(*lsa_flow(U11, u_last, COVARIANCE, 10))
        return slope(full(U11, u_last)), field

    rng = np.random.default_rng(0)
    U11 = jnp.asarray(np.concatenate([START[None], rng.normal(size=(20, 2, 2))]))
    slopes, fields = both(U11, jnp.asarray(np.append(0.5, rng.normal(size=20))))
    for slope, field in zip(slopes, fields, strict=True):
        assert_close(slope, -field, atol=1e-12)


def test_context_length_and_covariance_do_not_recompile():
    from iclab.training import _lsa_gradient_flow as module

    lsa_gradient_flow(COVARIANCE, 10, START, 0.5)
    count = module._reduced_flow._cached._cache_size()  # pyright: ignore
    lsa_gradient_flow(DIAGONAL, 33, UNBALANCED, 0.7)
    assert module._reduced_flow._cached._cache_size() == count  # pyright: ignore


def test_random_covariances_reach_their_optimum():
    result = lsa_gradient_flow(RANDOM, 6, START, 0.5)
    W_KQ, W_PV = lsa_optimum_random_covariance(MOMENTS, 6)
    assert bool(result.converged)
    assert_close(result.model[0], W_KQ[:2, :2], rtol=0, atol=1e-9)  # tolerance / rate
    assert_close(result.model[1], W_PV[2, 2], rtol=0, atol=1e-9)
    index = int(np.searchsorted(result.recorded_at, 0.3))
    U, u = (leaf[index] for leaf in result.records)
    expected_U, expected_u = _by_scipy(
        lambda U, u: lsa_flow_random_covariance(U, u, MOMENTS, 6),
        START,
        0.5,
        float(result.recorded_at[index]),
    )
    assert_close(U, expected_U, rtol=0, atol=2e-8)  # two solvers
    assert_close(u, expected_u, rtol=0, atol=2e-8)


EYE = jnp.eye(2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: lsa_gradient_flow(-EYE, 5, EYE, 1.0),
            "lsa_gradient_flow: `law` must be positive definite,"
            " got smallest eigenvalue -1",
        ),
        (
            lambda: lsa_gradient_flow(EYE, 0, EYE, 1.0),
            "lsa_gradient_flow: `context_length` must be an integer ≥ 1, got 0",
        ),
        (
            lambda: lsa_gradient_flow(EYE, 5, jnp.eye(3), 1.0),
            "lsa_gradient_flow: `U11` must be a 2×2 matrix like `law`, got "
            "shape (3, 3)",
        ),
        (
            lambda: lsa_gradient_flow(EYE, 5, jnp.nan * EYE, 1.0),
            "lsa_gradient_flow: `U11` must be finite, got 4 entries that are not",
        ),
        (
            lambda: lsa_gradient_flow(RANDOM, 0, EYE, 1.0),
            "lsa_gradient_flow: `context_length` must be an integer ≥ 1, got 0",
        ),
        (
            lambda: lsa_gradient_flow(RANDOM, 5, jnp.eye(3), 1.0),
            "lsa_gradient_flow: `U11` must be a 2×2 matrix, got shape (3, 3)",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_mistakes_are_named(call, message):
    with refused(message):
        call()
