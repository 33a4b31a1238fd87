"""Lemma 8, (50) and (51): how far b^h_k and δ_k move when the parameters do.

The change of the model's attended labels, √E⟨y, s − s'⟩², and of its Â, against
2‖Z̄‖‖Q_h − Q'_h‖ and 2γ√Hα(Σ‖Q_h − Q'_h‖²)^½ + γ√H‖α_k − α'_k‖. The 2 of (50), and of
the first term of (51), can be 1/√2: weights of sum one that move by t in the sum of
sizes move by at most t/√2 in length, and Lemma 2 holds with 1. The second term of (51)
is sharp.
"""

import functools

import jax
import numpy as np

from iclab.papers.yang2024._bounds import (
    Tightest,
    attended_norms,
    bound_claim,
    constants,
    each,
    norms,
    residual_changes,
    rounding,
    tightest,
)
from iclab.papers.yang2024._instances import Instances, is_concentrated, is_opposed
from iclab.papers.yang2024._population import evaluated, evaluated_other
from iclab.theory import attended_change_bound, residual_change_bound


@functools.cache
def sides(case: Instances) -> list[Tightest]:
    """What moves in the model, and (50) and (51)."""
    by_head = norms(case.key_query - case.other_key_query, 2, 3)
    by_token = norms(case.value - case.other_value, 1)
    attended = each(_attended, constants(case), by_head)[:, :, None]
    moves = evaluated(case).attention - evaluated_other(case).attention
    arguments = case.gamma, case.alpha, norms(by_head, 1), by_token
    residual = each(_residual, *arguments, heads=case.heads)
    sizes = norms(evaluated(case).weights, 1), norms(evaluated_other(case).weights, 1)
    # Near misses: the square of ‖Q_h − Q'_h‖, and H^¼ in the place of √H.
    square = attended * by_head[:, :, None]
    fewer = residual / case.heads**0.25
    return [
        tightest(attended_norms(case, moves), attended, rounding(attended), square),
        tightest(norms(residual_changes(case), 1), residual, rounding(*sizes), fewer),
    ]


def parts(case: Instances) -> tuple[float | None, ...]:
    """1/√2 in the place of 2 where Q moves; 1 in the second term where α does."""
    if is_opposed(case):
        return 1 / np.sqrt(8), 1 / np.sqrt(8)
    return (None, 1.0) if is_concentrated(case) else ()


def _attended(constants, by_head):
    return jax.vmap(lambda one: attended_change_bound(constants, one))(by_head)


def _residual(gamma, alpha, by_heads, by_token, *, heads: int):
    bound = functools.partial(residual_change_bound, heads, gamma, alpha, by_heads)
    return jax.vmap(bound)(by_token)


CLAIM = bound_claim("yang2024/lemma-8", sides, parts)
