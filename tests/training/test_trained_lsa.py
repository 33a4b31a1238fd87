"""Starts and ends of training, as predictors."""

import jax.numpy as jnp
import pytest

from iclab.tasks import Exponential, Fixed, RandomCovariance
from iclab.theory import optimal_preconditioner
from iclab.training import initial_lsa, trained_lsa
from tests.assertions import assert_close
from tests.refusals import refused

COVARIANCE = jnp.diag(jnp.array([1.0, 0.5]))


def test_trained_models_apply_their_preconditioners():
    expected = optimal_preconditioner(COVARIANCE, 10)
    assert_close(trained_lsa(COVARIANCE, 10).preconditioner, expected)
    certain = trained_lsa(RandomCovariance((Fixed(1.0), Fixed(0.5))), 10)
    assert_close(certain.preconditioner, expected)


def test_exponential_covariances_of_the_ledger():
    # ξ/γ = 8/29 for d = 20, N = 40.
    model = trained_lsa(RandomCovariance((Exponential(),) * 20), 40)
    assert_close(model.preconditioner, 8 / 29 * jnp.eye(20))


def test_start_within_the_proof():
    # d = 2, Γ = 1.1·1 + 0.15 = 1.25: σ < √(2/(√2·1.25)) = 1.0637.
    model = initial_lsa(jnp.eye(2), 1.06, COVARIANCE, 10)
    assert_close(model.value_projection[2, 2], 1.06)
    assert_close(jnp.linalg.norm(model.key_query), 1.06)


def test_start_beyond_the_proof():
    message = (
        "LinearSelfAttention.balanced: `scale` must be < 1.06366, beyond which"
        " convergence is not proved, got 1.07"
    )
    with refused(message):
        initial_lsa(jnp.eye(2), 1.07, COVARIANCE, 10)
    model = initial_lsa(jnp.eye(2), 1.07, COVARIANCE, 10, any_scale=True)
    assert_close(model.value_projection[2, 2], 1.07)


@pytest.mark.parametrize("make", [trained_lsa, lambda L, N: initial_lsa(L, 0.1, L, N)])
def test_bad_context_lengths_are_named(make):
    with pytest.raises(
        ValueError, match="`context_length` must be an integer ≥ 1, got 0"
    ):
        make(COVARIANCE, 0)
