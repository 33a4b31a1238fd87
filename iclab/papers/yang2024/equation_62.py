"""Equation (62): how fast the loss can change with a head's weights.

‖∂ℓ/∂α_h‖ of the model's loss over a population of tasks against ‖Z̄‖γ√(2(ℓ − L*)/K).
The constant is sharp: with all attention on one token, whose feature is the largest,
both sides agree as the weights grow.
"""

import functools

from iclab.papers.yang2024._bounds import (
    Tightest,
    bound_claim,
    constants,
    each,
    gaps,
    in_alpha,
    norms,
    rounding,
    tightest,
)
from iclab.papers.yang2024._instances import Instances, is_concentrated
from iclab.papers.yang2024._population import evaluated
from iclab.theory import value_gradient_bound


@functools.cache
def sides(case: Instances) -> list[Tightest]:
    """The gradient, differentiating the model's loss, and (62)."""
    bound = each(value_gradient_bound, constants(case), case.gamma, gaps(case))
    slope = norms(in_alpha(case, evaluated(case)), 2)
    # A near miss: 1 in the place of 2 under the root.
    error = rounding(bound[:, None])
    return [tightest(slope, bound[:, None], error, bound[:, None] / 2**0.5)]


def parts(case: Instances) -> tuple[float, ...]:
    """All of it."""
    return (1.0,) if is_concentrated(case) else ()


CLAIM = bound_claim("yang2024/equation-62", sides, parts)
