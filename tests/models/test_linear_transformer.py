"""Linear transformers: Gram and token space, conventions, gradient descent."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.algorithms import GradientDescentPlusPlus, PreconditionedGradientDescent
from iclab.core import Prompt
from iclab.models import LinearSelfAttention, LinearTransformer
from tests.assertions import assert_close
from tests.refusals import refused

D, N, LAYERS = 3, 6, 2


def _prompt(key):
    kx, ky, kq = jax.random.split(key, 3)
    return Prompt(
        jax.random.normal(kx, (N, D)),
        jax.random.normal(ky, (N,)),
        jax.random.normal(kq, (D,)),
    )


def _weights(key, size=D + 1, layers=LAYERS):
    return 0.3 * jax.random.normal(key, (layers, size, size))


@pytest.mark.parametrize("masked", [True, False])
def test_gram_space_is_token_space(getkey, masked):
    model = LinearTransformer(_weights(getkey()), _weights(getkey()), masked)
    prompt = _prompt(getkey())
    assert_close(model(prompt), model.in_token_space(prompt), rtol=1e-12)
    streams = model.streams_in_token_space(prompt)
    assert_close(model.streams(prompt), streams, rtol=1e-12)
    assert_close(model.predictions_by_depth(prompt), -streams[:, -1], rtol=1e-12)


def test_token_space_is_the_layers_written_out(getkey):
    P, Q = _weights(getkey()), _weights(getkey())
    prompt = _prompt(getkey())
    X = np.vstack([prompt.examples, prompt.query])
    Z = np.vstack([X.T, np.append(prompt.labels, 0.0)])
    M = np.diag(np.append(np.ones(N), 0.0))
    for P_l, Q_l in zip(np.asarray(P), np.asarray(Q), strict=True):
        Z = Z + P_l @ Z @ M @ (Z.T @ Q_l @ Z) / N
    assert_close(LinearTransformer(P, Q).in_token_space(prompt), -Z[-1, -1])


def test_prefix_of_a_prompt_is_a_shorter_prompt(getkey):
    model = LinearTransformer(_weights(getkey()), _weights(getkey()))
    prompt = _prompt(getkey())
    short = Prompt(prompt.examples[:2], prompt.labels[:2], prompt.query)
    assert_close(model.at_lengths(prompt, jnp.array([2]))[0], model(short))
    assert_close(model.in_token_space(prompt.prefix(2)), model(short))


def test_one_layer_to_linear_self_attention_and_back(getkey):
    prompt = _prompt(getkey())
    attention = LinearSelfAttention(_weights(getkey())[0], _weights(getkey())[0])
    as_layers = LinearTransformer.from_linear_self_attention(attention)
    assert_close(as_layers(prompt), attention(prompt))
    back = as_layers.to_linear_self_attention()
    assert_close(back.key_query, attention.key_query)
    assert_close(back.value_projection, attention.value_projection)

    masked = LinearTransformer.sparse(_weights(getkey(), D, 1))
    assert_close(masked.to_linear_self_attention()(prompt), masked(prompt))


def test_sparse_layers_are_gradient_descent(getkey):
    A = _weights(getkey(), D, 3)
    model, prompt = LinearTransformer.sparse(A), _prompt(getkey())
    weights = model.descent_weights(prompt)
    assert_close(model.predictions_by_depth(prompt), weights @ prompt.query)

    # w ← w + Aᵀ∇R(w), the gradient by automatic differentiation.
    def risk(w):
        return jnp.mean((prompt.examples @ w - prompt.labels) ** 2) / 2

    w = jnp.zeros(D)
    for i in range(3):
        assert_close(weights[i], w)
        w = w + A[i].T @ jax.grad(risk)(w)
    assert_close(weights[3], w)


def test_equal_preconditioners_are_preconditioned_gradient_descent(getkey):
    P = _weights(getkey(), D, 1)[0]
    P = P + P.T
    steps = jnp.array([0.5, 1.5])
    model = LinearTransformer.sparse(-steps[:, None, None] * P[None])
    algorithm = PreconditionedGradientDescent(P, steps)
    prompt = _prompt(getkey())
    assert_close(model(prompt), algorithm(prompt))


def test_scalar_layers_with_b_are_gd_plus_plus(getkey):
    a, b = jnp.array([-0.4, -0.7]), jnp.array([0.3, 0.0])
    identity = jnp.eye(D)[None]
    model = LinearTransformer.sparse(
        a[:, None, None] * identity, b[:, None, None] * identity
    )
    algorithm = GradientDescentPlusPlus(-a, -a * b)
    prompt = _prompt(getkey())
    assert_close(model(prompt), algorithm(prompt))


@pytest.mark.usefixtures("unchecked")
def test_refusals(getkey):
    P = _weights(getkey())
    prompt = _prompt(getkey())
    other = LinearTransformer.sparse(jnp.zeros((1, D + 1, D + 1)))
    cases = [
        (
            lambda: LinearTransformer(P[0], P[0]),
            "LinearTransformer: `value` must be an array of shape (layers, k, k),"
            " got shape (4, 4)",
        ),
        (
            lambda: LinearTransformer(P, P[:1]),
            "LinearTransformer: `key_query` must be an array of shape (2, 4, 4)"
            " like `value`, got shape (1, 4, 4)",
        ),
        (
            lambda: LinearTransformer(P, P.at[0, 0, 0].set(jnp.nan)),
            "LinearTransformer: `key_query` must be finite, got 1 entries that are not",
        ),
        (
            lambda: LinearTransformer.sparse(P[0]),
            "LinearTransformer.sparse: `A` must be an array of shape (layers,"
            " d, d), got shape (4, 4)",
        ),
        (
            lambda: LinearTransformer.sparse(P, P[:1]),
            "LinearTransformer.sparse: `B` must be an array of shape (2, 4, 4) like"
            " `A`, got shape (1, 4, 4)",
        ),
        (
            lambda: LinearTransformer(P, P).to_linear_self_attention(),
            "LinearTransformer.to_linear_self_attention: `value` must be the weights"
            " of one layer, got 2",
        ),
        (
            lambda: LinearTransformer(
                jnp.ones((1, 4, 4)), jnp.ones((1, 4, 4))
            ).to_linear_self_attention(),
            "LinearTransformer.to_linear_self_attention: `value` must be zero left of"
            " the last entry of its last row, as there is no mask,"
            " got an entry of size 1",
        ),
        (
            lambda: LinearTransformer(P, P).descent_weights(prompt),
            "LinearTransformer.descent_weights: `value` must be of the sparse form"
            " (9), with `key_query`: diag(0, 1), diag(A, 0), got other nonzero"
            " entries",
        ),
        (
            lambda: other(prompt),
            "LinearTransformer: `prompt` must be of dimension 4, the predictor's own,"
            " got dimension 3",
        ),
        (
            lambda: other.in_token_space(prompt),
            "LinearTransformer.in_token_space: `prompt` must be of dimension 4,"
            " the predictor's own, got dimension 3",
        ),
    ]
    for call, message in cases:
        with refused(message):
            call()
