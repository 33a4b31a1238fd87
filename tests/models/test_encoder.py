"""The encoder against NumPy, and what it must not depend on."""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.models import Encoder
from tests.assertions import assert_close
from tests.refusals import refused

K, D, N = 5, 3, 2
SIZES: dict[str, Any] = {
    "input_dim": D,
    "layers": 2,
    "heads": 2,
    "width": 8,
    "hidden": 6,
}


@functools.cache
def _model(pre_norm):
    return _encoder(pre_norm)


@eqx.filter_jit
def _encoder(pre_norm):
    key = jax.random.key(0)
    model = Encoder.random(key, **SIZES, pre_norm=pre_norm, dtype=jnp.float64)
    # Biases and norms away from their trivial start, so that each one counts.
    flat, unravel = jax.flatten_util.ravel_pytree(eqx.filter(model, eqx.is_array))
    moved = unravel(flat + 0.3 * jax.random.normal(jax.random.key(1), flat.shape))
    return eqx.combine(moved, model)


TOKENS = jnp.asarray(np.random.default_rng(0).normal(size=(K, D)))
LABELS = jnp.array([1.0, -2.0])


@eqx.filter_jit
def _predict(model, tokens, labels):
    return model(tokens, labels)


def _norm(x, norm):
    x = x - x.mean(axis=1, keepdims=True)
    unit = x / np.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-5)
    return unit * norm.scale + norm.shift


def _affine(x, affine):
    return x @ affine.weight.T + affine.bias


def _by_hand(model, tokens, labels):
    """The forward pass, one head and one query at a time."""
    model = jax.tree.map(np.asarray, model)
    y = np.concatenate([labels, np.zeros(len(tokens) - len(labels))])
    x = _affine(np.column_stack([tokens, y]), model.embedding)
    width = x.shape[1]
    size = width // model.heads
    for i in range(model.depth):
        block = jax.tree.map(lambda leaf, i=i: leaf[i], model.blocks)

        def attend(x, block=block):
            q, k, v = np.split(_affine(x, block.attention), 3, axis=1)
            out = np.zeros_like(x)
            for h in range(model.heads):
                part = slice(h * size, (h + 1) * size)
                for row in range(len(x)):
                    scores = np.exp(k[:, part] @ q[row, part] / np.sqrt(size))
                    out[row, part] = scores @ v[:, part] / scores.sum()
            return _affine(out, block.attention_out)

        def network(x, block=block):
            return _affine(
                np.maximum(_affine(x, block.network_in), 0), block.network_out
            )

        first, second = block.attention_norm, block.network_norm
        if model.pre_norm:
            x = x + attend(_norm(x, first))
            x = x + network(_norm(x, second))
        else:
            x = _norm(x + attend(x), first)
            x = _norm(x + network(x), second)
    if model.pre_norm:
        x = _norm(x, model.final_norm)
    return _affine(x, model.readout)[:, 0]


@pytest.mark.parametrize("pre_norm", [False, True])
def test_predictions_are_those_by_hand(pre_norm):
    model = _model(pre_norm)
    expected = _by_hand(model, np.asarray(TOKENS), np.asarray(LABELS))
    assert_close(_predict(model, TOKENS, LABELS), expected)


def test_tokens_without_labels_may_trade_places():
    order = np.array([0, 1, 4, 2, 3])
    mixed = _predict(_model(False), jnp.asarray(np.asarray(TOKENS)[order]), LABELS)
    assert_close(mixed, np.asarray(_predict(_model(False), TOKENS, LABELS))[order])


def test_batches_of_batches_are_loops():
    labels = np.random.default_rng(1).normal(size=(2, 3, N))
    batched = jax.vmap(jax.vmap(lambda y: _model(False)(TOKENS, y)))
    found = jax.jit(batched)(jnp.asarray(labels))
    expected = _predict(_model(False), TOKENS, jnp.asarray(labels[1, 2]))
    assert_close(np.asarray(found)[1, 2], expected)


@pytest.mark.parametrize("pre_norm", [False, True])
def test_every_weight_gets_a_gradient(pre_norm):
    gradient = eqx.filter_jit(
        eqx.filter_grad(lambda m: jnp.sum(m(TOKENS, LABELS) ** 2))
    )
    for leaf in jax.tree.leaves(gradient(_model(pre_norm))):
        assert np.all(np.isfinite(leaf))
        assert np.any(np.asarray(leaf) != 0)


def test_float32_by_default():
    model = jax.eval_shape(lambda: Encoder.random(jax.random.key(0), **SIZES))
    assert all(leaf.dtype == jnp.float32 for leaf in jax.tree.leaves(model))
    found = jax.eval_shape(lambda m: m(TOKENS, LABELS), model)
    assert found.dtype == jnp.float32


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Encoder.random(jax.random.key(0), **{**SIZES, "heads": 3}),
            "Encoder.random: `width` must be a multiple of `heads` = 3, got 8",
        ),
        (
            lambda: Encoder.random(jax.random.key(0), **{**SIZES, "layers": 0}),
            "Encoder.random: `layers` must be an integer ≥ 1, got 0",
        ),
        (
            lambda: _model(False)(jnp.ones((K, 2)), jnp.ones(N)),
            "Encoder: `tokens` must be a K×3 matrix like its `dimension`, got shape"
            " (5, 2)",
        ),
        (
            lambda: _model(False)(jnp.ones((K, D)), jnp.ones(6)),
            "Encoder: `labels` must be at most 5, one per token, got 6",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_mistakes_are_named(call, message):
    with refused(message):
        call()
