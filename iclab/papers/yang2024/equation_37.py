"""Equations (37) and (38): the loss tends to L* if and only if Â tends to A.

Either distance bounds the other: mτ‖Â − A‖² ≤ 2K(L − L*) ≤ ‖Z̄‖²‖Â − A‖².
"""

import functools

import numpy as np

from iclab.evidence import Measured
from iclab.papers.yang2024._bounds import (
    Tightest,
    as_bounds,
    as_measured,
    constants,
    norms,
    residuals,
    rounding,
    tightest,
)
from iclab.papers.yang2024._instances import (
    GENERAL,
    SQUARE,
    Instances,
    is_random,
    number,
    random_instances,
)
from iclab.papers.yang2024._population import best_weights, evaluated, every_label
from iclab.papers.yang2024._two_rates import FAST, descent

# A difference of two losses counts while its round-off is a smaller part of it.
_VISIBLE = 1e-2

shares = {
    "representation_constants": "both sides are found together; losses are the model's",
    "multi_head_weights": "of the gap that stands beside the constants, not used here",
    "representation_gap": "likewise",
}

relation = "<="


def cases(scale) -> dict[str, Instances]:
    """Along a descent that ends at A, and random parameters of random problems."""
    count = number(scale)
    return {
        f"{GENERAL}, along gradient descent": descent(FAST),
        f"{GENERAL}, random": random_instances(GENERAL, count),
        f"{SQUARE}, random": random_instances(SQUARE, count),
    }


def predict(case: Instances):
    """‖Z̄‖²/2K and 2K/mτ, where the left side is the largest part of it."""
    return as_bounds(_sides(case))


def decoy(case: Instances):
    """One number for both: the mean eigenvalue of Z̄² for the largest and mτ."""
    if is_random(case):
        return None
    (K, m), N = case.features.shape[1:], case.context_length
    mean = np.sum(case.features[0, :N] ** 2) / N + m * case.noise_variance[0]
    return np.array([mean / (2 * K), 2 * K / mean])


def measure(case: Instances) -> Measured:
    """(L − L*)/‖Â − A‖² and its inverse: losses over a population of tasks, the model's
    weights, and what regression finds over the same population.
    """
    found = as_measured(_sides(case))
    if case is not descent(FAST):
        return found
    gap, distance, error = _distances(case)
    assert abs(gap[-1]) <= error[-1], "the descent has not ended"
    ends = f"; the descent ends {distance[-1]:.1g} from A, from {distance[0]:.3g}"
    return found._replace(reason=found.reason + ends)


@functools.cache
def _sides(case: Instances) -> list[Tightest]:
    c = constants(case)
    gap, distance, error = _distances(case)
    upper = c.root_norm**2 / (2 * c.dictionary_size)
    lower = c.feature_dim * case.noise_variance / (2 * c.dictionary_size)
    seen = error < _VISIBLE * gap
    gap, distance, error, upper, lower = (
        np.asarray(one)[seen] for one in (gap, distance, error, upper, lower)
    )
    quotient = gap / distance**2
    return [
        tightest(one, bound, one * error / gap)
        for one, bound in ((quotient, upper), (1 / quotient, 1 / lower))
    ]


def _distances(case: Instances) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """L − L*, ‖Â − A‖ and the round-off of the first."""
    labels = every_label(case.features, case.noise_variance)
    best = labels[:, :, : case.context_length] @ best_weights(case)
    least = np.mean((best - labels) ** 2, axis=(1, 2)) / 2
    loss = evaluated(case).loss
    return loss - least, norms(residuals(case), 1, 2), rounding(loss, least)
