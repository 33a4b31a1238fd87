"""Equation (83): the size of the terms that the gradient in Q_h is a sum of.

G^{h,jk} is α_{h,k} times the derivative of the attention s^h_jk in Q_h (Lemma 1). The
bound is reached by a token that is hardly looked at, opposite to the one that is.
"""

import functools

import jax
import numpy as np

from iclab.models import MultiHeadSoftmax
from iclab.papers.yang2024._bounds import Tightest, bound_claim, rounding, tightest
from iclab.papers.yang2024._instances import Instances, families, is_tilted
from iclab.papers.yang2024._population import evaluated


def cases(scale) -> dict[str, Instances]:
    """Random problems, and attention tilted towards one of two opposite tokens."""
    return {
        name: case
        for name, case in families(scale).items()
        if "random" in name or is_tilted(case)
    }


@functools.cache
def sides(case: Instances) -> list[Tightest]:
    """‖G‖ from the model's derivative, and 2αs; a near miss is a tenth less."""
    s = evaluated(case).attention
    slopes = np.asarray(_slopes(case.tokens, case.key_query, case.context_length))
    left = np.abs(case.value)[:, :, None, :] * slopes
    alpha = np.max(np.abs(case.value), axis=(1, 2))[:, None, None, None]
    bound = 2 * alpha * s
    return [tightest(left, bound, rounding(alpha), 0.9 * bound)]


def parts(case: Instances) -> tuple[float, ...]:
    """1 − s_jk = (1 + 1/√3)/2 of it where attention is tilted to tanh q = 1/√3."""
    return ((1 + 3**-0.5) / 2,) if is_tilted(case) else ()


@functools.partial(jax.jit, static_argnums=2)
def _slopes(tokens, key_query, context_length):
    """‖∂s^h_jk/∂Q_h‖, problems × heads × N × K."""

    def of_head(Q, tokens):
        def attention(Q):
            w = jax.numpy.zeros((1, len(tokens)))
            return MultiHeadSoftmax(Q[None], w).attention(tokens, context_length)[0]

        return jax.numpy.linalg.norm(jax.jacrev(attention)(Q), axis=(2, 3))

    by_head = jax.vmap(of_head, in_axes=(0, None))
    return jax.vmap(by_head)(key_query, tokens)


CLAIM = bound_claim("yang2024/equation-83", sides, parts, cases=cases)
