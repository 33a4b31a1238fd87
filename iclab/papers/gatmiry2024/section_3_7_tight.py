"""Section 3.7: Theorem 3.2's rates in n against those of the optimum itself."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from iclab.evidence import Measured
from iclab.papers.gatmiry2024._averaged_prompts import Multiples, best_multiple
from iclab.theory import looped_optimum_bounds, wishart_moments_zonal

# Enough for the theorem; exponents are those between the two.
_SAMPLES = 2**30, 2**34

labels = "exponent of the distance", "exponent of the loss"


@dataclass(frozen=True)
class Case:
    """Dimension d and number of loops L."""

    dimension: int
    loops: int


def cases(scale) -> dict[str, Case]:
    """One loop, which the remark names, and more."""
    pairs = [(2, 1), (2, 2)] if scale == "smoke" else [(2, 1), (2, 2), (5, 2), (2, 3)]
    return {f"d={d}, L={L}": Case(d, L) for d, L in pairs}


def predict(case: Case):
    """1/n and n⁻ᴸ."""
    return np.array([-1.0, -case.loops])


def printed(case: Case):
    """Those of the theorem's bounds, −1/(4L) and −1/2."""
    few, many = (looped_optimum_bounds(case.dimension, n, case.loops) for n in _SAMPLES)
    falls = [math.log(many.distance / few.distance), math.log(many.loss / few.loss)]
    return np.array(falls) / _span()


def decoy(case: Case):
    """A distance of n^{−½}, that of S from its mean."""
    return np.array([-0.5, -case.loops])


def measure(case: Case) -> Measured:
    """Where the loss of multiples of I is least, by halving in exact fractions."""
    falls, error = np.zeros(2), 0.0
    for sign, n in zip((-1, 1), _SAMPLES, strict=True):
        setting = Multiples(case.dimension, n, case.loops)
        found = best_multiple(setting)
        distance = 1 - found.value[0]
        falls += sign * np.log([distance, _loss(setting, found.value[0])])
        # The loss is stationary in a, and a is known to one unit in the last place.
        error += 2 * case.loops * np.finfo(float).eps / distance + case.dimension / n
    reason = "a to float64, and terms of order d/n beside the leading one"
    return Measured(falls / _span(), 2 * error / _span(), reason)


def _loss(setting: Multiples, a: float) -> float:
    d, degree = setting.dimension, 2 * setting.loops
    moments = wishart_moments_zonal(d, setting.samples, degree)
    powers = enumerate(moments)
    terms = (math.comb(degree, j) * (-Fraction(a)) ** j * m for j, m in powers)
    return float(d * sum(terms, Fraction(0)))


def _span() -> float:
    return math.log(_SAMPLES[1] / _SAMPLES[0])


def numbers(results):
    """The exponents of two loops."""
    distance, loss = results["d=2, L=2"].measured
    return {"distance": distance, "loss": loss}
