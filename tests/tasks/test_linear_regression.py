"""Linear regression: weights, singular covariances, refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.tasks import LinearRegression
from tests.assertions import assert_close, assert_mean_close
from tests.refusals import refused

EYE = jnp.eye(2)


def test_labels_are_linear_in_a_fixed_weight():
    weight = jnp.array([1.0, -2.0])
    prompt = LinearRegression(EYE, weight=weight).sample(jax.random.key(0), 4)
    assert_close(prompt.labels, prompt.examples @ weight)
    assert_close(prompt.target, prompt.query @ weight)


def test_all_examples_share_the_weight():
    prompt = LinearRegression(EYE).sample(jax.random.key(1), 6)
    weight, residual, *_ = np.linalg.lstsq(prompt.examples, prompt.labels)
    assert_close(residual, [0.0], atol=1e-20)
    assert_close(prompt.target, prompt.query @ weight)


def test_weights_have_their_covariance(getkey):
    Omega = jnp.array([[2.0, 0.5], [0.5, 0.7]])
    task = LinearRegression(EYE, weight_covariance=Omega)
    w = np.asarray(jax.vmap(task.latent)(jax.random.split(getkey(), 20_000)))
    products = w[:, :, None] * w[:, None, :]
    assert_mean_close(
        products.mean(axis=0), products.std(axis=0) / np.sqrt(20_000), Omega
    )


def test_singular_covariances_live_on_their_range():
    task = LinearRegression(jnp.ones((2, 2)))
    prompt = task.sample(jax.random.key(2), 5)
    assert_close(prompt.examples[:, 0], prompt.examples[:, 1], atol=1e-7)  # √eps


@pytest.mark.parametrize(
    ("covariance", "options", "complaint"),
    [
        (
            jnp.ones((2, 3)),
            {},
            "`covariance` must be a square matrix, got shape (2, 3)",
        ),
        (
            jnp.array([[1.0, 0.5], [0.0, 1.0]]),
            {},
            "`covariance` must be symmetric,"
            " got entries that differ from their mirror image by 0.5",
        ),
        (
            -EYE,
            {},
            "`covariance` must be positive semi-definite, got smallest eigenvalue -1",
        ),
        (
            jnp.nan * EYE,
            {},
            "`covariance` must be finite, got 4 entries that are not",
        ),
        (EYE, {"noise_std": -0.1}, "`noise_std` must be ≥ 0 and finite, got -0.1"),
        (
            EYE,
            {"noise_std": float("inf")},
            "`noise_std` must be ≥ 0 and finite, got inf",
        ),
        (
            EYE,
            {"weight": jnp.ones(3)},
            "`weight` must be a vector of 2 numbers like `covariance`, got shape (3,)",
        ),
        (
            EYE,
            {"weight": jnp.array([1.0, jnp.nan])},
            "`weight` must be finite, got 1 entries that are not",
        ),
        (
            EYE,
            {"weight_covariance": jnp.eye(3)},
            "`weight_covariance` must be a 2×2 matrix like `covariance`, got shape (3,"
            " 3)",
        ),
        (
            EYE,
            {"weight_covariance": -EYE},
            "`weight_covariance` must be positive semi-definite,"
            " got smallest eigenvalue -1",
        ),
        (
            EYE,
            {"weight": jnp.ones(2), "weight_covariance": EYE},
            "give `weight` (fixed) or `weight_covariance` (random), not both",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_settings_are_named(covariance, options, complaint):
    with refused(f"LinearRegression: {complaint}"):
        LinearRegression(covariance, **options)
