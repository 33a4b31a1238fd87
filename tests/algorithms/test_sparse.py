"""Lasso and matching pursuit against scikit-learn, and their limits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sklearn.linear_model

from iclab.algorithms import Lasso, LeastSquares, OrthogonalMatchingPursuit
from iclab.core import Prompt
from tests.assertions import assert_close
from tests.refusals import refused

N, D, BATCH = 8, 12, 6


def _prompts(n=N):
    """Sparse weights, noise, correlated inputs; n < d."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(BATCH, n, D)) + rng.normal(size=(BATCH, n, 1))
    w = rng.normal(size=(BATCH, D)) * (np.arange(D) < 3)
    y = np.einsum("bnd,bd->bn", X, w) + 0.1 * rng.normal(size=(BATCH, n))
    query = rng.normal(size=(BATCH, D))
    return jax.vmap(Prompt)(*map(jnp.asarray, (X, y, query)))


PROMPTS = _prompts()


def _each():
    for i in range(BATCH):
        yield np.asarray(PROMPTS.examples[i]), np.asarray(PROMPTS.labels[i])


@pytest.mark.parametrize("penalty", [1e-2, 0.5, 20.0])
def test_lasso_is_that_of_scikit_learn(penalty):
    found = jax.jit(jax.vmap(Lasso(penalty).weight))(PROMPTS)
    for (X, y), w in zip(_each(), found, strict=True):
        theirs = sklearn.linear_model.Lasso(
            alpha=penalty / (2 * N), fit_intercept=False, tol=1e-14, max_iter=10**6
        ).fit(X, y)
        # Coordinate descent stops when its duality gap is below 1e-14 times ‖y‖².
        assert_close(w, theirs.coef_, rtol=1e-5, atol=1e-6)
        slope = 2 * X.T @ (y - X @ np.asarray(w))
        assert np.max(np.abs(slope)) <= penalty * (1 + 1e-9)
        active = np.asarray(w) != 0
        assert_close(slope[active], penalty * np.sign(w)[active], rtol=1e-8)


def test_a_large_penalty_leaves_nothing_and_none_least_squares():
    X, y = next(_each())
    prompt = Prompt(jnp.asarray(X[:, :4]), jnp.asarray(y), jnp.arange(4.0))
    largest = 2 * np.max(np.abs(X[:, :4].T @ y))
    assert_close(Lasso(largest * 1.001).weight(prompt), np.zeros(4), rtol=0, atol=0)
    assert np.any(Lasso(largest * 0.999).weight(prompt))
    assert_close(Lasso(0.0)(prompt), LeastSquares()(prompt), rtol=1e-8)


def test_one_input_is_a_soft_threshold():
    prompt = Prompt(jnp.array([[1.0], [2.0]]), jnp.array([1.0, 3.0]), jnp.ones(1))
    assert_close(Lasso(4.0)(prompt), (7 - 4 / 2) / 5)


def test_gradients_are_those_of_the_minimiser():
    prompt = jax.tree.map(lambda leaf: leaf[0], PROMPTS)
    answer = jax.jit(lambda penalty: Lasso(penalty)(prompt))
    slope = jax.grad(answer)(0.5)
    difference = (answer(0.5 + 1e-5) - answer(0.5 - 1e-5)) / 2e-5
    assert_close(slope, difference, rtol=1e-6)


def test_lasso_says_when_it_stops_early():
    prompt = jax.tree.map(lambda leaf: leaf[0], PROMPTS)
    with pytest.raises(Exception, match="Lasso: no minimum to `tolerance` = 1e-10 in"):
        jax.block_until_ready(jax.jit(Lasso(1e-2, max_steps=2).__call__)(prompt))


@pytest.mark.parametrize("sparsity", [1, 3, 20])
def test_pursuit_is_that_of_scikit_learn(sparsity):
    found = jax.jit(jax.vmap(OrthogonalMatchingPursuit(sparsity).weight))(PROMPTS)
    for (X, y), w in zip(_each(), found, strict=True):
        if sparsity <= N:
            theirs = sklearn.linear_model.orthogonal_mp(X, y, n_nonzero_coefs=sparsity)
            assert_close(w, theirs, rtol=1e-8)
        else:
            # Eight coordinates explain eight labels, and none is left to choose.
            assert np.sum(np.asarray(w) != 0) <= N
            assert_close(X @ np.asarray(w), y, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Lasso(-1.0), "Lasso: `penalty` must be ≥ 0 and finite, got -1.0"),
        (
            lambda: Lasso(1.0, max_steps=0),
            "Lasso: `max_steps` must be an integer ≥ 1, got 0",
        ),
        (
            lambda: OrthogonalMatchingPursuit(0),
            "OrthogonalMatchingPursuit: `sparsity` must be an integer ≥ 1, got 0",
        ),
    ],
)
def test_mistakes_are_named(call, message):
    with refused(message):
        call()
