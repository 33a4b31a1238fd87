"""Lemma 9, (52) and (53): the largest b^h_k and δ_k.

√E⟨y, s^h_k⟩² of the model's attention, and its Â less what regression finds, against
‖Z̄‖ and γHα + ‖A‖. Both are sharp: all attention of all heads on one token, whose
feature is the largest; and ‖A‖ by itself without weights, for a token whose feature is
far larger than the shown ones.
"""

import functools

import numpy as np

from iclab.papers.yang2024._bounds import (
    Tightest,
    attended_norms,
    bound_claim,
    constants,
    each,
    norms,
    residuals,
    rounding,
    tightest,
)
from iclab.papers.yang2024._instances import Instances, is_concentrated, is_unweighted
from iclab.papers.yang2024._population import evaluated, second_moments
from iclab.theory import attended_bound, residual_bound


@functools.cache
def sides(case: Instances) -> list[Tightest]:
    """What the model has, and (52) and (53)."""
    c = constants(case)
    attended = each(attended_bound, c)[:, None, None]
    alpha = np.max(np.abs(case.value), axis=(1, 2))
    arguments = c, case.gamma, alpha
    residual = each(_residual, *arguments, heads=case.heads)[:, None]
    found = attended_norms(case, evaluated(case).attention)
    # Near misses: the root mean square of the columns for the norm, one head too few.
    N = case.context_length
    moments = second_moments(case)[:, :N, :N]
    column = np.sqrt(np.trace(moments, axis1=1, axis2=2) / N)[:, None, None]
    fewer = each(_residual, *arguments, heads=case.heads - 1)[:, None]
    return [
        tightest(found, attended, rounding(attended), column),
        tightest(norms(residuals(case), 1), residual, rounding(residual), fewer),
    ]


def parts(case: Instances) -> tuple[float | None, ...]:
    """Both are reached, the second in two ways."""
    if is_concentrated(case):
        return 1.0, 1.0
    return (None, 1.0) if is_unweighted(case) else ()


def _residual(constants, gamma, alpha, *, heads: int):
    return residual_bound(constants, heads, gamma, alpha)


CLAIM = bound_claim("yang2024/lemma-9", sides, parts)
