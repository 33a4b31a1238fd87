"""Ridge regression over features: against NumPy and scikit-learn, and their gap."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sklearn.linear_model

from iclab.theory import (
    icl_ridge,
    mean_performance_gap,
    performance_gap,
    representation_loss,
    representation_optimum_closed,
    ridge_coefficients,
    ridge_weights,
    sampled_performance_gap,
)
from tests.assertions import assert_close, assert_mean_close
from tests.refusals import refused

K, TAU = 12, 0.3
SHAPES = ((3, 5), (5, 3), (4, 4))


def _instance(N, m):
    rng = np.random.default_rng(10 * N + m)
    return jnp.asarray(rng.normal(size=(K, m))), jnp.asarray(rng.normal(size=N))


@pytest.mark.parametrize(("N", "m"), SHAPES)
def test_scikit_learn_agrees(N, m):
    features, labels = _instance(N, m)
    Z, y = np.asarray(features[:N]), np.asarray(labels)
    for best, penalty in ((False, m * TAU), (True, N * TAU)):
        coefficients, predictions = icl_ridge(features, labels, TAU, best=best)
        model = sklearn.linear_model.Ridge(alpha=penalty, fit_intercept=False)
        model.fit(Z, y)
        assert_close(coefficients, model.coef_)
        others = model.predict(np.asarray(features[N:]))
        assert_close(predictions, np.concatenate([y, others]))


@pytest.mark.parametrize(("N", "m"), SHAPES)
def test_the_normal_equations_hold(N, m):
    features, labels = _instance(N, m)
    Z, y = np.asarray(features[:N]).T, np.asarray(labels)
    # Gradients of (20) and (25) vanish at their solutions.
    for best, penalty in ((False, m * TAU), (True, N * TAU)):
        found = np.asarray(icl_ridge(features, labels, TAU, best=best)[0])
        gradient = -Z @ (y - Z.T @ found) / N + penalty / N * found
        assert_close(gradient, np.zeros(m))
    weights = representation_optimum_closed(features, N, TAU)
    assert_close(np.asarray(weights).T @ y, icl_ridge(features, labels, TAU)[1])


def test_no_penalty_is_least_norm():
    features, labels = _instance(3, 5)
    expected = np.linalg.pinv(np.asarray(features[:3])) @ np.asarray(labels)
    assert_close(ridge_coefficients(features[:3], labels, 0.0), expected)


def test_the_trained_ridge_is_the_best():
    for N, m in SHAPES:
        features, _ = _instance(N, m)
        penalties = (m * TAU, N * TAU, 0.7 * m * TAU)
        trained, best, other = (
            float(representation_loss(ridge_weights(features, N, rho), features, TAU))
            for rho in penalties
        )
        assert trained < other
        assert trained < best or m == N


def test_performance_gap_is_a_mean_over_labels(getkey):
    features, _ = _instance(3, 5)
    F, draws = np.asarray(features), 40_000
    D = np.asarray(
        ridge_weights(features, 3, 5 * TAU) - ridge_weights(features, 3, 3 * TAU)
    )
    noise = np.asarray(jax.random.normal(getkey(), (2, draws, 5)))
    for mean, std in ((0.0, 1.0), (1.0, 2.0)):
        coefficients = mean + std * noise[0]
        scale = TAU**0.5 * np.linalg.norm(coefficients, axis=1)
        labels = coefficients @ F[:3].T + scale[:, None] * noise[1][:, :3]
        gaps = ((labels @ D) ** 2).sum(axis=1) / K
        moment = std**2 * jnp.eye(5) + mean**2 * jnp.ones((5, 5))
        exact = performance_gap(features, 3, TAU, coefficient_moment=moment)
        assert_mean_close(gaps.mean(), gaps.std() / draws**0.5, exact)
        if mean == 0:
            assert_close(performance_gap(features, 3, TAU), exact)
    assert_close(performance_gap(_instance(4, 4)[0], 4, TAU), 0.0)


def test_averages_over_tables_agree(getkey):
    m, N, draws = 3, 5, 4000
    mean, error = sampled_performance_gap(getkey(), m, N, K, TAU, draws=draws)
    exact = mean_performance_gap(m, N, K, TAU, degree=63)
    assert_mean_close(mean, error, exact)
    tables = np.random.default_rng(1).normal(size=(draws, K, m))
    average = jax.jit(jax.vmap(lambda table: performance_gap(table, N, TAU)))
    gaps = np.asarray(average(tables))
    assert_mean_close(gaps.mean(), gaps.std() / draws**0.5, exact)
    # Two degrees differ by the error of the quadrature, slow for so few features.
    assert_close(mean_performance_gap(m, N, K, TAU, degree=47), exact, rtol=1e-3)


def test_equal_penalties_have_no_gap():
    assert_close(mean_performance_gap(3, 3, K, TAU, degree=7), 0.0)


FEATURES, LABELS = _instance(3, 5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: icl_ridge(FEATURES, LABELS, -1.0),
            "icl_ridge: `noise_variance` must be ≥ 0 and finite, got -1.0",
        ),
        (
            lambda: icl_ridge(FEATURES, jnp.ones(13), 1.0),
            "icl_ridge: `labels` must be of a length that is at most the dictionary's"
            " size 12, got 13",
        ),
        (
            lambda: ridge_coefficients(FEATURES, LABELS, 1.0),
            "ridge_coefficients: `labels` must be a vector of 12 numbers"
            " like `features`,"
            " got shape (3,)",
        ),
        (
            lambda: ridge_weights(FEATURES, 3, -1.0),
            "ridge_weights: `penalty` must be ≥ 0 and finite, got -1.0",
        ),
        (
            lambda: performance_gap(FEATURES, 3, TAU, coefficient_moment=jnp.eye(4)),
            "performance_gap: `coefficient_moment` must be a 5×5 matrix like"
            " `features`,"
            " got shape (4, 4)",
        ),
        (
            lambda: mean_performance_gap(5, 13, 12, TAU),
            "mean_performance_gap: `context_length` must be at most `dictionary_size`"
            " = 12, got 13",
        ),
        (
            lambda: mean_performance_gap(5, 3, 12, 0.0),
            "mean_performance_gap: `noise_variance` must be > 0 and finite, got 0.0",
        ),
        (
            lambda: sampled_performance_gap(jax.random.key(0), 5, 3, 12, TAU, draws=1),
            "sampled_performance_gap: `draws` must be ≥ 2, for an error bar, got 1",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_mistakes_are_named(call, message):
    with refused(message):
        call()
