"""Lemma 10, (59)–(61): a Lipschitz constant of the gradient of the loss.

‖∇ℓ(ξ) − ∇ℓ(ξ')‖/‖ξ − ξ'‖ of the model's loss against L with (γf̄_max‖Z̄‖)² in the second
part of its square. Two opposite tokens with opposite features say what part of it is
reached: without weights ‖Z̄‖² = 2f̄_max², N = 2, K = 4 make L = γ‖Z̄‖²‖A‖√18 of which
Q and α together need γ‖Z̄‖²‖A‖/√32, one in 24; with large weights and attention tilted
to tanh q = 1/√3 it is L = γ²α²H‖Z̄‖²√288, of which heads that move against each other
need 2/9, one in 54√2.
"""

import functools
from collections.abc import Callable

import numpy as np

from iclab.evidence import Measured, Printed
from iclab.papers.yang2024._bounds import (
    Tightest,
    as_bounds,
    as_measured,
    bound_claim,
    constants,
    each,
    tightest,
)
from iclab.papers.yang2024._descents import QUICK, N, rates_of
from iclab.papers.yang2024._instances import (
    SQUARE,
    Instances,
    families,
    is_large,
    is_tilted,
    is_unweighted,
    large_instances,
    number,
)
from iclab.papers.yang2024._quotients import quotients
from iclab.theory import smoothness_constant, smoothness_constant_printed

# Pairs at the γ and α of the proof.
_TIED = 60


def cases(scale) -> dict[str, Instances]:
    """Random problems, two kinds of extreme ones, and very large features and α."""
    return families(scale) | large(scale)


def large(scale) -> dict[str, Instances]:
    """Features near 10⁴, α up to 10³, γ = 1, τ = 0.1."""
    name = f"{SQUARE}, features near 1e4, α up to 1e3"
    return {name: large_instances(number(scale))}


@functools.cache
def tied_instances() -> Instances:
    """Pairs near a start of Theorem 1, with γ of (15) and |α_{h,k}| up to α of (44)."""
    rates, random = rates_of(QUICK, "simple"), np.random.default_rng(23)
    gamma, alpha = float(rates.gamma), float(rates.weight_bound)
    tokens, features, start = (
        np.repeat(one[None], _TIED, axis=0) for one in QUICK.arrays
    )
    Q = start + random.standard_normal(start.shape)
    value = alpha * random.uniform(-1, 1, (_TIED, *start.shape[1:2], tokens.shape[1]))
    return Instances(
        N,
        tokens,
        features,
        np.full(_TIED, QUICK.tau),
        np.full(_TIED, gamma),
        Q,
        value,
        Q + 1e-3 * random.standard_normal(Q.shape),
        np.clip(
            value + 0.01 * alpha * random.standard_normal(value.shape), -alpha, alpha
        ),
    )


def sides(case: Instances) -> list[Tightest]:
    """The change of the gradient and L as corrected."""
    return [_sides(case, _corrected)]


def parts(case: Instances) -> tuple[float, ...]:
    """What the mixed derivative needs without weights, and that in Q with many."""
    if is_unweighted(case):
        return (1 / 24,)
    return (1 / (54 * np.sqrt(2)),) if is_tilted(case) else ()


def printed(case: Instances):
    """L by (61), with γ f̄_max‖Z̄‖."""
    return as_bounds([_sides(case, _printed)])


def decoy(case: Instances):
    """L by (55) alone, as if the gradient in Q did not change."""
    return as_bounds([_sides(case, _values)]) if is_large(case) else None


def measure_printed(case: Instances) -> Measured:
    """The same, where it is the largest part of the printed L."""
    return as_measured([_sides(case, _printed)])


@functools.cache
def _sides(case: Instances, formula: Callable) -> Tightest:
    pairs = quotients(case)
    bounds = [
        each(formula, constants(case), case.gamma, one.alpha, heads=case.heads)
        for one in pairs
    ]
    slopes, errors = ([one[i] for one in pairs] for i in (0, 1))
    return tightest(*map(np.concatenate, (slopes, bounds, errors)))


def _corrected(constants, gamma, alpha, *, heads: int):
    return smoothness_constant(constants, heads, gamma, alpha)


def _printed(constants, gamma, alpha, *, heads: int):
    return smoothness_constant_printed(constants, heads, gamma, alpha)


def _values(constants, gamma, alpha, *, heads: int):
    without = constants._replace(largest_column=0 * constants.largest_column)
    return _corrected(without, gamma, alpha, heads=heads)


def numbers(results, printed):
    """How many times as fast as the printed L allows the gradient changes."""
    times = [np.max(one.measured / one.predicted) for one in printed.values()]
    tied = _sides(tied_instances(), _printed).part
    return {"times": max(times), "tied": tied}


CLAIM = bound_claim(
    "yang2024/lemma-10",
    sides,
    parts,
    cases=cases,
    wrong=decoy,
    printed=Printed(predict=printed, cases=large, measure=measure_printed),
    numbers=numbers,
)
