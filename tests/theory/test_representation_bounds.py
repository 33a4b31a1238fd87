"""Lemmas 7 to 9: bounds that hold on random instances, and how tight they are."""

import jax
import jax.numpy as jnp
import numpy as np

from iclab.theory import (
    attended_bound,
    attended_change_bound,
    key_query_gradient_bound,
    label_root,
    multi_head_weights,
    representation_constants,
    representation_gap,
    representation_gradient,
    representation_optimum,
    residual_bound,
    residual_change_bound,
    softmax_columns,
    value_gradient_bound,
    value_smoothness_bound,
)

K, N, M, D, H, TAU, GAMMA, ALPHA = 5, 2, 3, 2, 3, 0.1, 2.0, 0.7


def _ratios(tokens, table, Q, alpha):
    """Left over right side of every bound, for a pair of parameters."""
    c = representation_constants(table, N, TAU)
    root, A = label_root(table, N, TAU), representation_optimum(table, N, TAU)

    def state(Q, alpha):
        w = GAMMA * alpha
        delta = multi_head_weights(Q, w, tokens, N) - A
        gap = representation_gap(delta + A, A, table, TAU)
        by_Q, by_w = representation_gradient(Q, w, tokens, table, N, TAU)
        b = jnp.einsum("ij,hjk->hik", root, softmax_columns(Q, tokens, N))
        return delta, gap, by_Q, GAMMA * by_w, b

    # Both parameters at once: one program instead of two.
    states = jax.vmap(state)(Q, alpha)
    delta, gap, by_Q, by_alpha, b = (leaf[0] for leaf in states)
    delta_2, _, _, by_alpha_2, b_2 = (leaf[1] for leaf in states)
    head_change = jnp.sqrt(jnp.sum((Q[0] - Q[1]) ** 2, axis=(1, 2)))
    Q_change = jnp.linalg.norm(head_change)
    a_change = jnp.linalg.norm(alpha[0] - alpha[1], axis=0)
    norm = jnp.linalg.norm
    pairs = {
        "42": (
            jnp.max(jnp.sqrt(jnp.sum(by_Q**2, axis=(1, 2)))),
            key_query_gradient_bound(c, GAMMA, ALPHA, gap),
        ),
        "62": (jnp.max(norm(by_alpha, axis=1)), value_gradient_bound(c, GAMMA, gap)),
        "50": (
            norm(b - b_2, axis=1),
            jax.vmap(lambda x: attended_change_bound(c, x))(head_change)[:, None],
        ),
        "51": (
            norm(delta - delta_2, axis=0),
            jax.vmap(lambda a: residual_change_bound(H, GAMMA, ALPHA, Q_change, a))(
                a_change
            ),
        ),
        "52": (jnp.max(norm(b, axis=1)), attended_bound(c)),
        "53": (jnp.max(norm(delta, axis=0)), residual_bound(c, H, GAMMA, ALPHA)),
        "54": (
            norm(by_alpha - by_alpha_2, axis=0),
            jax.vmap(lambda a: value_smoothness_bound(c, H, GAMMA, ALPHA, Q_change, a))(
                a_change
            ),
        ),
    }
    return {name: jnp.max(left / right) for name, (left, right) in pairs.items()}


def test_bounds_hold():
    rng, draws = np.random.default_rng(0), 200
    tokens = rng.normal(size=(draws, K, D))
    tokens /= np.linalg.norm(tokens, axis=2, keepdims=True)
    table, Q = rng.normal(size=(draws, K, M)), rng.normal(size=(draws, 2, H, D, D))
    alpha = rng.uniform(-ALPHA, ALPHA, size=(draws, 2, H, K))
    ratios = jax.jit(jax.vmap(_ratios))(tokens, table, Q, alpha)
    for name, values in ratios.items():
        assert np.max(values) <= 1 + 1e-12, name
        # None of them is vacuous by orders of magnitude.
        assert np.max(values) > 0.01, name
