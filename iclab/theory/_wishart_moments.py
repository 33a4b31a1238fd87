"""Exact moments of Wishart matrices, by three routes that share no formula."""

from collections.abc import Iterator
from fractions import Fraction
from math import prod
from typing import Annotated

import jax.numpy as jnp
from jaxtyping import Array, Float

from iclab.core import Natural, SecondMoment, between, checked

# Moments have as many digits as their order, times a few, and cost that much more;
# E[S^8] mixes every partition of 8, and nothing in the library asks for more.
_Order = Annotated[int, between(1, 10_000)]
_ZonalOrder = Annotated[int, between(1, 256)]
_TraceOrder = Annotated[int, between(1, 40)]
_MatrixOrder = Annotated[int, between(1, 8)]


@checked
def wishart_moments(
    dimension: Natural, samples: Natural, order: _Order
) -> list[Fraction]:
    r"""Exact moments of the mean spectrum of an isotropic sample covariance.

    $$m_k=\tfrac1d\,\mathbb E\operatorname{tr}(S^k),\qquad
      S=\tfrac1n\sum_{i=1}^n x_ix_i^\top,\quad x_i\sim N(0,I_d),\qquad k=0,\dots,K$$

    with d = `dimension`, n = `samples` and K = `order`. With s = n+d, p = nd,
    D = (n−d)², the integers M_k = d nᵏ m_k obey, for k ≥ 0,

    $$\begin{aligned}(k+5)M_{k+4}={}&(4k+15)(s-1)M_{k+3}\\
    &+\big[5k^3+44k^2+125k+115-(2k+5)(3s^2-4s-4p)\big]M_{k+2}\\
    &-(s-1)\big[10k^3+52k^2+86k+45-(4k+5)D\big]M_{k+1}\\
    &-k\big[(k+2)^2-D\big]\big[(2k+1)^2-D\big]M_k\end{aligned}$$

    so a moment costs a few integer products, whatever d and n (n < d included).

    Source: iclab. The recurrence was fitted in exact arithmetic, not proved;
        `wishart_moments_zonal` and `wishart_moments_by_traces` are derived
        independently and agree with it.
    Assumes: Gaussian inputs with identity covariance.
    Differs from the paper: no paper states it.
    """
    d, n, K = dimension, samples, order
    s, p, D = n + d, n * d, (n - d) ** 2
    # E tr Wᵏ for k < 4, W = nS: the trace recursion by hand.
    M = [d, p, p * (s + 1), p * (s * s + 3 * s + 4 + p)]
    for k in range(K - 3):
        third = (4 * k + 15) * (s - 1) * M[k + 3]
        quadratic = (2 * k + 5) * (3 * s * s - 4 * s - 4 * p)
        second = (5 * k**3 + 44 * k**2 + 125 * k + 115 - quadratic) * M[k + 2]
        cubic = 10 * k**3 + 52 * k**2 + 86 * k + 45
        first = (s - 1) * (cubic - (4 * k + 5) * D) * M[k + 1]
        zeroth = k * ((k + 2) ** 2 - D) * ((2 * k + 1) ** 2 - D) * M[k]
        M.append((third + second - first - zeroth) // (k + 5))  # divides exactly
    return _normalised(M[: K + 1], d, n)


@checked
def wishart_moments_zonal(
    dimension: Natural, samples: Natural, order: _ZonalOrder
) -> list[Fraction]:
    r"""The moments of `wishart_moments` as sums over hooks with one more row.

    $$M_k=\sum_{\lambda\vdash k,\;\lambda_3\le1}
      \frac{2k\prod_{(i,j)\ne(1,1)}r_{ij}}{\prod_s(2a_s+l_s+1)(2a_s+l_s+2)}
      \prod_{(i,j)\in\lambda}(n+r_{ij})(d+r_{ij}),\qquad r_{ij}=2(j-1)-(i-1)$$

    with n = `samples`, d = `dimension`, a_s and l_s the arm and leg of box s, and
    M_k = d nᵏ m_k for k = 1 … `order`. The k-th moment takes O(k³) integer products.

    Source: iclab; the power sum p_k expanded in zonal polynomials.
    Assumes: Gaussian inputs with identity covariance.
    Differs from the paper: no paper states it.
    """
    d, n, K = dimension, samples, order
    M = [Fraction(d)]
    for k in range(1, K + 1):
        M.append(sum((_zonal_term(shape, d, n) for shape in _shapes(k)), Fraction(0)))
    return _normalised(M, d, n)


@checked
def wishart_moments_by_traces(
    dimension: Natural, samples: Natural, order: _TraceOrder
) -> list[Fraction]:
    r"""The moments of `wishart_moments` by integration by parts on products of traces.

    With W = nS and t_k = tr Wᵏ (t_0 = d),

    $$\mathbb E\Big[t_{k+1}\prod_i t_{m_i}\Big]=(n+k)\,\mathbb E\Big[t_k\prod_i
      t_{m_i}\Big]+\sum_{j=0}^{k-1}\mathbb E\Big[t_{j+1}t_{k-1-j}\prod_i t_{m_i}\Big]
      +\sum_i2m_i\,\mathbb E\Big[t_{k+m_i}\prod_{l\ne i}t_{m_l}\Big]$$

    with n = `samples`, d = `dimension`, up to t_K with K = `order`. Every partition of
    every number up to K is visited, so this is a check, not a tool, beyond K ≈ 25.

    Source: iclab; Gaussian integration by parts.
    Assumes: Gaussian inputs with identity covariance.
    Differs from the paper: no paper states it.
    """
    d, n, K = dimension, samples, order
    known: dict[tuple[int, ...], int] = {(): 1}

    def expectation(powers: list[int]) -> int:
        zeros = powers.count(0)
        partition = tuple(sorted((m for m in powers if m > 0), reverse=True))
        if partition not in known:
            k, rest = partition[0] - 1, list(partition[1:])
            total = (n + k) * expectation([k, *rest])
            for j in range(k):
                total += expectation([j + 1, k - 1 - j, *rest])
            for i, m in enumerate(rest):
                total += 2 * m * expectation([k + m, *rest[:i], *rest[i + 1 :]])
            known[partition] = total
        return d**zeros * known[partition]

    return _normalised([expectation([k]) for k in range(K + 1)], d, n)


@checked
def wishart_matrix_moments(
    covariance: SecondMoment, samples: Natural, order: _MatrixOrder
) -> Float[Array, "k d d"]:
    r"""E[Sᵏ] for k = 0 … `order`, of a sample covariance with any covariance.

    With x ~ N(0, Σ), W = nS and V(b; M) = E[Wᵇ Π_{m∈M} tr Wᵐ],

    $$V(b;M)=\Sigma\Big[(n+b-1)V(b-1;M)+\sum_{j=1}^{b-1}V(b-1-j;M\cup\{j\})
      +\sum_{m\in M}2m\,V(b+m-1;M\setminus\{m\})\Big]$$

    with Σ = `covariance`, n = `samples`, V(0; ∅) = I; E[Sᵏ] = V(k; ∅)/nᵏ is a
    polynomial in Σ and its traces. Differentiable in Σ.

    Source: iclab; Gaussian integration by parts.
    Assumes: Gaussian inputs, `order` ≤ 8.
    Differs from the paper: no paper states it.
    """
    Sigma, n, K = covariance, samples, order
    identity = jnp.eye(Sigma.shape[0], dtype=Sigma.dtype)
    known: dict[tuple[int, tuple[int, ...]], Float[Array, "d d"]] = {}

    def product_of_traces(M: tuple[int, ...]) -> Float[Array, ""]:
        if not M:
            return jnp.ones((), Sigma.dtype)
        return jnp.trace(V(M[0], M[1:]))

    def V(b: int, M: tuple[int, ...]) -> Float[Array, "d d"]:
        if b == 0:
            return product_of_traces(M) * identity
        if (b, M) not in known:
            total = (n + b - 1) * V(b - 1, M)
            for j in range(1, b):
                total = total + V(b - 1 - j, tuple(sorted((*M, j), reverse=True)))
            for i, m in enumerate(M):
                total = total + 2 * m * V(b + m - 1, M[:i] + M[i + 1 :])
            known[b, M] = Sigma @ total
        return known[b, M]

    return jnp.stack([V(k, ()) / float(n) ** k for k in range(K + 1)])


def _normalised(M: list, d: int, n: int) -> list[Fraction]:
    """m_k = M_k / (d nᵏ)."""
    return [Fraction(M_k) / (d * n**k) for k, M_k in enumerate(M)]


def _shapes(k: int) -> Iterator[tuple[int, ...]]:
    """Partitions of k without the box (3, 2): (p), and (p, q, 1, …, 1)."""
    yield (k,)
    for p in range(1, k):
        for q in range(1, min(p, k - p) + 1):
            yield (p, q, *([1] * (k - p - q)))


def _zonal_term(shape: tuple[int, ...], d: int, n: int) -> Fraction:
    boxes = [(i, j) for i, row in enumerate(shape) for j in range(row)]
    conjugate = [sum(row > j for row in shape) for j in range(shape[0])]
    r = [2 * j - i for i, j in boxes]
    hooks = prod(
        (2 * a + l + 1) * (2 * a + l + 2)
        for a, l in ((shape[i] - j - 1, conjugate[j] - i - 1) for i, j in boxes)
    )
    numerator = 2 * len(boxes) * prod(r[1:]) * prod((n + x) * (d + x) for x in r)
    return Fraction(numerator, hooks)
