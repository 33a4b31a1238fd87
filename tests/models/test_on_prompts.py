"""Dictionary models asked for one query: their own answers, padding, refusals."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.core import Prompt
from iclab.models import Encoder, MultiHeadSoftmax, OnPrompts
from tests.assertions import assert_close
from tests.refusals import refused

D, K, N = 3, 6, 4
TOKENS = jax.random.normal(jax.random.key(0), (K, D))
LABELS = jnp.array([0.3, -1.0, 2.0, 0.7])
SOFTMAX = MultiHeadSoftmax(
    jax.random.normal(jax.random.key(1), (2, D, D)),
    jax.random.normal(jax.random.key(2), (2, K)),
)
_SIZES: dict[str, Any] = {
    "layers": 2,
    "heads": 2,
    "width": 8,
    "hidden": 6,
    "dtype": jnp.float64,
}
ENCODER = eqx.filter_jit(lambda key: Encoder.random(key, input_dim=D, **_SIZES))(
    jax.random.key(3)
)
MODELS = pytest.mark.parametrize(
    "model", [SOFTMAX, ENCODER], ids=["softmax", "encoder"]
)


def _prompt(index, labels=LABELS):
    return Prompt(TOKENS[: len(labels)], labels, TOKENS[index])


@eqx.filter_jit
def _ask(predictor, prompts):
    return jax.vmap(predictor)(prompts)


def _asked_for_all(predictor, labels=LABELS):
    prompts = [_prompt(index, labels) for index in range(K)]
    batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *prompts)
    return _ask(predictor, batch)


@MODELS
def test_a_dictionary_is_answered_token_by_token(model):
    predictor = OnPrompts(model, TOKENS)
    assert_close(_asked_for_all(predictor), model(TOKENS, LABELS))
    assert_close(_asked_for_all(predictor, LABELS[:2]), model(TOKENS, LABELS[:2]))


@MODELS
def test_fewer_labels_are_tokens_without_them(model):
    predictor = OnPrompts(model, TOKENS)
    found = predictor.at_lengths(_prompt(5), jnp.array([2, 4]))
    expected = [model(TOKENS, LABELS[:n])[5] for n in (2, 4)]
    assert_close(found, jnp.stack(expected))


@MODELS
def test_a_named_token_lends_its_place(model):
    elsewhere = Prompt(TOKENS[:N], LABELS, jnp.array([0.1, 0.2, -0.3]))
    found = OnPrompts(model, TOKENS, query=5)(elsewhere)
    assert_close(found, model(TOKENS.at[5].set(elsewhere.query), LABELS)[5])


def test_an_encoder_reads_a_prompt_alone():
    found = OnPrompts(ENCODER)(_prompt(5))
    sequence = jnp.concatenate([TOKENS[:N], TOKENS[5][None]])
    assert_close(found, ENCODER(sequence, LABELS)[N])


def test_depth_is_that_of_shorter_encoders():
    shorter = eqx.tree_at(
        lambda model: model.blocks,
        ENCODER,
        jax.tree.map(lambda leaf: leaf[:1], ENCODER.blocks),
    )
    by_depth = OnPrompts(ENCODER, TOKENS).predictions_by_depth(_prompt(5))
    assert_close(by_depth[1], shorter(TOKENS, LABELS)[5])
    token = jnp.append(TOKENS[5], 0.0)
    embedded = ENCODER.embedding(token[None])
    assert_close(by_depth[0], ENCODER.readout(embedded)[0, 0])


def test_the_heads_mix_tokens_as_attention_says():
    stream = OnPrompts(SOFTMAX, TOKENS).streams(_prompt(5))
    attention = SOFTMAX.attention(TOKENS, N)[:, :, 5]
    weights = np.asarray(SOFTMAX.value[:, 5] @ attention)
    assert_close(stream[0], jnp.append(TOKENS[5], 0.0))
    assert_close(stream[1], weights @ np.column_stack([TOKENS[:N], LABELS]))


def test_tokens_are_no_parameters():
    predictor = OnPrompts(ENCODER, TOKENS)
    gradient = eqx.filter_grad(lambda p: p(_prompt(5)))(predictor)
    assert_close(gradient.tokens, jnp.zeros((K, D)), rtol=0, atol=0)
    assert np.any(np.asarray(gradient.model.readout.weight) != 0)


def test_padding_is_not_seen_without_a_program_either():
    whole = Prompt(TOKENS[:N], LABELS, jnp.ones(D))
    short = Prompt(TOKENS[:2], LABELS[:2], jnp.ones(D))
    model = OnPrompts(ENCODER)
    assert_close(model(whole.prefix(2)), model(short), rtol=1e-5)


def test_a_query_from_elsewhere_is_refused():
    stranger = Prompt(TOKENS[:N], LABELS, jnp.ones(D))
    with pytest.raises(Exception, match="query must be a token of the dictionary"):
        _ask(
            OnPrompts(SOFTMAX, TOKENS), jax.tree.map(lambda leaf: leaf[None], stranger)
        ).block_until_ready()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: OnPrompts(SOFTMAX),
            "OnPrompts: `query` must be given where `tokens` are not: every token has"
            " weights of its own, got None",
        ),
        (
            lambda: OnPrompts(SOFTMAX, TOKENS[:5]),
            "OnPrompts: `tokens` must be a 6×3 matrix, a row per token,"
            " got shape (5, 3)",
        ),
        (
            lambda: OnPrompts(SOFTMAX, query=6),
            "OnPrompts: `query` must be the number of a token, from 0 to 5, got 6",
        ),
        (
            lambda: OnPrompts(ENCODER, query=1),
            "OnPrompts: `query` must be None where `tokens` are: it is a place among"
            " them, got 1",
        ),
        (
            lambda: OnPrompts(ENCODER, TOKENS[:3])(_prompt(0)),
            "OnPrompts.streams: `prompt` must be of at most 3 examples, the size of the"
            " dictionary, got 4 examples",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_mistakes_are_named(call, message):
    with refused(message):
        call()
