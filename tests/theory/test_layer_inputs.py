"""Inputs by depth: the model's own tokens, the scalar recurrence, known numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.core import Prompt
from iclab.models import LinearTransformer
from iclab.theory import (
    layer_condition_numbers,
    layer_inputs,
    optimal_gd_plus_plus,
)
from tests.assertions import assert_close
from tests.refusals import refused


def random(*shape, seed=0):
    return jnp.asarray(np.random.default_rng([seed, *shape]).standard_normal(shape))


def multiples(factors, d):
    return jnp.einsum("k,ij->kij", jnp.asarray(factors), jnp.eye(d))


def test_inputs_are_those_of_the_model_in_token_space():
    """A query that is one of the examples goes through the layers as it does."""
    X, A, B = random(6, 3), random(3, 3, 3) / 3, random(3, 3, 3, seed=1) / 3
    model = LinearTransformer.sparse(A, B)
    found = layer_inputs(X, A, B)
    for j in (0, 4):
        prompt = Prompt(X, jnp.zeros(6), X[j], jnp.asarray(0.0))
        streams = model.streams_in_token_space(prompt)
        assert_close(found[:, j], streams[:3, :3])


def test_singular_values_follow_the_scalar_recurrence():
    X, a, b = random(7, 3), np.array([-0.3, -0.5, -1.0]), np.array([0.4, 0.3, 9.0])
    S = np.linalg.eigvalsh(np.asarray(X.T @ X) / 7)
    factor, expected = np.ones(3), []
    for a_i, b_i in zip(a, b, strict=True):
        values = S * factor**2
        expected.append(values.max() / values.min())
        factor = factor * (1 + a_i * b_i * S * factor**2)
    found = layer_condition_numbers(X, multiples(a, 3), multiples(b, 3))
    assert_close(found, np.array(expected))


def test_any_covariance_has_the_numbers_of_white_inputs():
    root = random(3, 3) + 2 * jnp.eye(3)
    Sigma, X = root @ root.T, random(8, 3)
    a, b, _ = optimal_gd_plus_plus(3, 8, 2)
    A, B = multiples(a, 3), multiples(b, 3)
    white = layer_condition_numbers(X, A, B)
    own = layer_condition_numbers(
        X @ root.T, A @ jnp.linalg.inv(Sigma), B, covariance=Sigma
    )
    assert_close(own, white, rtol=1e-8)  # solves with Σ
    assert float(white[1]) < float(white[0])


def test_without_b_nothing_moves():
    X, A = random(2, 4), random(3, 4, 4)
    assert_close(layer_inputs(X, A, None), jnp.stack([X] * 3), rtol=0, atol=0)
    values = np.linalg.svd(np.asarray(X), compute_uv=False)
    assert_close(
        layer_condition_numbers(X, A, None), [(values[0] / values[1]) ** 2] * 3
    )


@pytest.mark.parametrize(
    ("n", "medians", "worse"),
    [(10, (11.9, 5.3, 21.7), 0.81), (20, (4.8, 1.8, 1.5), 0.18)],
)
def test_best_gd_plus_plus_need_not_condition_every_layer(n, medians, worse):
    """At n = 10 X₂ is worse than X₁; numbers of an independent check, to a digit."""
    a, b, _ = optimal_gd_plus_plus(5, n, 3)
    numbers = jax.vmap(
        lambda X: layer_condition_numbers(X, multiples(a, 5), multiples(b, 5))
    )(jax.random.normal(jax.random.key(0), (4000, n, 5)))
    assert_close(np.median(numbers, axis=0), np.array(medians), rtol=0.15)
    assert np.mean(numbers[:, 2] > numbers[:, 1]) == pytest.approx(worse, abs=0.03)


def test_layers_must_agree():
    with refused(
        "layer_inputs: `B` must be an array of shape (2, 2, 2) like `A`, got shape"
        " (3, 2, 2)"
    ):
        layer_inputs(random(3, 2), random(2, 2, 2), random(3, 2, 2))
