"""Lemma 9, (52) and (53): the largest b^h_k and δ_k.

Both are sharp: all attention of all heads on one token, whose feature is the largest.
"""

import functools

import numpy as np

from iclab.evidence import Claim, Measured
from iclab.papers.yang2024._bounds import (
    Tightest,
    as_bounds,
    as_measured,
    attended_norms,
    constants,
    each,
    norms,
    residuals,
    rounding,
    tightest,
)
from iclab.papers.yang2024._instances import Instances, families, is_concentrated
from iclab.papers.yang2024._population import evaluated
from iclab.theory import attended_bound, residual_bound


def predict(case: Instances):
    """‖Z̄‖ and γHα + ‖A‖."""
    return as_bounds(_sides(case))


def decoy(case: Instances):
    """Constants smaller by one in a hundred."""
    return 0.99 * predict(case) if is_concentrated(case) else None


def measure(case: Instances, key, scale) -> Measured:
    """√E⟨y, s^h_k⟩² of the model's attention, and Â less what regression finds."""
    return as_measured(_sides(case))


@functools.cache
def _sides(case: Instances) -> list[Tightest]:
    c = constants(case)
    attended = each(attended_bound, c)[:, None, None]
    alpha = np.max(np.abs(case.value), axis=(1, 2))
    arguments = c, case.gamma, alpha
    residual = each(_residual, *arguments, heads=case.heads)[:, None]
    found = attended_norms(case, evaluated(case).attention)
    return [
        tightest(found, attended, rounding(attended)),
        tightest(norms(residuals(case), 1), residual, rounding(residual)),
    ]


def _residual(constants, gamma, alpha, *, heads: int):
    return residual_bound(constants, heads, gamma, alpha)


CLAIM = Claim(
    "yang2024/lemma-9",
    cases=families,
    predict=predict,
    measure=measure,
    decoy=decoy,
    relation="<=",
)
