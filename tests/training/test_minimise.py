"""L-BFGS: known minima, its record, many starts at once."""

import jax
import jax.numpy as jnp
import pytest

from iclab.theory import linear_transformer_loss, optimal_steps
from iclab.training import minimise
from tests.assertions import assert_close
from tests.refusals import refused


def _rosenbrock(x):
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


_search = jax.jit(lambda start: minimise(_rosenbrock, start, max_steps=120))


def test_finds_a_known_minimum():
    result = _search(jnp.array([-1.2, 1.0]))
    assert bool(result.converged)
    assert float(result.gradient_norm) <= 1e-8
    # The error of the argument is the gradient over the smallest curvature, 0.4.
    assert_close(result.model, jnp.ones(2), atol=1e-7)
    assert 0 < int(result.step) < 120


def test_record_is_of_what_happened():
    result = _search(jnp.array([-1.2, 1.0]))
    steps = int(result.step)
    assert_close(result.losses[0], _rosenbrock(jnp.array([-1.2, 1.0])))
    assert_close(result.losses, jax.vmap(_rosenbrock)(result.records), atol=1e-15)
    assert_close(result.records[steps], result.model)
    assert_close(result.losses[steps:], jnp.full(121 - steps, result.losses[-1]))
    assert jnp.all(jnp.diff(result.losses) <= 0)


def test_many_starts_in_one_call():
    starts = jnp.array([[-1.2, 1.0], [0.5, 2.0], [1.0, 1.0]])
    together = jax.jit(jax.vmap(lambda s: minimise(_rosenbrock, s, max_steps=120)))(
        starts
    )
    assert bool(jnp.all(together.converged))
    assert int(together.step[2]) == 0
    alone = _search(starts[1])
    assert int(together.step[1]) == int(alone.step)
    assert_close(together.model[1], alone.model, atol=1e-7)


def test_too_few_steps_are_told():
    result = minimise(_rosenbrock, jnp.array([-1.2, 1.0]), max_steps=3)
    assert not bool(result.converged)
    assert int(result.step) == 3


def test_reaches_the_closed_form_of_two_layers(getkey):
    """From unsymmetric matrices to the best two steps of gradient descent."""
    d, n = 2, 6

    def loss(A):
        return linear_transformer_loss(A, covariance=jnp.eye(d), samples=n)

    start = 0.1 * jax.random.normal(getkey(), (2, d, d))
    result = jax.jit(lambda s: minimise(loss, s, max_steps=200))(start)
    steps, best = optimal_steps(d, n, 2)
    assert bool(result.converged)
    assert_close(result.losses[-1], best, rtol=1e-9)
    scalars = jnp.sort(-jnp.trace(result.model, axis1=1, axis2=2) / d)
    assert_close(scalars, steps, rtol=1e-6)  # the loss is flat to second order


@pytest.mark.usefixtures("unchecked")
def test_refusals():
    cases = [
        (
            {"max_steps": 0},
            "minimise: `max_steps` must be an integer ≥ 1, got 0",
        ),
        ({"memory": 0}, "minimise: `memory` must be an integer ≥ 1, got 0"),
        ({"tolerance": -1.0}, "minimise: `tolerance` must be ≥ 0 and finite, got -1.0"),
    ]
    for options, message in cases:
        with refused(message):
            minimise(_rosenbrock, jnp.zeros(2), **options)
