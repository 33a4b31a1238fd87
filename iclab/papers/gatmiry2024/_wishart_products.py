"""Exact moments of products of traces of a Wishart matrix, for any covariance."""

from collections.abc import Callable, Sequence
from functools import cache

# E[Wᵇ Π tr Wᵐ] as the numbers that it has on the eigenspaces of Σ.
Products = Callable[[int, tuple[int, ...]], tuple[int, ...]]


def wishart_products(
    eigenvalues: Sequence[int], multiplicities: Sequence[int], samples: int
) -> Products:
    r"""The function V(b, M) = E[Wᵇ Π_{m∈M} tr Wᵐ] with W = Σᵢ xᵢxᵢᵀ, xᵢ ~ N(0, Σ).

    $$V(b,M)=\Sigma\Big[(n+b-1)V(b-1,M)+\sum_{j=1}^{b-1}V(b-1-j,M\cup\{j\})
      +\sum_{m\in M}2m\,V(b+m-1,M\setminus\{m\})\Big]$$

    Σ has whole numbers as `eigenvalues`, with `multiplicities`; n = `samples`. V is a
    polynomial in Σ, so its values on Σ's eigenspaces, integers all of them, say
    everything. M is a tuple in descending order. Every partition of every number up to
    b + ΣM is visited: a second for 32.

    Source: iclab; Gaussian integration by parts, as `theory.wishart_matrix_moments`.
    Assumes: Gaussian inputs.
    Differs from the paper: no paper states it.
    """
    n, sizes = samples, tuple(eigenvalues)

    def trace(values: tuple[int, ...]) -> int:
        return sum(m * value for m, value in zip(multiplicities, values, strict=True))

    @cache
    def V(b: int, M: tuple[int, ...]) -> tuple[int, ...]:
        if b == 0:
            return (trace(V(M[0], M[1:])) if M else 1,) * len(sizes)
        terms = [(n + b - 1, V(b - 1, M))]
        terms += [(1, V(b - 1 - j, _joined(M, j))) for j in range(1, b)]
        terms += [(2 * m, V(b + m - 1, M[:i] + M[i + 1 :])) for i, m in enumerate(M)]
        return tuple(
            size * sum(times * values[i] for times, values in terms)
            for i, size in enumerate(sizes)
        )

    return V


def _joined(M: tuple[int, ...], j: int) -> tuple[int, ...]:
    return tuple(sorted((*M, j), reverse=True))
