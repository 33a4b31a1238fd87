"""Representations that are functions, against NumPy and against their kernels."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.tasks import (
    FourierFeatures,
    NetworkFeatures,
    PolynomialFeatures,
    Representation,
    unit_tokens,
)
from tests.assertions import assert_close, assert_mean_close
from tests.refusals import refused

TOKEN = jnp.array([2.0, -3.0])


def test_polynomials_are_all_monomials():
    features = PolynomialFeatures(2, 2)
    assert (features.input_dim, features.feature_dim) == (2, 6)
    assert_close(features(TOKEN), [1.0, 2.0, -3.0, 4.0, -6.0, 9.0])
    assert PolynomialFeatures(3, 3)(jnp.ones(3)).shape == (20,)


def test_fourier_features_approach_their_kernel(getkey):
    m, other = 20_000, jnp.array([1.5, -2.0])
    features = FourierFeatures.random(
        getkey(), input_dim=2, feature_dim=m, length_scale=2.0
    )
    products = np.asarray(features(TOKEN) * features(other)) * m
    kernel = np.exp(-float(jnp.sum((TOKEN - other) ** 2)) / 8)
    assert_mean_close(products.mean(), products.std() / m**0.5, kernel)


def test_networks_are_two_layers(getkey):
    network = NetworkFeatures.random(getkey(), input_dim=2, hidden_dim=5, feature_dim=3)
    hidden, output = np.asarray(network.hidden), np.asarray(network.output)
    assert_close(network(TOKEN), output @ np.tanh(hidden @ np.asarray(TOKEN)))
    assert (network.input_dim, network.feature_dim) == (2, 3)


def test_tasks_from_maps(getkey):
    tokens, features = unit_tokens(getkey(), 5, 2), PolynomialFeatures(2, 2)
    task = Representation.from_map(tokens, features, context_length=2)
    assert_close(task.features, np.stack([features(token) for token in tokens]))
    message = (
        "Representation.from_map: `tokens` must be of dimension 2, that of `function`,"
        " got shape (5, 3)"
    )
    with refused(message):
        Representation.from_map(jnp.ones((5, 3)), features, context_length=2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: PolynomialFeatures(2, 0),
            "PolynomialFeatures: `degree` must be an integer from 1 to 64, got 0",
        ),
        (
            lambda: PolynomialFeatures(2, 1)(jnp.ones(3)),
            "PolynomialFeatures: `token` must be a vector of dimension 2,"
            " got shape (3,)",
        ),
        (
            lambda: FourierFeatures(jnp.ones((3, 2)), jnp.ones(2)),
            "FourierFeatures: `phases` must be a vector of 3 numbers"
            " like `frequencies`,"
            " got shape (2,)",
        ),
        (
            lambda: FourierFeatures.random(
                jax.random.key(0), input_dim=2, feature_dim=3, length_scale=0.0
            ),
            "FourierFeatures.random: `length_scale` must be > 0 and finite, got 0.0",
        ),
        (
            lambda: NetworkFeatures(jnp.ones((3, 2)), jnp.ones((4, 2))),
            "NetworkFeatures: `output` must be an m×3 matrix like `hidden`,"
            " got shape (4, 2)",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_mistakes_are_named(call, message):
    with refused(message):
        call()
