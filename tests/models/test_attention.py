"""Attention: every equation of the papers that defines a model, limits, refusals."""

# pyright: reportArgumentType=false
# Weights are NumPy's here, as users may give them.

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.core import Prompt
from iclab.models import (
    Attention,
    LinearSelfAttention,
    LinearTransformer,
    LoopedTransformer,
    MergedWeights,
    MultiHeadSoftmax,
    Network,
    OnPrompts,
    SeparateWeights,
    SparseWeights,
    UntiedTransformer,
)
from iclab.models._transformer_parts import Affine
from tests.assertions import assert_close
from tests.refusals import refused

pytestmark = pytest.mark.usefixtures("unchecked")

d, n = 3, 6
RNG = np.random.default_rng(0)


def _drawn(*shape):
    return 0.5 * RNG.normal(size=shape)


X, y, x_q = _drawn(n, d), _drawn(n), _drawn(d)
PROMPT = Prompt(jnp.asarray(X), jnp.asarray(y), jnp.asarray(x_q))

# As all four papers write them: tokens are columns, the last one asks.
Z = np.block([[X.T, x_q[:, None]], [y[None], np.zeros((1, 1))]])
M = np.diag([1.0] * n + [0.0])


def _softmax(scores):
    """Column by column."""
    return np.exp(scores) / np.exp(scores).sum(0)


@eqx.filter_jit
def _streams(model, prompt):
    """The query's tokens, and the same by the forward pass as written."""
    return model.streams(prompt), model.streams_in_token_space(prompt)


def _agree(model, columns, sign=1):
    """The query's columns of every state, and the prediction."""
    for found in _streams(model, PROMPT):
        assert_close(found, np.stack(columns), rtol=1e-12)
    assert_close(model(PROMPT), sign * columns[-1][-1], rtol=1e-12)


@pytest.mark.parametrize("rho", [1.0, 2.5, "root"])
def test_softmax_attention_of_zhang2023_section_3_2(rho):
    W_K, W_Q, W_V = _drawn(2, d + 1), _drawn(2, d + 1), _drawn(3, d + 1)
    W_P = _drawn(d + 1, 3)
    E = Z
    scores = (W_K @ E).T @ W_Q @ E / (np.sqrt(2) if rho == "root" else rho)
    f = E + W_P @ W_V @ E @ _softmax(scores)

    weights = SeparateWeights(*(W[None, None] for W in (W_K, W_Q, W_V, W_P)))
    model = Attention(weights, divisor=rho, query="key")
    _agree(model, [E[:, -1], f[:, -1]])


def test_linear_self_attention_of_zhang2023_3_3():
    W_KQ, W_PV, E = _drawn(d + 1, d + 1), _drawn(d + 1, d + 1), Z
    f = E + W_PV @ E @ (E.T @ W_KQ @ E) / n

    form = {"activation": "identity", "query": "key"}
    general = Attention(MergedWeights(W_PV[None, None], W_KQ[None, None]), **form)
    for model in (LinearSelfAttention(W_KQ, W_PV), general):
        _agree(model, [E[:, -1], f[:, -1]])


def test_masked_softmax_attention_of_ahn2023_2():
    P, W_k, W_q = _drawn(3, d + 1, d + 1)
    attended = P @ Z @ M @ _softmax(Z.T @ W_k.T @ W_q @ Z)

    key, query, value = (W[None, None] for W in (W_k, W_q, P))
    weights = SeparateWeights(key, query, value, np.eye(d + 1)[None, None])
    model = Attention(weights, query="masked", residual=False)
    _agree(model, [Z[:, -1], attended[:, -1]])


def _layers_of_ahn2023(P, Q):
    """(4) with (3), a layer after the other; (5) reads minus the label entry."""
    states = [Z]
    for P_l, Q_l in zip(P, Q, strict=True):
        Z_l = states[-1]
        states.append(Z_l + P_l @ Z_l @ M @ (Z_l.T @ Q_l @ Z_l) / n)
    return [Z_l[:, -1] for Z_l in states]


def test_linear_transformer_of_ahn2023_1_to_5():
    P, Q = _drawn(2, 3, d + 1, d + 1)
    form = {"activation": "identity", "query": "masked", "negated": True}
    general = Attention(MergedWeights(P[:, None], Q[:, None]), **form)
    for model in (LinearTransformer(P, Q), general):
        _agree(model, _layers_of_ahn2023(P, Q), sign=-1)


@pytest.mark.parametrize("equation", [9, 13])
def test_sparse_parameters_of_ahn2023(equation):
    A, B = _drawn(2, 2, d, d)
    B = B if equation == 13 else 0 * B
    zero = np.zeros((d, 1))
    P = [np.block([[B_i, zero], [zero.T, np.eye(1)]]) for B_i in B]
    Q = [np.block([[A_i, zero], [zero.T, np.zeros((1, 1))]]) for A_i in A]

    weights = SparseWeights(A[:, None], B[:, None] if equation == 13 else None)
    form = {"activation": "identity", "query": "masked", "negated": True}
    sparse = LinearTransformer.sparse(A, B if equation == 13 else None)
    for model in (sparse, Attention(weights, **form)):
        _agree(model, _layers_of_ahn2023(P, Q), sign=-1)


def test_looped_transformer_of_gatmiry2024_2_to_4_with_full_matrices():
    P, Q = _drawn(2, d + 1, d + 1)
    columns, Z_t = [Z[:, -1]], Z
    for _ in range(3):
        Z_t = Z_t - P @ Z_t @ M @ (Z_t.T @ Q @ Z_t) / n
        columns.append(Z_t[:, -1])

    form = {"activation": "identity", "query": "masked", "negated": True}
    model = Attention(MergedWeights(-P[None, None], Q[None, None]), loops=1, **form)
    assert_close(model(PROMPT, loops=3), -columns[-1][-1], rtol=1e-12)
    _agree(Attention(model.weights, loops=3, **form), columns, sign=-1)


def test_weights_that_are_not_shared_of_gatmiry2024_theorem_a_1():
    A, u = _drawn(3, d, d), _drawn(3, d)
    columns, Z_t, zero = [Z[:, -1]], Z, np.zeros((d, 1))
    for A_t, u_t in zip(A, u, strict=True):
        Q = np.block([[A_t, zero], [zero.T, np.zeros((1, 1))]])
        P = np.block([[np.zeros((d, d)), zero], [u_t[None], np.eye(1)]])
        Z_t = Z_t - P @ Z_t @ M @ (Z_t.T @ Q @ Z_t) / n
        columns.append(Z_t[:, -1])

    _agree(UntiedTransformer(A, u), columns, sign=-1)
    tied = LoopedTransformer(A[0], u[0], loops=3)
    repeated = UntiedTransformer(np.tile(A[:1], (3, 1, 1)), np.tile(u[:1], (3, 1)))
    assert_close(tied(PROMPT), repeated(PROMPT), rtol=0, atol=0)


def test_heads_over_a_dictionary_of_yang2024_5_to_8():
    H, K = 2, n + 2
    Q, w, V = _drawn(H, d, d), _drawn(H, K), np.vstack([X, x_q, _drawn(d)])
    E_P = np.vstack([V[:n].T, y])
    E = np.hstack([E_P, np.vstack([V[n:].T, np.zeros((1, K - n))])])
    W_O, zero = np.hstack([np.eye(K)] * H), np.zeros((d, 1))
    W_V = [np.hstack([np.zeros((K, d)), w_h[:, None]]) for w_h in w]
    W_KQ = [np.block([[Q_h, zero], [zero.T, np.zeros((1, 1))]]) for Q_h in Q]
    scores = [E_P.T @ W @ E for W in W_KQ]
    heads = [W_V[h] @ E_P @ _softmax(scores[h]) for h in range(H)]
    predicted = np.diag(W_O @ np.vstack(heads))

    model = MultiHeadSoftmax(Q, w)
    assert_close(model(V, y), predicted, rtol=1e-12)
    # Token n asks in the place of the query, with its own w.
    assert_close(OnPrompts(model, query=n)(PROMPT), predicted[n], rtol=1e-12)
    P = np.zeros((H, d + 1, d + 1))
    P[:, d, d] = w[:, n]
    weights = MergedWeights(P[None], np.stack(W_KQ)[None])
    alone = Attention(weights, residual=False)
    assert_close(alone(PROMPT), predicted[n], rtol=1e-12)


def test_all_tokens_of_a_deep_network_are_layers_of_the_first_equation():
    """Two heads, two layers of softmax and a network, token by token."""
    model = Attention.random(
        jax.random.key(0), dimension=d, layers=2, heads=2, hidden=5, key_width=2
    )
    (P, Q), network = map(np.asarray, model.weights.merged()), model.network
    assert network is not None
    columns, Z_t = [Z[:, -1]], Z
    for layer in range(2):
        scores = np.where(np.diag(M)[:, None] > 0, Z_t.T @ Q[layer] @ Z_t, -np.inf)
        heads = [P[layer, h] @ Z_t @ _softmax(scores[h]) for h in range(2)]
        Z_t = Z_t + sum(heads)
        inside = np.asarray(network.into.weight[layer]) @ Z_t
        Z_t = Z_t + np.asarray(network.out.weight[layer]) @ np.maximum(inside, 0)
        columns.append(Z_t[:, -1])
    _agree(model, columns)


def _bits(one, other):
    for found, expected in zip(
        _streams(one, PROMPT), _streams(other, PROMPT), strict=True
    ):
        assert_close(found, expected, rtol=0, atol=0)


def test_identity_is_the_linear_models_to_the_bit():
    P, Q = _drawn(2, 2, d + 1, d + 1)
    form = {"activation": "identity", "query": "masked", "negated": True}
    merged = MergedWeights(P[:, None], Q[:, None])
    _bits(Attention(merged, **form), LinearTransformer(P, Q))
    sparse = SparseWeights(-Q[:1, None, :d, :d], u=P[:1, None, d, :d])
    looped = LoopedTransformer(Q[0, :d, :d], P[0, d, :d], loops=3)
    _bits(Attention(sparse, loops=3, **form), looped)


def _pair(Q, P, activation):
    """Two heads of opposite sign."""
    weights = MergedWeights(np.stack([P, -P])[None], np.stack([Q, -Q])[None])
    return Attention(weights, activation)


def test_relu_of_both_signs_is_linear():
    Q, P = _drawn(2, d + 1, d + 1)
    linear = Attention(MergedWeights(P[None, None], Q[None, None]), "identity")
    found, _ = _streams(_pair(Q, P, "relu"), PROMPT)
    assert_close(found, linear.streams(PROMPT), rtol=1e-12)


def _centred():
    """Examples with mean zero, and matrices of one head."""
    examples = np.column_stack([X, y])
    examples = examples - examples.mean(0)
    prompt = Prompt(examples[:, :d], examples[:, d], x_q)
    return prompt, *_drawn(2, d + 1, d + 1)


def _distance(prompt, Q, P, epsilon, heads):
    """Between softmax and linear attention with scores of size ε, by the query."""
    linear = Attention(MergedWeights(P[None, None], Q[None, None]), "identity")
    weights = linear.weights
    if heads == 2:
        weights = MergedWeights(np.stack([P, -P])[None] / 2, np.stack([Q, -Q])[None])
    scores = lambda model: model.weights.key_query  # noqa: E731
    found = [
        _streams(eqx.tree_at(scores, model, epsilon * scores(model)), prompt)[0][1]
        for model in (Attention(weights), linear)
    ]
    return float(jnp.linalg.norm(found[0] - found[1]))


@pytest.mark.parametrize(("heads", "order"), [(1, 2), (2, 3)])
def test_small_scores_make_softmax_linear(heads, order):
    """What is left is of second order, and of third in two heads of opposite sign."""
    prompt, Q, P = _centred()
    epsilons = np.array([0.04, 0.02, 0.01])
    left = [_distance(prompt, Q, P, epsilon, heads) for epsilon in epsilons]
    slope, _ = np.polyfit(np.log(epsilons), np.log(left), 1)
    assert abs(slope - order) < 0.05


def test_two_heads_of_opposite_sign_are_odd_in_their_scores():
    Q, P = _drawn(2, d + 1, d + 1)
    plus, minus = (_pair(sign * Q, P, "softmax") for sign in (1, -1))
    added = [_streams(model, PROMPT)[0][1] - Z[:, -1] for model in (plus, minus)]
    assert_close(added[0], -added[1], rtol=1e-12)


WEIGHTS = SparseWeights(jnp.ones((2, 1, d, d)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Attention(WEIGHTS, "sofmax"),
            "Attention: `activation` must be one of softmax, identity, relu, gelu,"
            " tanh, sigmoid, exp, got 'sofmax'",
        ),
        (
            lambda: Attention(WEIGHTS, loops=3),
            "Attention: `loops` must be None, as every layer has weights of its own,"
            " got 3",
        ),
        (
            lambda: Attention(WEIGHTS)(PROMPT, loops=3),
            "Attention: `loops` must be None, as every layer has weights of its own,"
            " got 3",
        ),
        (
            lambda: LinearTransformer.sparse(jnp.ones((2, d, d)))(PROMPT, loops=3),
            "LinearTransformer: `loops` must be None, as every layer has weights of"
            " its own, got 3",
        ),
        (
            lambda: Attention(WEIGHTS, divisor=0),
            "Attention: `divisor` must be > 0 and finite, got 0.0",
        ),
        (
            lambda: Attention(WEIGHTS, query="keys"),
            "Attention: `query` must be 'absent' or 'masked' or 'key', got 'keys'",
        ),
        (
            lambda: MergedWeights(jnp.ones((1, 2, 4, 4)), jnp.ones((1, 1, 4, 4))),
            "MergedWeights: `key_query` must be an array of shape (1, 2, 4, 4) like"
            " `value`, got shape (1, 1, 4, 4)",
        ),
        (
            lambda: Network(
                Affine(jnp.ones((2, 4)), jnp.ones(2)),
                Affine(jnp.ones((4, 2)), jnp.ones(4)),
                "softmax",
            ),
            "Network: `activation` must be one of identity, relu, gelu, tanh,"
            " sigmoid, exp, got 'softmax'",
        ),
        (
            lambda: Attention.random(jax.random.key(0), dimension=3, heads=0),
            "Attention.random: `heads` must be an integer ≥ 1, got 0",
        ),
    ],
)
def test_refusals(call, message):
    with refused(message):
        call()
