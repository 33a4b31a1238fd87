"""How fast the gradient of the loss changes between two sets of parameters.

Beside pairs of any distance, pairs close to each other along the direction in which the
gradient changes fastest, found by repeating the change.
"""

import dataclasses
import functools
from typing import NamedTuple

import numpy as np

from iclab.papers.yang2024._bounds import in_alpha, rounding
from iclab.papers.yang2024._instances import Instances
from iclab.papers.yang2024._population import evaluate

_STEP, _REPETITIONS = 1e-3, 5


class Quotients(NamedTuple):
    """‖∇ℓ(ξ) − ∇ℓ(ξ')‖/‖ξ − ξ'‖ of every pair, its round-off, and their largest |α|."""

    slope: np.ndarray
    error: np.ndarray
    alpha: np.ndarray


@functools.cache
def quotients(case: Instances) -> tuple[Quotients, Quotients]:
    """Of the pairs of `case`, and of the steepest ones from the same points."""
    return _of_pairs(case), _of_pairs(_steepest(case))


def _of_pairs(case: Instances) -> Quotients:
    here = _gradient(case, case.key_query, case.value)
    there = _gradient(case, case.other_key_query, case.other_value)
    change = _joined(
        case.other_key_query - case.key_query, case.other_value - case.value
    )
    slope, *sizes = (
        np.linalg.norm(one, axis=1) / np.linalg.norm(change, axis=1)
        for one in (there - here, here, there)
    )
    return Quotients(slope, rounding(*sizes), case.alpha)


def _steepest(case: Instances) -> Instances:
    """Pairs at distance 10⁻³ in the direction of the largest second derivative."""
    Q, alpha = other = case.key_query, case.value
    start = _gradient(case, Q, alpha)
    change = np.random.default_rng(15).standard_normal(start.shape)
    for _ in range(_REPETITIONS):
        step = _STEP * change / np.linalg.norm(change, axis=1, keepdims=True)
        by_Q, by_alpha = np.split(step, [Q[0].size], axis=1)
        other = Q + by_Q.reshape(Q.shape), alpha + by_alpha.reshape(alpha.shape)
        change = _gradient(case, *other) - start
    return dataclasses.replace(case, other_key_query=other[0], other_value=other[1])


def _gradient(case: Instances, Q: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    found = evaluate(case, Q, case.gamma[:, None, None] * alpha)
    return _joined(found.key_query_gradient, in_alpha(case, found))


def _joined(Q: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    return np.concatenate([Q.reshape(len(Q), -1), alpha.reshape(len(Q), -1)], axis=1)
