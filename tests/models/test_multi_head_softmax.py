"""Multi-head softmax attention: formula (8) against the token space of (5)–(7)."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.models import MultiHeadSoftmax
from iclab.tasks import unit_tokens
from iclab.theory import multi_head_weights
from tests.assertions import assert_close
from tests.refusals import refused

H, D, K, N = 4, 3, 6, 2


def _model(key, dtype=float):
    first, second = jax.random.split(key)
    Q, w = jax.random.normal(first, (H, D, D)), jax.random.normal(second, (H, K))
    return MultiHeadSoftmax(Q.astype(dtype), w.astype(dtype))


def test_both_spaces_agree(getkey):
    model, tokens = _model(getkey()), unit_tokens(getkey(), K, D)
    labels = jax.random.normal(getkey(), (N,))

    @jax.jit
    def routes(model, tokens, labels):
        ours, theirs = model(tokens, labels), model.in_token_space(tokens, labels)
        theory = multi_head_weights(model.key_query, model.value, tokens, N)
        return ours, theirs, model.weights(tokens, N), theory

    prediction, expected, weights, theory = map(
        np.asarray, routes(model, tokens, labels)
    )
    assert prediction.shape == (K,)
    assert_close(prediction, expected, rtol=0, atol=1e-12)
    assert_close(prediction, weights.T @ np.asarray(labels))
    assert_close(weights, theory)


def test_predictions_are_a_loop(getkey):
    model, tokens = _model(getkey()), np.asarray(unit_tokens(getkey(), K, D))
    Q, w = np.asarray(model.key_query), np.asarray(model.value)
    labels = np.array([1.0, -2.0])
    expected = np.zeros(K)
    for k in range(K):
        for h in range(H):
            scores = np.exp(tokens[:N] @ Q[h] @ tokens[k])
            expected[k] += w[h, k] * labels @ (scores / scores.sum())
    assert_close(model(jnp.asarray(tokens), jnp.asarray(labels)), expected)


def test_projections_have_the_form_of_the_paper(getkey):
    model = _model(getkey())
    W_O, W_V, W_K, W_Q = model.projections()
    assert W_O.shape == (K, H * K)
    assert_close(W_V[:, :, :D], np.zeros((H, K, D)))
    assert_close(W_V[:, :, D], model.value)
    product = np.asarray(W_K).transpose(0, 2, 1) @ np.asarray(W_Q)
    assert_close(product[:, :D, :D], model.key_query)
    assert_close(product[:, D], 0.0)
    assert_close(product[:, :, D], 0.0)


def test_attention_sums_to_one_and_survives_large_scores(getkey):
    model, tokens = _model(getkey()), unit_tokens(getkey(), K, D)
    large = MultiHeadSoftmax(1e4 * model.key_query, model.value)
    attention = large.attention(tokens, N)
    assert_close(jnp.sum(attention, axis=1), np.ones((H, K)))


def test_the_start_of_the_paper(getkey):
    model = MultiHeadSoftmax.random(
        getkey(), heads=9, input_dim=40, dictionary_size=K, scale=2.0
    )
    assert_close(model.value, np.zeros((9, K)))
    assert model.key_query.shape == (9, 40, 40)
    assert abs(float(jnp.std(model.key_query)) - 2) < 0.1
    assert (model.heads, model.dimension, model.dictionary_size) == (9, 40, K)


def test_precision_is_that_of_the_parameters(getkey):
    model, tokens = _model(getkey(), jnp.float32), unit_tokens(getkey(), K, D)
    prediction = model(tokens, jnp.ones(N))
    assert prediction.dtype == jnp.float32
    precise = MultiHeadSoftmax(model.key_query.astype(float), model.value.astype(float))
    # The rounding of float32.
    assert_close(prediction, precise(tokens, jnp.ones(N)), rtol=1e-5, atol=1e-6)


def test_no_array_holds_all_products():
    # H·N·K·d numbers would be 38.4 million; the largest array has H·d·d = 640,000.
    sizes: dict[str, Any] = {"heads": 64, "input_dim": 100, "dictionary_size": 200}
    model = jax.eval_shape(lambda: MultiHeadSoftmax.random(jax.random.key(0), **sizes))

    def loss(model, tokens):
        return jnp.sum(model.weights(tokens, 30) ** 2)

    shape = jax.ShapeDtypeStruct((200, 100), float)
    program = jax.make_jaxpr(jax.value_and_grad(loss))(model, shape)

    def largest(jaxpr):
        own = [v.aval.size for e in jaxpr.eqns for v in e.outvars]
        inner = [
            largest(getattr(p, "jaxpr", p))
            for e in jaxpr.eqns
            for p in e.params.values()
            if hasattr(getattr(p, "jaxpr", p), "eqns")
        ]
        return max([*own, *inner])

    assert largest(program.jaxpr) == 64 * 100 * 100


def _shown(tokens=None, labels=None):
    model = _model(jax.random.key(0))
    tokens = jnp.ones((K, D)) if tokens is None else tokens
    return model(tokens, jnp.ones(N) if labels is None else labels)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: MultiHeadSoftmax(jnp.ones((2, 3, 4)), jnp.ones((2, K))),
            "MultiHeadSoftmax: `key_query` must be an array of shape"
            " (heads, d, d), got shape (2, 3, 4)",
        ),
        (
            lambda: MultiHeadSoftmax(jnp.ones((2, 3, 3)), jnp.ones((3, K))),
            "MultiHeadSoftmax: `value` must be a 2×K matrix like `key_query`,"
            " got shape (3, 6)",
        ),
        (
            lambda: MultiHeadSoftmax(jnp.ones((2, 3, 3)), jnp.full((2, K), jnp.inf)),
            "MultiHeadSoftmax: `value` must be finite, got 12 entries that are not",
        ),
        (
            lambda: _shown(tokens=jnp.ones((K, D + 1))),
            "MultiHeadSoftmax: `tokens` must be a 6×3 matrix like its `key_query`, got"
            " shape (6, 4)",
        ),
        (
            lambda: _shown(labels=jnp.ones(K + 1)),
            "MultiHeadSoftmax: `labels` must be at most the dictionary's size 6, got 7",
        ),
        (
            lambda: MultiHeadSoftmax.random(
                jax.random.key(0), heads=0, input_dim=2, dictionary_size=2
            ),
            "MultiHeadSoftmax.random: `heads` must be an integer ≥ 1, got 0",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_mistakes_are_named(call, message):
    with refused(message):
        call()
