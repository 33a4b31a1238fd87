"""Huber's regression against scikit-learn, its conditions, and its limits."""

import jax
import jax.numpy as jnp
import numpy as np
import sklearn.linear_model

from iclab.algorithms import Huber, LeastSquares
from iclab.core import Prompt
from tests.assertions import assert_close
from tests.refusals import refused

N, D, BATCH = 20, 3, 5


def _prompts():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(BATCH, N, D)), rng.normal(size=(BATCH, D))
    noise = rng.standard_t(1.5, size=(BATCH, N))
    y = np.einsum("bnd,bd->bn", X, w) + noise
    return jax.vmap(Prompt)(*map(jnp.asarray, (X, y, rng.normal(size=(BATCH, D)))))


PROMPTS = _prompts()
_weights = jax.jit(jax.vmap(lambda prompt, d: Huber(d).weight(prompt)))


def test_weights_are_those_of_scikit_learn():
    """Theirs minimises over a scale σ too; at that σ it is ours with δ = εσ."""
    theirs, thresholds = [], []
    for i in range(BATCH):
        X, y = np.asarray(PROMPTS.examples[i]), np.asarray(PROMPTS.labels[i])
        model = sklearn.linear_model.HuberRegressor(
            epsilon=1.5, alpha=0.0, fit_intercept=False, tol=1e-12, max_iter=10_000
        ).fit(X, y)
        theirs.append(model.coef_)
        thresholds.append(1.5 * model.scale_)
    found = _weights(PROMPTS, jnp.asarray(thresholds))
    # Theirs comes from a quasi-Newton method.
    assert_close(found, np.stack(theirs), rtol=1e-4, atol=1e-5)


def test_cut_residuals_are_orthogonal_to_the_inputs():
    found = np.asarray(_weights(PROMPTS, jnp.full(BATCH, 0.2)))
    for i in range(BATCH):
        X, y = np.asarray(PROMPTS.examples[i]), np.asarray(PROMPTS.labels[i])
        residuals = y - X @ found[i]
        assert np.sum(np.abs(residuals) > 0.2) > 3
        assert_close(np.clip(residuals, -0.2, 0.2) @ X, np.zeros(D), rtol=0, atol=1e-9)


def test_a_large_threshold_is_least_squares():
    prompt = jax.tree.map(lambda leaf: leaf[0], PROMPTS)
    assert_close(Huber(1e6)(prompt), LeastSquares()(prompt))


def test_a_small_threshold_is_a_median():
    """With the input 1 everywhere: the middle one of five labels."""
    labels = jnp.array([5.0, -1.0, 0.3, 100.0, 0.2])
    prompt = Prompt(jnp.ones((5, 1)), labels, jnp.ones(1))
    assert_close(Huber(1e-3)(prompt), 0.3, atol=2e-3)


def test_gradients_are_those_of_the_minimiser():
    prompt = jax.tree.map(lambda leaf: leaf[0], PROMPTS)
    answer = jax.jit(lambda threshold: Huber(threshold)(prompt))
    difference = (answer(0.5 + 1e-6) - answer(0.5 - 1e-6)) / 2e-6
    assert_close(jax.grad(answer)(0.5), difference, rtol=1e-5)


def test_mistakes_are_named():
    with refused("Huber: `threshold` must be > 0 and finite, got 0.0"):
        Huber(0.0)
    with refused("Huber: `tolerance` must be ≥ 0 and finite, got -1.0"):
        Huber(1.0, tolerance=-1.0)
