"""Equation (58), from (57): how fast the gradient in a key–query matrix changes.

Differentiating the model's loss at two points. Of the term in ‖α_h − α'_h‖ a quarter is
reached with K = 4: even attention on two opposite tokens, no weights at first, and one
token with a far feature that alone is given some.
"""

import dataclasses
import functools

import numpy as np

from iclab.papers.yang2024._bounds import (
    Tightest,
    bound_claim,
    constants,
    norms,
    rounding,
    tightest,
)
from iclab.papers.yang2024._instances import (
    SQUARE,
    Instances,
    families,
    number,
    unweighted_instances,
)
from iclab.papers.yang2024._population import evaluated, evaluated_other


@functools.cache
def begun_instances(count: int) -> Instances:
    """No weights, and a very small one of one head for the token with a far feature."""
    base = unweighted_instances(count)
    other = np.zeros_like(base.value)
    other[:, 0, 2] = 1e-6 / base.gamma
    return dataclasses.replace(base, other_key_query=base.key_query, other_value=other)


def cases(scale) -> dict[str, Instances]:
    """The problems of all bounds, and weights that begin."""
    name = f"{SQUARE}, a first weight on opposite tokens"
    return families(scale) | {name: begun_instances(number(scale))}


@functools.cache
def sides(case: Instances) -> list[Tightest]:
    """The change of the gradient in Q_h, and (58)."""
    c, gamma, H, alpha = constants(case), case.gamma, case.heads, case.alpha
    K, N = case.features.shape[1], case.context_length
    by_head = norms(case.key_query - case.other_key_query, 2, 3)
    moved = case.value - case.other_value
    far = gamma * H * alpha + c.optimum_norm
    all_Q, all_alpha = norms(by_head, 1), norms(moved, 1, 2)
    first = (
        gamma * alpha * np.sqrt(H) * (2 * K * alpha * all_Q + np.sqrt(K) * all_alpha)
    )
    second = far[:, None] * np.sqrt(K) * norms(moved, 2)
    third = (far * 4 * K * alpha * np.sqrt(N))[:, None] * by_head
    scale = 2 * gamma * c.largest_column * c.root_norm / K
    bound = scale[:, None] * (first[:, None] + second + third)
    here, there = (
        one.key_query_gradient for one in (evaluated(case), evaluated_other(case))
    )
    error = rounding(norms(here, 2, 3), norms(there, 2, 3))
    return [tightest(norms(here - there, 2, 3), bound, error)]


def parts(case: Instances) -> tuple[float, ...]:
    """1/(2√K) of the term in α_h."""
    return (1 / 4,) if case is begun_instances(len(case)) else ()


CLAIM = bound_claim("yang2024/equation-58", sides, parts, cases=cases)
