"""Solvers against NumPy, normal equations and their limits."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from iclab.algorithms import Averaging, LeastSquares, Ridge, Zero
from iclab.core import Prompt
from tests.assertions import assert_close
from tests.refusals import refused

FEW = settings(max_examples=10, deadline=None, derandomize=True, database=None)


def _prompt(seed, n=5, d=3, noise=0.5):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    y, query = X @ w + noise * rng.normal(size=n), rng.normal(size=d)
    X, y, query, target = map(jnp.asarray, (X, y, query, query @ w))
    return Prompt(X, y, query, target)


ridge = {
    penalty: jax.jit(Ridge(penalty).__call__) for penalty in (0.0, 1e-9, 0.7, 1e12)
}
least_squares = jax.jit(LeastSquares().__call__)


@FEW
@given(st.integers(0, 10_000))
def test_ridge_solves_the_normal_equations(seed):
    prompt = _prompt(seed)
    X, y = np.asarray(prompt.examples), np.asarray(prompt.labels)
    weight = np.linalg.solve(X.T @ X + 0.7 * np.eye(3), X.T @ y)
    assert_close(ridge[0.7](prompt), prompt.query @ weight)


@FEW
@given(st.integers(0, 10_000), st.sampled_from([5, 2]))
def test_ridge_becomes_least_squares(seed, n):
    prompt = _prompt(seed, n)
    expected = least_squares(prompt)
    assert_close(ridge[0.0](prompt), expected, rtol=1e-9, atol=1e-9)
    # The difference is of order λ over the smallest singular value squared.
    X = np.asarray(prompt.examples)
    smallest = np.linalg.svd(X, compute_uv=False)[-1]
    size = np.linalg.norm(prompt.query) * np.linalg.norm(
        np.linalg.pinv(X) @ prompt.labels
    )
    gap = abs(float(ridge[1e-9](prompt) - expected))
    assert gap <= 2e-9 / smallest**2 * size + 1e-12


def test_ridge_becomes_a_step_of_averaging():
    # λ → ∞: λŵ → Xᵀy = n times what averaging uses.
    prompt = _prompt(0)
    assert_close(1e12 * ridge[1e12](prompt), 5 * Averaging()(prompt), rtol=1e-9)


@FEW
@given(st.integers(0, 10_000), st.sampled_from([5, 2]))
def test_least_squares_agrees_with_numpy(seed, n):
    # n = 2 < d: the solution of minimum norm.
    prompt = _prompt(seed, n)
    weight, *_ = np.linalg.lstsq(prompt.examples, prompt.labels)
    assert_close(
        least_squares(prompt), prompt.query @ weight, rtol=1e-8
    )  # conditioning


def test_least_squares_finds_noiseless_weights():
    prompt = _prompt(1, noise=0.0)
    assert_close(least_squares(prompt), prompt.target)


def test_small_singular_values_are_cut_off():
    X = jnp.array([[1.0, 0.0], [0.0, 1e-3]])
    prompt = Prompt(X, jnp.ones(2), jnp.ones(2))
    assert_close(LeastSquares()(prompt), 1001.0)
    assert_close(LeastSquares(cutoff=1e-2)(prompt), 1.0)


def test_averaging_by_hand():
    X, y = jnp.array([[1.0, 2.0], [3.0, 4.0]]), jnp.array([1.0, -1.0])
    # (1·(1, 2) − 1·(3, 4))/2 = (−1, −1)
    assert_close(Averaging()(Prompt(X, y, jnp.array([10.0, 1.0]))), -11.0)


def test_zero_is_zero():
    assert_close(Zero()(_prompt(0)), 0.0)


@pytest.mark.parametrize("predictor", [LeastSquares(), Ridge(0.0), Ridge(1.0)])
def test_inputs_that_are_all_zero_predict_zero(predictor):
    prompt = Prompt(jnp.zeros((2, 3)), jnp.ones(2), jnp.ones(3))
    assert_close(predictor(prompt), 0.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Ridge(-1.0), "Ridge: `penalty` must be ≥ 0 and finite, got -1.0"),
        (
            lambda: Ridge(float("nan")),
            "Ridge: `penalty` must be ≥ 0 and finite, got nan",
        ),
        (
            lambda: LeastSquares(-1e-3),
            "LeastSquares: `cutoff` must be ≥ 0 and finite, got -0.001",
        ),
    ],
)
def test_bad_settings_are_named(call, message):
    with refused(message):
        call()


def test_one_compiled_ridge_serves_every_penalty():
    traces = []

    @eqx.filter_jit
    def predict(predictor, prompt):
        traces.append(1)
        return predictor(prompt)

    prompt = Prompt(jnp.eye(2), jnp.array([1.0, 2.0]), jnp.ones(2))
    found = [predict(Ridge(penalty), prompt) for penalty in (0.0, 1, np.float64(3.0))]
    assert_close(found, [3.0, 1.5, 0.75])
    assert len(traces) == 1
