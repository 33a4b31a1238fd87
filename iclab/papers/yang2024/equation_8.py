"""Equation (8): what the transformer (5)–(7) predicts for every token."""

import jax
import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured, rounded
from iclab.models import MultiHeadSoftmax
from iclab.papers.yang2024._instances import Instances
from iclab.papers.yang2024._single import formulas, shown_labels, single_problems

cases = single_problems


def predict(case: Instances):
    """ŷ_k = ⟨y, Σ_h w_{h,k} softmax(VᵀQ_hv_k)⟩, for every k."""
    return shown_labels(case) @ formulas(case).weights


def decoy(case: Instances):
    """Softmax along the queries: the weights of one shown token sum to one."""
    V, N = case.tokens[0], case.context_length
    scores = np.exp(V[:N] @ case.key_query[0] @ V.T)
    attention = scores / np.sum(scores, axis=2, keepdims=True)
    return shown_labels(case) @ np.einsum("hk,hnk->nk", case.weights[0], attention)


def labels(case: Instances):
    """Tokens."""
    return [f"ŷ_{k + 1}" for k in range(case.tokens.shape[1])]


def measure(case: Instances) -> Measured:
    """The diagonal of T(E), from the embedded prompt and W_O, W_V, W_K and W_Q."""
    Q, w, tokens = (
        jnp.asarray(one[0]) for one in (case.key_query, case.weights, case.tokens)
    )
    y = shown_labels(case)
    found = np.asarray(_in_token_space(MultiHeadSoftmax(Q, w), tokens, jnp.asarray(y)))
    size = np.max(np.sum(np.abs(w), axis=0)) * np.max(np.abs(y))
    scores = float(np.max(np.linalg.norm(Q, axis=(1, 2))))
    return rounded(found, 20 * (case.heads + len(y) + scores), size)


_in_token_space = jax.jit(MultiHeadSoftmax.in_token_space)
