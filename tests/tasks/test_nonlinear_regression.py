"""Nonlinear labels: moments with noise, refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.tasks import NonlinearRegression, ReLUNetwork, Sine
from tests.assertions import assert_close, assert_mean_close
from tests.refusals import refused

COVARIANCE = jnp.array([[1.0, 0.3], [0.3, 0.5]])
SINE = Sine(jnp.array([0.6, -0.9]))
NETWORK = ReLUNetwork(jnp.array([[1.0, 0.0]]), jnp.array([2.0]))


def test_labels_are_the_function():
    prompt = NonlinearRegression(SINE, COVARIANCE).sample(jax.random.key(0), 4)
    assert_close(prompt.labels, np.sin(prompt.examples @ SINE.direction))
    assert_close(prompt.target, np.sin(prompt.query @ SINE.direction))


def test_moments_include_the_noise():
    moments = NonlinearRegression(SINE, COVARIANCE, noise_std=0.5).moments()
    plain = SINE.moments(COVARIANCE)
    assert_close(moments.square, plain.square + 0.25)
    assert_close(moments.covariance, plain.covariance + 0.25 * COVARIANCE)


def test_moments_without_closed_form_are_sampled(getkey):
    task = NonlinearRegression(NETWORK, COVARIANCE, noise_std=0.5)
    moments = task.moments(key=getkey(), draws=50_000)
    assert moments.error > 0
    assert_mean_close(moments.square, moments.error, 2.25)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: NonlinearRegression(NETWORK, COVARIANCE).moments(),
            "NonlinearRegression.moments: ReLUNetwork has no exact moments;"
            " give a `key` to sample them",
        ),
        (
            lambda: NonlinearRegression(SINE, jnp.eye(3)),
            "NonlinearRegression: `function` must be of dimension 3,"
            " that of `covariance`, got dimension 2",
        ),
        (
            lambda: NonlinearRegression(SINE, jnp.ones((2, 2))),
            "NonlinearRegression: `covariance` must be positive definite,"
            " got smallest eigenvalue 0",
        ),
        (
            lambda: NonlinearRegression(SINE, COVARIANCE, noise_std=-0.5),
            "NonlinearRegression: `noise_std` must be ≥ 0 and finite, got -0.5",
        ),
    ],
)
def test_mistakes_are_named(call, message):
    with refused(message):
        call()
