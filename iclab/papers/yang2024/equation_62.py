"""Equation (62): how fast the loss can change with a head's weights.

The constant is sharp: with all attention on one token, whose feature is the largest,
both sides agree as the weights grow.
"""

import functools

from iclab.evidence import Claim, Measured
from iclab.papers.yang2024._bounds import (
    Tightest,
    as_bounds,
    as_measured,
    constants,
    each,
    gaps,
    in_alpha,
    norms,
    rounding,
    tightest,
)
from iclab.papers.yang2024._instances import Instances, families, is_concentrated
from iclab.papers.yang2024._population import evaluated
from iclab.theory import value_gradient_bound


def predict(case: Instances):
    """‖Z̄‖γ√(2(ℓ − L*)/K), where the gradient is the largest part of it."""
    return as_bounds([_sides(case)])


def decoy(case: Instances):
    """A constant smaller by one in a hundred."""
    return 0.99 * predict(case) if is_concentrated(case) else None


def measure(case: Instances, key, scale) -> Measured:
    """‖∂ℓ/∂α_h‖, differentiating the model's loss over a population of tasks."""
    return as_measured([_sides(case)])


@functools.cache
def _sides(case: Instances) -> Tightest:
    bound = each(value_gradient_bound, constants(case), case.gamma, gaps(case))
    slope = norms(in_alpha(case, evaluated(case)), 2)
    return tightest(slope, bound[:, None], rounding(bound[:, None]))


CLAIM = Claim(
    "yang2024/equation-62",
    cases=families,
    predict=predict,
    measure=measure,
    decoy=decoy,
    relation="<=",
)
