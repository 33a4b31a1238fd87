"""Lemma A.2, (14)–(19): moments of the sample covariance from cycles of pairings."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from iclab.evidence import Measured, rounded
from iclab.papers.gatmiry2024._every_prompt import every_sample
from iclab.papers.gatmiry2024._pairings import mean_power, pairing_graphs
from iclab.theory import wishart_moments, wishart_moments_by_traces

# Orders whose pairings are counted: (2k−1)!! of them.
ORDERS = {"smoke": 5, "desk": 6, "paper": 6}


@dataclass(frozen=True)
class Matrix:
    """All entries of E Sᵏ, k = 1 … K, for two inputs."""

    samples: int
    orders: int


@dataclass(frozen=True)
class Trace:
    """(1/d) E tr Sᵏ, k = 1 … K, for any number of inputs."""

    dimension: int
    samples: int
    orders: int


@dataclass(frozen=True)
class Cycles:
    """Largest C(𝒢) + C(𝒢′), and pairings beyond the bounds by loops of 𝒢, per k."""

    orders: int


def cases(scale) -> dict[str, Matrix | Trace | Cycles]:
    """More and fewer examples than inputs."""
    K = ORDERS[scale]
    found: dict[str, Matrix | Trace | Cycles] = {f"d=2, n=5, k ≤ {K}": Matrix(5, K)}
    for d, n in ((5, 20), (6, 2), (3, 1000)):
        found[f"d={d}, n={n}, k ≤ {K}"] = Trace(d, n, K)
    found[f"cycles, k ≤ {K}"] = Cycles(K)
    return found


def predict(case: Matrix | Trace | Cycles):
    """Σ_p n^{C(𝒢)−k} d^{C(𝒢′)−1} I; at most k + 1 cycles in all, and no exceptions."""
    if isinstance(case, Cycles):
        return np.array([(k + 1, 0, 0) for k in _orders(case)])
    d = case.dimension if isinstance(case, Trace) else 2
    return _statement(case, [mean_power(d, case.samples, k) for k in _orders(case)])


def decoy(case: Matrix | Trace | Cycles):
    """n in place of d, as (18) and (19) print it; at most k cycles."""
    if isinstance(case, Cycles):
        return np.array([(k, 0, 0) for k in _orders(case)])
    n = case.samples
    return _statement(case, [mean_power(n, n, k) for k in _orders(case)])


def measure(case: Matrix | Trace | Cycles) -> Measured:
    """Powers of every S; integration by parts and a recurrence; or counting."""
    if isinstance(case, Cycles):
        value = np.array([_count(k) for k in _orders(case)])
        return Measured(value, 0, "counts over all pairings")
    n, K = case.samples, case.orders
    if isinstance(case, Trace):
        routes = wishart_moments_by_traces, wishart_moments
        value = np.array([route(case.dimension, n, K)[1:] for route in routes], float)
        return rounded(value, 1, value)
    rule = every_sample(np.eye(2), n, K)
    powers = [np.linalg.matrix_power(rule.S, k) for k in _orders(case)]
    value = np.array([rule.mean(power) for power in powers])
    return rounded(value, 10 * K, value)


def _statement(case: Matrix | Trace, alpha: list[Fraction]) -> np.ndarray:
    numbers = np.array(alpha, float)
    return numbers if isinstance(case, Trace) else numbers[:, None, None] * np.eye(2)


def _count(k: int) -> tuple[int, int, int]:
    graphs = pairing_graphs(k)
    sizes = [(len(g.factors), len(g.places), g.self_loops) for g in graphs]
    of_factors = sum(c > r + (k - r) // 2 for c, _, r in sizes)
    of_places = sum(e > k - r + 1 for _, e, r in sizes)
    return max(c + e for c, e, _ in sizes), of_factors, of_places


def _orders(case: Matrix | Trace | Cycles) -> range:
    return range(1, case.orders + 1)
