"""The population loss by running the model on a whole population of label vectors.

Labels are linear in λ and in ε, and so are predictions: squared errors have the same
mean for every law of λ with E λλᵀ = I and of ε with E εεᵀ = τI. A few points make such
laws, so the mean over all their label vectors is exact, without Z̄, A or δ.
"""

import functools
import itertools
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array

from iclab.models import MultiHeadSoftmax
from iclab.papers.yang2024._instances import Instances
from iclab.training import batch_loss


class Evaluated(NamedTuple):
    """What the model does in every problem.

    `attention` is s^h_k, `weights` Â; the gradients of the loss are in Q and in w.
    """

    attention: np.ndarray
    loss: np.ndarray
    key_query_gradient: np.ndarray
    value_gradient: np.ndarray
    weights: np.ndarray


def every_label(features: np.ndarray, noise_variance: np.ndarray) -> np.ndarray:
    """All y_k = λᵀ(f(v_k) + ε_k) with λ of signs and ε on the axes; points × K each."""
    K, m = features.shape[1:]
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=m)))
    axes = np.sqrt(m * K) * np.eye(m * K).reshape(m * K, m, K)
    noise = np.einsum("lm,pmk->lpk", signs, np.concatenate([axes, -axes]))
    clean = np.einsum("lm,bkm->blk", signs, features)
    std = np.sqrt(noise_variance)[:, None, None, None]
    return (clean[:, :, None] + std * noise).reshape(len(features), -1, K)


def second_moments(case: Instances) -> np.ndarray:
    """E yyᵀ of all K labels, as an average."""
    labels = every_label(case.features, case.noise_variance)
    return np.einsum("bpk,bpl->bkl", labels, labels) / labels.shape[1]


def best_weights(case: Instances) -> np.ndarray:
    """The N×K matrix that predicts labels best from shown ones: least squares."""
    labels = every_label(case.features, case.noise_variance)
    shown = labels[:, :, : case.context_length]
    # Through QR, not through normal equations.
    basis, triangle = np.linalg.qr(shown)
    return np.linalg.solve(triangle, basis.swapaxes(1, 2) @ labels)


@functools.cache
def evaluated(case: Instances) -> Evaluated:
    """The model with (Q, w = γα)."""
    return evaluate(case, case.key_query, case.weights)


@functools.cache
def evaluated_other(case: Instances) -> Evaluated:
    """The model with (Q', w' = γα')."""
    return evaluate(case, case.other_key_query, case.other_weights)


def evaluate(case: Instances, key_query: np.ndarray, weights: np.ndarray) -> Evaluated:
    """The model with these parameters in the problems of `case`."""
    labels = every_label(case.features, case.noise_variance)
    N = case.context_length
    found = _run(case.tokens, labels, key_query, weights, context_length=N)
    return Evaluated(*map(np.asarray, found))


@functools.partial(jax.jit, static_argnames="context_length")
def _run(
    tokens: Array, labels: Array, key_query: Array, weights: Array, *, context_length
) -> tuple[Array, ...]:
    def one(tokens, labels, Q, w):
        model = MultiHeadSoftmax(Q, w)
        loss, gradient = jax.value_and_grad(batch_loss)(
            model, tokens, labels, context_length
        )
        attention = model.attention(tokens, context_length)
        slopes = gradient.key_query, gradient.value
        return attention, loss, *slopes, model.weights(tokens, context_length)

    return jax.vmap(one)(tokens, labels, key_query, weights)
