"""Iterations against plain loops, autodiff and eigenvalue calculus."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from iclab.algorithms import (
    Averaging,
    GradientDescent,
    GradientDescentPlusPlus,
    IterativeNewton,
    LeastSquares,
    PreconditionedGradientDescent,
)
from iclab.core import Prompt
from tests.assertions import assert_close
from tests.refusals import refused

FEW = settings(max_examples=10, deadline=None, derandomize=True, database=None)
STEPS = jnp.array([0.5, 0.2, 0.9])
CONTRACTIONS = jnp.array([0.3, -0.1, 0.2])
P = jnp.array([[1.0, 0.2, 0.0], [0.0, 0.7, 0.1], [-0.3, 0.0, 0.4]])

gradient_descent = jax.jit(GradientDescent(STEPS).__call__)
preconditioned_descent = jax.jit(PreconditionedGradientDescent(P, STEPS).__call__)
plus_plus = jax.jit(GradientDescentPlusPlus(STEPS, CONTRACTIONS).__call__)
newton = jax.jit(IterativeNewton(60).__call__)
least_squares = jax.jit(LeastSquares().__call__)


def _prompt(seed, n=5, noise=0.5):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, 3)), rng.normal(size=3)
    y, query = X @ w + noise * rng.normal(size=n), rng.normal(size=3)
    X, y, query, target = map(jnp.asarray, (X, y, query, query @ w))
    return Prompt(X, y, query, target)


@jax.jit
def _loss_gradient(weight, prompt):
    def loss(w):
        return jnp.mean((prompt.examples @ w - prompt.labels) ** 2) / 2

    return jax.grad(loss)(weight)


@FEW
@given(st.integers(0, 10_000))
def test_steps_follow_the_gradient(seed):
    prompt = _prompt(seed)
    plain = preconditioned = jnp.zeros(3)
    for eta in STEPS:
        plain = plain - eta * _loss_gradient(plain, prompt)
        step = P @ _loss_gradient(preconditioned, prompt)
        preconditioned = preconditioned - eta * step
    assert_close(gradient_descent(prompt), prompt.query @ plain)
    found = preconditioned_descent(prompt)
    assert_close(found, prompt.query @ preconditioned)


def test_one_unit_step_is_the_default():
    prompt = _prompt(0)
    expected = prompt.query @ P @ prompt.correlation()
    assert_close(PreconditionedGradientDescent(P)(prompt), expected)
    assert_close(GradientDescent(jnp.ones(1))(prompt), Averaging()(prompt))


def test_many_small_steps_reach_least_squares():
    prompt = _prompt(1)
    # The smallest eigenvalue of S is above 0.04, and (1 − 0.2·0.04)^4000 < 1e-13.
    assert np.linalg.eigvalsh(prompt.gram())[0] > 0.04
    found = GradientDescent(jnp.full(4000, 0.2))(prompt)
    assert_close(found, least_squares(prompt))


@FEW
@given(st.integers(0, 10_000))
def test_plus_plus_is_a_polynomial_of_the_second_moment(seed):
    # Noiseless labels: error = wᵀ c(S) x_q, with c from the scalar recursion
    # c ← c(1 − ηhs²), s ← s(1 − βhs²) at every eigenvalue h of S.
    prompt = _prompt(seed, noise=0.0)
    h, V = np.linalg.eigh(np.asarray(prompt.gram()))
    c, s = np.ones(3), np.ones(3)
    for eta, beta in zip(np.asarray(STEPS), np.asarray(CONTRACTIONS), strict=True):
        c, s = c * (1 - eta * h * s**2), s * (1 - beta * h * s**2)
    weight, *_ = np.linalg.lstsq(prompt.examples, prompt.labels)
    error = weight @ V @ np.diag(c) @ V.T @ np.asarray(prompt.query)
    found = plus_plus(prompt)
    assert_close(found, prompt.target - error, rtol=1e-8, atol=1e-9)  # conditioning


def test_plus_plus_token_by_token():
    # Every residual and every input moves; the query is a token without a label.
    prompt = _prompt(2)
    X = np.vstack([prompt.examples, prompt.query])
    r = np.append(prompt.labels, 0.0)
    for eta, beta in zip(np.asarray(STEPS), np.asarray(CONTRACTIONS), strict=True):
        gram = X @ X[:5].T / 5
        r, X = r - eta * gram @ r[:5], X - beta * gram @ X[:5]
    found = plus_plus(prompt)
    assert_close(found, -r[-1])


def test_plus_plus_without_contraction_is_gradient_descent():
    prompt = _prompt(3)
    found = GradientDescentPlusPlus(STEPS, jnp.zeros(3))(prompt)
    assert_close(found, gradient_descent(prompt))


@FEW
@given(st.integers(0, 10_000))
def test_newton_converges_to_least_squares(seed):
    prompt = _prompt(seed, n=5)
    found = newton(prompt)
    expected = least_squares(prompt)
    assert_close(found, expected, rtol=1e-7, atol=1e-9)  # cond(S) may be 10⁶


def test_newton_finds_minimum_norm():
    prompt = _prompt(0, n=2)
    assert_close(IterativeNewton(30)(prompt), least_squares(prompt), rtol=1e-8)


def test_newton_squares_its_residual():
    # On S = diag(1, 1/4): M = (1 − r)/h with r₀ = 1 − h²/tr², r ← r².
    X = jnp.array([[jnp.sqrt(2.0), 0.0], [0.0, jnp.sqrt(0.5)]])
    prompt = Prompt(X, jnp.array([1.0, 1.0]), jnp.array([1.0, 1.0]))
    h, b = np.array([1.0, 0.25]), np.asarray(prompt.correlation())
    r = (1 - h**2 / 1.25**2) ** (2**3)
    assert_close(IterativeNewton(3)(prompt), np.sum((1 - r) / h * b))


@pytest.mark.parametrize("size", [0.0, 1e-120])
def test_newton_stays_finite_at_tiny_inputs(size):
    prompt = Prompt(size * jnp.ones((2, 3)), jnp.ones(2), jnp.ones(3))
    assert jnp.isfinite(IterativeNewton(4)(prompt))


EYE = jnp.eye(3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: GradientDescent(jnp.zeros(0)),
            "GradientDescent: `step_sizes` must be a vector of numbers, got shape"
            " (0,), which is empty",
        ),
        (
            lambda: GradientDescent(jnp.ones((2, 2))),
            "GradientDescent: `step_sizes` must be a vector of numbers,"
            " got shape (2, 2)",
        ),
        (
            lambda: GradientDescent(jnp.array([0.1, jnp.nan])),
            "GradientDescent: `step_sizes` must be finite, got 1 entries that are not",
        ),
        (
            lambda: PreconditionedGradientDescent(jnp.ones((2, 3))),
            "PreconditionedGradientDescent: `preconditioner` must be a square matrix,"
            " got shape (2, 3)",
        ),
        (
            lambda: PreconditionedGradientDescent(jnp.inf * EYE),
            "PreconditionedGradientDescent: `preconditioner` must be finite,"
            " got 9 entries that are not",
        ),
        (
            lambda: PreconditionedGradientDescent(EYE, jnp.ones(())),
            "PreconditionedGradientDescent: `step_sizes` must be a vector of"
            " numbers, got shape ()",
        ),
        (
            lambda: GradientDescentPlusPlus(jnp.ones(2), jnp.ones(3)),
            "GradientDescentPlusPlus: `contractions` must be a vector of 2 numbers"
            " like `step_sizes`, got shape (3,)",
        ),
        (
            lambda: GradientDescentPlusPlus(jnp.ones(2), jnp.ones((2, 1))),
            "GradientDescentPlusPlus: `contractions` must be a vector of 2 numbers"
            " like `step_sizes`, got shape (2, 1)",
        ),
        (
            lambda: IterativeNewton(0),
            "IterativeNewton: `iterations` must be an integer ≥ 1, got 0",
        ),
        (
            lambda: IterativeNewton(2.5),  # pyright: ignore[reportArgumentType]
            "IterativeNewton: `iterations` must be an integer ≥ 1, got 2.5",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_settings_are_named(call, message):
    with refused(message):
        call()
