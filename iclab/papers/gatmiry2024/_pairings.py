"""Isserlis' theorem on powers of a sample covariance: pairings and their two graphs.

In E[xxᵀxxᵀ⋯xxᵀ], with positions 1 … 2k, a pairing makes two graphs of degree two: 𝒢 on
the k factors xxᵀ, whose cycles count the free sample indices, and 𝒢′ on the places
(2,3), (4,5), …, (2k,1) between them, whose cycles are traces. Everything is rational.
"""

import functools
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import comb, prod
from typing import NamedTuple

Blocks = tuple[tuple[int, ...], ...]


class Graphs(NamedTuple):
    """Cycles of 𝒢 and of 𝒢′, each as the vertices on it; 𝒢's loops at one vertex."""

    factors: Blocks
    places: Blocks
    self_loops: int


@functools.cache
def pairing_graphs(k: int) -> list[Graphs]:
    """Both graphs of every pairing of 2k positions."""
    found = []
    for pairs in _pairings(tuple(range(2 * k))):
        factors = _cycles(k, [(i // 2, j // 2) for i, j in pairs])
        # Place p lies between positions 2p + 1 and 2p + 2, counted from 0.
        places = [((i - 1) // 2 % k, (j - 1) // 2 % k) for i, j in pairs]
        loops = sum(i // 2 == j // 2 for i, j in pairs)
        found.append(Graphs(factors, _cycles(k, places), loops))
    return found


def mean_power(d: int, n: int, k: int) -> Fraction:
    """The number α with E Sᵏ = αI for white inputs: n^{C(𝒢)−k} d^{C(𝒢′)−1}, summed."""
    shapes = Counter((len(g.factors), len(g.places)) for g in pairing_graphs(k))
    terms = (count * n**c * d ** (e - 1) for (c, e), count in shapes.items())
    return Fraction(sum(terms), n**k)


def mean_word(diagonals: Sequence[Sequence[Fraction]], n: int) -> Fraction:
    """E tr(S M₁ S M₂ ⋯ S M_k) for white inputs and diagonal M₁ … M_k."""
    k, total = len(diagonals), Fraction(0)
    for (free, places), count in _shapes(k).items():
        traces = (_trace([diagonals[p] for p in cycle]) for cycle in places)
        total += count * Fraction(n) ** (free - k) * prod(traces)
    return total


def middle_word(
    a: Sequence[Fraction], n: int, before: int, after: int
) -> list[Fraction]:
    """Eigenvalues γ_j of E[T^{ℓ₁+1}A⁻¹T^{ℓ₂}], T = A^½SA^½, A = diag(a), white inputs.

    Between two S stands A, and 1 where A⁻¹ is; the trace with e_je_jᵀ closes the word.
    """
    ones, found = [Fraction(1)] * len(a), []
    for j, entry in enumerate(a):
        close = [Fraction(0)] * len(a)
        close[j] = entry if after else Fraction(1)
        words = [*[a] * before, *([ones, *[a] * (after - 1)] if after else []), close]
        found.append(mean_word(words, n))
    return found


def loop_means(a: Sequence[Fraction], n: int, L: int) -> tuple[Fraction, Fraction]:
    """E‖(I − SA)^L‖² and E tr(I − A^½SA^½)^{2L}, A = diag(a), for white inputs."""
    ones, squares = [Fraction(1)] * len(a), [entry**2 for entry in a]
    norm = trace = Fraction(len(a))
    for k in range(1, 2 * L + 1):
        power = mean_word([a] * k, n)
        trace += (-1) ** k * comb(2 * L, k) * power
        for i in range(max(0, k - L), min(k, L) + 1):
            # tr (SA)ⁱ(AS)^{k−i}, with nothing between the last S and the first.
            word = [*[a] * (i - 1), squares, *[a] * (k - i - 1), ones]
            mean = power if i in (0, k) else mean_word(word, n)
            norm += (-1) ** k * comb(L, i) * comb(L, k - i) * mean
    return norm, trace


@functools.cache
def _shapes(k: int) -> Counter[tuple[int, Blocks]]:
    return Counter((len(g.factors), g.places) for g in pairing_graphs(k))


def _trace(diagonals: Sequence[Sequence[Fraction]]) -> Fraction:
    products = (
        prod(entries, start=Fraction(1)) for entries in zip(*diagonals, strict=True)
    )
    return sum(products, Fraction(0))


def _pairings(positions: tuple[int, ...]) -> Iterator[list[tuple[int, int]]]:
    if not positions:
        yield []
        return
    first, *rest = positions
    for index, partner in enumerate(rest):
        others = (*rest[:index], *rest[index + 1 :])
        for pairs in _pairings(others):
            yield [(first, partner), *pairs]


def _cycles(k: int, edges: list[tuple[int, int]]) -> Blocks:
    """Connected components, sorted: where every vertex has degree two, its cycles."""
    block = list(range(k))
    for i, j in edges:
        block = [block[i] if b == block[j] else b for b in block]
    members = (tuple(v for v in range(k) if block[v] == b) for b in set(block))
    return tuple(sorted(members))
