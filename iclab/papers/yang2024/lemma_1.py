"""Lemma 1, (29): how attention changes with the key–query matrix."""

import jax
import numpy as np
from jaxtyping import Array

from iclab.evidence import Measured, rounded
from iclab.models import MultiHeadSoftmax
from iclab.papers.yang2024._instances import Instances
from iclab.papers.yang2024._single import formulas, single_problems

cases = single_problems


def predict(case: Instances):
    """⟨s_jk Σ_i s_ik (v_j − v_i)v_kᵀ, G⟩ of the first head, for a random G, N×K."""
    V = case.tokens[0]
    return _slopes(case, V[: case.context_length] @ _direction(case) @ V.T)


def decoy(case: Instances):
    """v_k(v_j − v_i)ᵀ in the place of (v_j − v_i)v_kᵀ."""
    V = case.tokens[0]
    return _slopes(case, V[: case.context_length] @ _direction(case).T @ V.T)


def measure(case: Instances) -> Measured:
    """The derivative of the model's attention along G, by automatic differentiation."""
    Q, N = case.key_query[0], case.context_length
    G = np.broadcast_to(_direction(case), Q.shape)
    found = _derivative(case.tokens[0], Q, case.weights[0], G, context_length=N)
    operations = 20 * N * (1 + float(np.max(np.linalg.norm(Q, axis=(1, 2)))))
    return rounded(np.asarray(found)[0], operations, np.linalg.norm(G[0]))


def _slopes(case: Instances, pairs: np.ndarray) -> np.ndarray:
    """s_jk Σ_i s_ik (p_jk − p_ik), where p_jk = v_jᵀGv_k."""
    s = formulas(case).attention[0]
    differences = pairs[:, None, :] - pairs[None, :, :]
    return s * np.einsum("ik,jik->jk", s, differences)


def _direction(case: Instances) -> np.ndarray:
    """A matrix of no special kind: an entry of the gradient that is wrong shows."""
    shape = case.key_query.shape[2:]
    return np.random.default_rng(17).standard_normal(shape)


def _derivative_of_attention(
    tokens: Array, Q: Array, w: Array, G: Array, *, context_length: int
) -> Array:
    def attention(Q):
        return MultiHeadSoftmax(Q, w).attention(tokens, context_length)

    return jax.jvp(attention, (Q,), (G,))[1]


_derivative = jax.jit(_derivative_of_attention, static_argnames="context_length")
