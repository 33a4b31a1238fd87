"""The flow solver on equations that have formulas."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from iclab.training import gradient_flow, integrate_flow
from tests.assertions import assert_close
from tests.refusals import refused

A = jnp.array([[2.0, 0.5], [0.5, 1.0]])
B = jnp.array([1.0, -1.0])
START = jnp.array([3.0, 2.0])


@eqx.filter_jit
def _linear(start, max_time=1e9, *, matrix=A, throw=True):
    return integrate_flow(
        lambda y: B - matrix @ y, start, max_time=max_time, throw=throw
    )


def test_linear_flow_is_a_matrix_exponential():
    result = _linear(START)
    assert bool(result.converged)
    assert result.gradient_norm <= 1e-10
    rest = np.linalg.solve(A, B)
    # At speed 1e-10 the distance is at most 1e-10 over the smallest eigenvalue.
    assert_close(result.model, rest, rtol=0, atol=2e-10)
    for index in (0, 1, int(result.step) // 2, int(result.step)):
        t = float(result.recorded_at[index])
        expected = rest + scipy.linalg.expm(-np.asarray(A) * t) @ (
            np.asarray(START) - rest
        )
        # Local errors of 1e-10 add up over a hundred steps.
        assert_close(result.records[index], expected, rtol=0, atol=2e-8)


def test_trajectory_ends_with_its_last_step():
    result = _linear(START)
    steps = int(result.step)
    times = np.asarray(result.recorded_at)
    assert times[0] == 0
    assert np.all(np.diff(times[: steps + 1]) > 0)
    assert np.all(times[steps:] == times[steps])
    assert_close(result.records[-1], result.model, rtol=0, atol=0)
    assert np.all(np.isfinite(result.records))


def test_stiff_flows_need_few_steps():
    # Rates five decades apart: an explicit solver needs 10⁵ steps and more.
    result = _linear(START, matrix=jnp.diag(jnp.array([1e5, 1.0])))
    assert bool(result.converged)
    assert int(result.step) < 1000


def test_gradient_flow_of_a_tree():
    def loss(parameters):
        return (parameters["a"] - 3) ** 2 + jnp.sum((parameters["b"] + 1) ** 2)

    result = gradient_flow(loss, {"a": jnp.zeros(()), "b": jnp.zeros(2)})
    assert_close(result.model["a"], 3.0, atol=1e-10)  # the tolerance on the speed
    assert_close(result.model["b"], [-1.0, -1.0], atol=1e-10)
    # a(t) = 3 − 3e^{−2t}
    a, t = np.asarray(result.records["a"]), np.asarray(result.recorded_at)
    assert_close(a, 3 - 3 * np.exp(-2 * t), rtol=0, atol=2e-8)  # solver tolerance


def test_a_flow_at_rest_stays():
    rest = jnp.linalg.solve(A, B)
    result = _linear(rest)
    assert bool(result.converged)
    assert_close(result.model, rest)


def test_time_may_run_out():
    result = _linear(START, 1.0, throw=False)
    assert not bool(result.converged)
    assert result.gradient_norm > 1e-10
    assert_close(result.recorded_at[-1], 1.0)


def test_never_resting_is_an_error():
    # A constant field never comes to rest. Equinox reports errors inside compiled
    # functions with a RuntimeError of its own, which goes on about debugging.
    message = (
        "integrate_flow: the flow did not come to rest;"
        " raise `max_time` or `max_steps`, loosen `tolerance` or tighten `atol`"
    )
    with pytest.raises(RuntimeError) as error:
        jax.block_until_ready(_linear(START, matrix=jnp.zeros((2, 2))))
    assert message in str(error.value)


def test_batches_of_flows():
    # Speed replaced: the first coordinate alone must come to rest.
    starts = jnp.stack([START, -START])
    flow = jax.vmap(
        lambda start: integrate_flow(
            lambda y: B - A @ y,
            start,
            speed=lambda y: jnp.sum(jnp.abs(B - A @ y)),
            tolerance=1e-8,
        )
    )
    result = flow(starts)
    assert_close(result.model, np.tile(np.linalg.solve(A, B), (2, 1)), atol=1e-8)
    assert np.all(result.converged)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"tolerance": 0.0}, "`tolerance` must be > 0 and finite, got 0.0"),
        ({"tolerance": float("nan")}, "`tolerance` must be > 0 and finite, got nan"),
        ({"max_steps": 0}, "`max_steps` must be an integer ≥ 1, got 0"),
    ],
)
def test_bad_settings_are_named(options, complaint):
    with refused(f"integrate_flow: {complaint}"):
        integrate_flow(lambda y: -y, START, **options)
