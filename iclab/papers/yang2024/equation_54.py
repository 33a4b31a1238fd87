"""Equations (54) and (55): how fast the gradient in α changes.

The part that comes from α is sharp: all attention of all heads on one token.
"""

import functools

import jax
import numpy as np

from iclab.evidence import Claim, Measured
from iclab.papers.yang2024._bounds import (
    Tightest,
    as_bounds,
    as_measured,
    constants,
    each,
    in_alpha,
    norms,
    rounding,
    tightest,
)
from iclab.papers.yang2024._instances import Instances, families, is_concentrated
from iclab.papers.yang2024._population import evaluated, evaluated_other
from iclab.theory import value_smoothness_bound


def predict(case: Instances):
    """(54) for one token, and (55) for all of them together."""
    return as_bounds(_sides(case))


def decoy(case: Instances):
    """A constant smaller by one in a hundred."""
    return 0.99 * predict(case) if is_concentrated(case) else None


def measure(case: Instances, key, scale) -> Measured:
    """Differences of ∂ℓ/∂α_k at two points, differentiating the model's loss."""
    return as_measured(_sides(case))


@functools.cache
def _sides(case: Instances) -> list[Tightest]:
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


def _bound(constants, gamma, alpha, by_head, by_token, *, heads: int):
    bound = functools.partial(
        value_smoothness_bound, constants, heads, gamma, alpha, by_head
    )
    return jax.vmap(bound)(by_token)


CLAIM = Claim(
    "yang2024/equation-54",
    cases=families,
    predict=predict,
    measure=measure,
    decoy=decoy,
    relation="<=",
)
