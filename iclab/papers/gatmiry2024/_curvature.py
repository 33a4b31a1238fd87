"""How the loss bends at multiples of I, in directions that leave them."""

import math
from fractions import Fraction
from typing import NamedTuple

from iclab.papers.gatmiry2024._wishart_products import wishart_products


class Curvatures(NamedTuple):
    """Second derivatives of the loss along directions of Frobenius norm 1."""

    along: float
    symmetric: float
    antisymmetric: float


def curvatures(step: float, dimension: int, samples: int, loops: int) -> Curvatures:
    r"""Exact second derivatives of L(A, 0) at A = aI: along I, and in A − tr(A)I/d.

    With h_i the eigenvalues of S, r_i = 1 − ah_i and K the direction in S's eigenbasis,

    $$\begin{aligned}\tfrac12\frac{d^2}{d\varepsilon^2}L(aI+\varepsilon K,0)={}&
      \mathbb E\sum_{ij}K_{ij}^2h_i^2\Big(\sum_{k=0}^{L-1}r_i^kr_j^{L-1-k}\Big)^2\\
      &+2\,\mathbb E\sum_{ij}K_{ij}K_{ji}h_ih_j
      \sum_{q=0}^{L-2}(q+1)r_i^{L+q}r_j^{L-2-q}\end{aligned}$$

    and S's eigenbasis is uniform, so only the kind of K matters: symmetric of trace 0,
    or antisymmetric, where the second sum counts with a minus. The means of products
    of two traces are exact (`wishart_products`).

    Source: iclab; (I − SA)^L expanded to second order.
    Assumes: Σ⋆ = I, d ≥ 2, L ≤ 16 or so for speed.
    Differs from the paper: the paper's formulas need a symmetric A.
    """
    d, n, L, a = dimension, samples, loops, Fraction(step)
    V = wishart_products((1,), (d,), n)

    def trace_pair(p: int, q: int) -> Fraction:
        """E tr Sᵖ tr S^q."""
        whole = d * V(p, (q,))[0] if q > 0 else d * d * V(p, ())[0]
        return Fraction(whole, n ** (p + q))

    def one_trace(p: int, x: int) -> Fraction:
        """E Σ_i h_iᵖ r_iˣ."""
        terms = (c * trace_pair(p + i, 0) / d for i, c in _power(a, x))
        return sum(terms, Fraction(0))

    def two_traces(p: int, x: int, q: int, y: int) -> Fraction:
        """E Σ_ij h_iᵖ r_iˣ h_jᑫ r_jʸ."""
        terms = (
            c * e * trace_pair(p + i, q + j)
            for i, c in _power(a, x)
            for j, e in _power(a, y)
        )
        return sum(terms, Fraction(0))

    square = one_trace(2, 2 * L - 2)
    # Over all i and j, then less i = j, where the sums have L and L(L−1)/2 equal terms.
    first = sum(
        (L - abs(L - 1 - x)) * two_traces(2, x, 0, 2 * L - 2 - x)
        for x in range(2 * L - 1)
    )
    second = sum((q + 1) * two_traces(1, L + q, 1, L - 2 - q) for q in range(L - 1))
    off_first = first - L**2 * square
    off_second = second - Fraction(L * (L - 1), 2) * square
    diagonal = L * (2 * L - 1) * square
    # Mean squares of K's entries: off the diagonal, and on it if K is symmetric.
    off = Fraction(1, (d - 1) * (d + 2))
    on = 2 * off * Fraction(d - 1, d)
    symmetric = off * (off_first + 2 * off_second) + on * diagonal
    antisymmetric = Fraction(1, d * (d - 1)) * (off_first - 2 * off_second)
    return Curvatures(
        float(2 * diagonal / d), float(2 * symmetric), float(2 * antisymmetric)
    )


def _power(a: Fraction, x: int) -> list[tuple[int, Fraction]]:
    """(1 − ah)ˣ as powers of h and their coefficients."""
    return [(i, math.comb(x, i) * (-a) ** i) for i in range(x + 1)]
