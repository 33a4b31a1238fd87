"""Lemma A.2, the bound: E Sᵏ is within 4kd/√n of the identity, and the steps to it."""

from dataclasses import dataclass
from math import comb, prod, sqrt

import numpy as np

from iclab.evidence import Measured, Printed, rounded
from iclab.papers.gatmiry2024._pairings import pairing_graphs
from iclab.theory import moment_deviation, wishart_moments_by_traces

relation = "<="
labels = "−α", "α", "α − sum 1", "sum 1 − sum 2", "sum 2", "pairings", "−pairings"


@dataclass(frozen=True)
class Case:
    """Power k and dimension d of white inputs, and n as a multiple of k²d²."""

    order: int
    dimension: int
    times: int

    @property
    def samples(self) -> int:
        """Number n of examples."""
        return self.times * (self.order * self.dimension) ** 2


def cases(scale) -> dict[str, Case]:
    """n = 16k²d², and n = 4k²d², where only the bound on α is claimed."""
    return _grid(scale, 16) | _grid(scale, 4)


def printed_cases(scale) -> dict[str, Case]:
    """n = 4k²d², the fewest examples that the lemma admits."""
    return _grid(scale, 4)


def predict(case: Case):
    """1 ≤ α ≤ Σ_s C(k,s)(2s−1)!!(d/√n)^s ≤ Σ_s(2kd/√n)^s ≤ 1 + 4kd/√n, α ≤ the last.

    The first sum counts pairings by the pairs that are no loops; there are (2k−1)!! in
    all. The last step needs n ≥ 16k²d².
    """
    k, proved = case.order, case.times >= 16
    deviation = moment_deviation(case.dimension, case.samples, k, corrected=proved)
    return _bounds(1 + deviation, 1 + deviation if proved else np.inf, _pairs(k))


def as_printed(case: Case):
    """Every step from n = 4k²d² on, with (2k)!! pairings."""
    k = case.order
    bound = 1 + moment_deviation(case.dimension, case.samples, k, corrected=False)
    return _bounds(bound, bound, prod(range(2, 2 * k + 1, 2)))


printed = Printed(predict=as_printed, cases=printed_cases, nearby=True)


def decoy(case: Case):
    """α ≤ 1 + half of its first term, which is k(k−1)(d+1)/(2n)."""
    k, d = case.order, case.dimension
    bounds = predict(case)
    bounds[1] = 1 + k * (k - 1) * (d + 1) / (4 * case.samples)
    return bounds if k > 1 else None


def measure(case: Case) -> Measured:
    """α in rational numbers, both sums, and a count of the pairings."""
    k, d, n = case.order, case.dimension, case.samples
    alpha, x = float(wishart_moments_by_traces(d, n, k)[k]), d / sqrt(n)
    counted = sum(comb(k, s) * _pairs(s) * x**s for s in range(k + 1))
    geometric = sum((2 * k * x) ** s for s in range(k + 1))
    steps = [-alpha, alpha, alpha - counted, counted - geometric, geometric]
    count = len(pairing_graphs(k))
    return rounded(np.array([*steps, count, -count]), 10 * k, geometric)


def _grid(scale, times: int) -> dict[str, Case]:
    orders, dimensions = {
        "smoke": ((2, 5), (1, 5)),
        "desk": (range(1, 6), (1, 2, 3, 5, 8)),
        "paper": (range(1, 7), (1, 2, 3, 5, 8, 20)),
    }[scale]
    return {
        f"k={k}, d={d}, n={times}k²d²": Case(k, d, times)
        for k in orders
        for d in dimensions
    }


def _bounds(of_alpha: float, of_sum: float, pairings: int) -> np.ndarray:
    """From above, in the order of what is measured."""
    return np.array([-1.0, of_alpha, 0.0, 0.0, of_sum, pairings, -pairings])


def _pairs(s: int) -> int:
    """(2s−1)!!, the number of ways to pair 2s things."""
    return prod(range(1, 2 * s, 2))
