"""A dictionary, a table of features, labels of all tokens at once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.algorithms import Ridge
from iclab.tasks import (
    GaussianCoefficients,
    RademacherCoefficients,
    Representation,
    gaussian_tokens,
    unit_tokens,
)
from iclab.theory import icl_ridge
from tests.assertions import assert_close, assert_mean_close
from tests.refusals import refused

K, D, M, N, TAU, DRAWS = 6, 3, 4, 2, 0.3, 40_000


def _task(key, **options):
    settings = {"context_length": N, "noise_variance": TAU, **options}
    return Representation.random(
        key, dictionary_size=K, input_dim=D, feature_dim=M, **settings
    )


def test_tokens_have_the_promised_norm(getkey):
    assert_close(jnp.linalg.norm(unit_tokens(getkey(), K, D), axis=1), np.ones(K))
    raw = np.asarray(gaussian_tokens(getkey(), 500, 40))
    assert_mean_close((raw**2).mean(), (2 / raw.size) ** 0.5, 1.0)
    key = getkey()
    unit, free = _task(key), _task(key, unit_norm=False)
    norms = jnp.linalg.norm(free.tokens, axis=1, keepdims=True)
    assert_close(unit.tokens, free.tokens / norms)
    assert_close(unit.features, free.features, rtol=0, atol=0)


def test_labels_have_the_covariance_of_the_paper(getkey):
    # E yyᵀ = FFᵀ + mτI for E λλᵀ = I: the noise of a label has variance τ‖λ‖².
    task = _task(getkey(), law=RademacherCoefficients())
    labels = np.asarray(task.sample_labels_batch(getkey(), DRAWS))
    products = labels[:, :, None] * labels[:, None, :]
    F = np.asarray(task.features)
    expected = F @ F.T + M * TAU * np.eye(K)
    assert_mean_close(products.mean(0), products.std(0) / DRAWS**0.5, expected)
    assert_mean_close(labels.mean(0), labels.std(0) / DRAWS**0.5, 0.0)


def test_noise_scales_with_the_coefficients(getkey):
    task, latent = _task(getkey()), jnp.array([1.0, -2.0, 0.0, 2.0])
    draw = jax.vmap(lambda key: task.labels_given(latent, key))
    labels = np.asarray(draw(jax.random.split(getkey(), DRAWS)))
    square = (labels - np.asarray(task.features @ latent)) ** 2
    assert_mean_close(square.mean(0), square.std(0) / DRAWS**0.5, 9 * TAU)


def test_a_prompt_asks_for_one_token_of_a_draw(getkey):
    task, key = _task(getkey()), getkey()
    draw = jax.jit(
        lambda key: (task.sample_batch(key, 20, N), task.sample_labels_batch(key, 20))
    )
    prompts, labels = jax.tree.map(np.asarray, draw(key))
    tokens = np.asarray(task.tokens)
    for row in range(20):
        assert_close(prompts.examples[row], tokens[:N], rtol=0, atol=0)
        assert_close(prompts.labels[row], labels[row, :N], rtol=0, atol=0)
        index = int(np.argmax((tokens == prompts.query[row]).all(axis=1)))
        assert_close(prompts.target[row], labels[row, index], rtol=0, atol=0)
    assert task.sample(key).examples.shape == (N, D)


def test_labels_of_inputs_are_looked_up(getkey):
    task, latent = _task(getkey()), jnp.arange(4.0)
    order = jnp.array([3, 0])
    found = task.labels(latent, task.tokens[order])
    assert_close(found, task.features[order] @ latent)
    with pytest.raises(Exception, match="`inputs` must be tokens of the dictionary"):
        task.labels(latent, task.tokens[order] + 1)


def test_ridge_swaps_in_feature_space(getkey):
    task = _task(getkey())
    twin, key = task.in_feature_space(), jax.random.key(5)
    draw = jax.jit(
        lambda key: (twin.sample_batch(key, 12, N), task.sample_labels_batch(key, 12))
    )
    prompts, labels = draw(key)
    predictions = np.asarray(jax.jit(jax.vmap(Ridge(M * TAU)))(prompts))
    ridge = jax.jit(jax.vmap(lambda y: icl_ridge(task.features, y, TAU)[1]))
    expected = np.asarray(ridge(labels[:, :N]))
    features = np.asarray(task.features)
    asked = [
        int(np.argmax((features == q).all(axis=1))) for q in np.asarray(prompts.query)
    ]
    assert {index >= N for index in asked} == {False, True}
    for row, index in enumerate(asked):
        if index >= N:  # shown labels are copied, which Ridge does not do
            assert_close(predictions[row], expected[row, index])


def test_other_laws_keep_the_dictionary(getkey):
    task = _task(getkey())
    other = task.with_law(GaussianCoefficients(1.0, 2.0))
    assert_close(other.features, task.features, rtol=0, atol=0)
    labels = np.asarray(other.sample_labels_batch(getkey(), DRAWS))
    error = labels.std(0) / DRAWS**0.5
    assert_mean_close(labels.mean(0), error, np.asarray(task.features).sum(axis=1))


def _made(tokens=None, features=None, **options):
    tokens = jnp.arange(6.0).reshape(3, 2) if tokens is None else tokens
    features = jnp.ones((3, 2)) if features is None else features
    return Representation(tokens, features, **{"context_length": 2, **options})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: _made(context_length=4),
            "Representation: `context_length` must be at most the dictionary's size 3,"
            " got 4",
        ),
        (
            lambda: _made(context_length=0),
            "Representation: `context_length` must be an integer ≥ 1, got 0",
        ),
        (
            lambda: _made(noise_variance=-0.1),
            "Representation: `noise_variance` must be ≥ 0 and finite, got -0.1",
        ),
        (
            lambda: _made(features=jnp.ones((4, 2))),
            "Representation: `features` must be a 3×m matrix like `tokens`,"
            " got shape (4, 2)",
        ),
        (
            lambda: _made(features=jnp.ones(3)),
            "Representation: `features` must be a 3×m matrix like `tokens`,"
            " got shape (3,)",
        ),
        (
            lambda: _made(tokens=jnp.full((3, 2), jnp.nan)),
            "Representation: `tokens` must be finite, got 6 entries that are not",
        ),
        (
            lambda: _made(tokens=jnp.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])),
            "Representation: `tokens` must be distinct (Assumption 3),"
            " got tokens 0 and 2 alike",
        ),
        (
            lambda: _made().sample(jax.random.key(0), 4),
            "Representation.sample: `examples` must be at most the dictionary's size 3,"
            " got 4",
        ),
        (
            lambda: _made().sample_labels_batch(jax.random.key(0), 0),
            "Representation.sample_labels_batch: `prompts` must be an integer ≥ 1,"
            " got 0",
        ),
        (
            lambda: _task(jax.random.key(0), context_length=7),
            "Representation: `context_length` must be at most the dictionary's size 6,"
            " got 7",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_mistakes_are_named(call, message):
    with refused(message):
        call()


def test_twins_are_admitted_on_request():
    tokens = jnp.ones((3, 2))
    assert _made(tokens=tokens, distinct=False).dictionary_size == 3
