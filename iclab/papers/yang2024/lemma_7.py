"""Lemma 7, (42): how fast the loss can change with a head's key–query matrix.

The constant leaves a factor of two. Attention averages: the gradient at token k is the
covariance, under the weights s^h_k, of the tokens v_j with numbers that f̄_max‖Z̄δ_k‖
bounds, so that √2 serves in the place of 2√2; even attention on two opposite tokens
with opposite features comes as close to it as one likes.
"""

import functools

import numpy as np

from iclab.evidence import Claim, Measured
from iclab.papers.yang2024._bounds import (
    Tightest,
    as_bounds,
    as_measured,
    constants,
    each,
    gaps,
    norms,
    rounding,
    tightest,
)
from iclab.papers.yang2024._instances import Instances, families, is_opposed
from iclab.papers.yang2024._population import evaluated
from iclab.theory import key_query_gradient_bound


def predict(case: Instances):
    """2√2γα f̄_max √(ℓ − L*), where the gradient is the largest part of it."""
    return as_bounds([_sides(case)])


def decoy(case: Instances):
    """√2 in the place of 2√2, and one in a hundred less."""
    return 0.99 / 2 * predict(case) if is_opposed(case) else None


def measure(case: Instances, key, scale) -> Measured:
    """‖∂ℓ/∂Q_h‖, differentiating the model's loss over a population of tasks."""
    return as_measured([_sides(case)])


@functools.cache
def _sides(case: Instances) -> Tightest:
    alpha = np.max(np.abs(case.value), axis=(1, 2))
    arguments = constants(case), case.gamma, alpha, gaps(case)
    bound = each(key_query_gradient_bound, *arguments)
    slope = norms(evaluated(case).key_query_gradient, 2, 3)
    return tightest(slope, bound[:, None], rounding(bound[:, None]))


CLAIM = Claim(
    "yang2024/lemma-7",
    cases=families,
    predict=predict,
    measure=measure,
    decoy=decoy,
    relation="<=",
)
