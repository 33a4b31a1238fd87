"""Lemma 7, (42): how fast the loss can change with a head's key–query matrix.

‖∂ℓ/∂Q_h‖ of the model's loss over a population of tasks against 2√2γα f̄_max√(ℓ − L*).
The constant leaves a factor of two. Attention averages: the gradient at token k is the
covariance, under the weights s^h_k, of the tokens v_j with numbers that f̄_max‖Z̄δ_k‖
bounds, so that √2 serves in the place of 2√2; even attention on two opposite tokens
with opposite features comes as close to it as one likes.
"""

import functools

import numpy as np

from iclab.papers.yang2024._bounds import (
    Tightest,
    bound_claim,
    constants,
    each,
    gaps,
    norms,
    rounding,
    tightest,
)
from iclab.papers.yang2024._instances import Instances, is_opposed
from iclab.papers.yang2024._population import evaluated
from iclab.theory import key_query_gradient_bound


@functools.cache
def sides(case: Instances) -> list[Tightest]:
    """The gradient, differentiating the model's loss, and (42)."""
    alpha = np.max(np.abs(case.value), axis=(1, 2))
    arguments = constants(case), case.gamma, alpha, gaps(case)
    bound = each(key_query_gradient_bound, *arguments)
    slope = norms(evaluated(case).key_query_gradient, 2, 3)
    # The weights forgotten. Random problems use a ninth of (42), so that a wrong
    # constant shows in the extreme ones only.
    weights = case.gamma * alpha
    wrong = np.divide(bound, weights, out=bound.copy(), where=weights > 0)
    error = rounding(bound[:, None])
    return [tightest(slope, bound[:, None], error, wrong[:, None])]


def parts(case: Instances) -> tuple[float, ...]:
    """√2 in the place of 2√2."""
    return (1 / 2,) if is_opposed(case) else ()


CLAIM = bound_claim("yang2024/lemma-7", sides, parts)
