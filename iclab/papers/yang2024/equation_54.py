"""Equations (54) and (55): how fast the gradient in α changes.

Differences of ∂ℓ/∂α_k at two points, differentiating the model's loss over a population
of tasks. The part of (54) that comes from α is sharp: all attention of all heads on one
token. Of the two parts that come from Q there are 1/√8 of ‖A‖ for even attention on two
opposite tokens with opposite features and no weights, and 1/√108 of 2γHα where
attention is tilted to tanh q = 1/√3 and weights are large: there the gradient is
proportional to tanh²q, whose second derivative vanishes.
"""

import functools

import jax
import numpy as np

from iclab.papers.yang2024._bounds import (
    Tightest,
    bound_claim,
    constants,
    each,
    in_alpha,
    norms,
    rounding,
    tightest,
)
from iclab.papers.yang2024._instances import (
    Instances,
    is_concentrated,
    is_tilted,
    is_unweighted,
)
from iclab.papers.yang2024._population import evaluated, evaluated_other
from iclab.theory import value_smoothness_bound


@functools.cache
def sides(case: Instances) -> list[Tightest]:
    """The change of the gradient, and (54) for one token, (55) for all of them."""
    c, gamma, H = constants(case), case.gamma, case.heads
    first, second = (
        in_alpha(case, one) for one in (evaluated(case), evaluated_other(case))
    )
    by_head = norms(case.key_query - case.other_key_query, 1, 2, 3)
    by_token = norms(case.value - case.other_value, 1)
    bound = each(_bound, c, gamma, case.alpha, by_head, by_token, heads=H)
    error = rounding(norms(first, 1), norms(second, 1))
    # (55): 2((2γ‖Z̄‖²(2γHα + ‖A‖))²/K + γ⁴H²‖Z̄‖⁴/K²)‖ξ − ξ'‖².
    K, square = by_token.shape[1], c.root_norm**2
    keys = 2 * gamma * square * (2 * gamma * H * case.alpha + c.optimum_norm)
    values = gamma**2 * H * square
    both = np.sqrt(2 * (keys**2 / K + values**2 / K**2))
    moved = np.hypot(by_head, norms(by_token, 1))
    return [
        tightest(norms(first - second, 1), bound, error),
        tightest(norms(first - second, 1, 2), both * moved, norms(error, 1)),
    ]


def parts(case: Instances) -> tuple[float, ...]:
    """What is reached of the three terms of (54), one at a time."""
    if is_concentrated(case):
        return (1.0,)
    if is_unweighted(case):
        return (1 / np.sqrt(8),)
    return (1 / np.sqrt(108),) if is_tilted(case) else ()


def _bound(constants, gamma, alpha, by_head, by_token, *, heads: int):
    bound = functools.partial(
        value_smoothness_bound, constants, heads, gamma, alpha, by_head
    )
    return jax.vmap(bound)(by_token)


CLAIM = bound_claim("yang2024/equation-54", sides, parts)
