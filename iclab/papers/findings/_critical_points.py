"""All critical points of two layers A_i = a_iΣ⁻¹, B₀ = b₀I, with a certificate.

On an eigenvalue h of the whitened sample covariance the layers leave c = (1 + uh)(1 +
vW), W = h(1 + βh)², with u = a₀, v = a₁, β = a₀b₀. The loss E c² is quadratic in v, and
v ≠ 0 at its best, so that two polynomials in u and β remain. Their resultant in u is
found in whole numbers, and Sturm's sequence counts its real roots: a simple one belongs
to one common root, which is real, so there are no more critical points than roots. As
many are then shown.

With one input this is everything: all weights of the form (13). With more it is all of
S, whose critical points are critical in all entries.
"""

import functools
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import comb, gcd, lcm
from typing import Any, NamedTuple

import numpy as np

from iclab.theory import wishart_moments_zonal

# A univariate polynomial, lowest power first.
Coefficients = list[Any]  # whole numbers or fractions

# Degrees of the two polynomials are (5, 8) and (4, 5) in u and β: that of the resultant
# is at most 5·5 + 4·8.
_DEGREE = 57
_FINENESS = (64, 256, 1024, 4096)
_LOWEST = -8  # of β, below which no root was ever found; the count would tell


class Point(NamedTuple):
    """a₀, a₁ and b₀, the loss, and how many curvatures are below 0."""

    a: tuple[float, float]
    b: float
    loss: float
    falling: int


class Census(NamedTuple):
    """Critical points with a₀ ≠ 0, exactly `roots` of them; that with a₀ = 0.

    `far` is the least loss in the limit b₀ → ∞, a₁ → 0.
    """

    roots: int
    points: tuple[Point, ...]
    one_step: Point
    far: float


@functools.cache
def census(dimension: int, samples: int) -> Census:
    """Every critical point of two layers with B, lowest first."""
    d, n = dimension, samples
    normalised = wishart_moments_zonal(d, n, 8)
    whole = [int(m * d * n**k) for k, m in enumerate(normalised)]
    places = range(-(_DEGREE // 2) - 1, _DEGREE // 2 + 2)
    values = [_resultant(*_system(whole, place)) for place in places]
    R = _interpolated(list(places), values)
    repeated = _common(R, _derivative(R))
    F = _divided(R, repeated)
    count = real_roots(F)
    if real_roots(repeated):
        raise ArithmeticError("a real root of the resultant is not simple")
    points = []
    for low, high in _brackets(F, count, n):
        beta = _bisected(F, low, high)
        points.append(_point(d, n, normalised, _common_u(whole, beta) * n, beta * n))
    points.sort(key=lambda one: one.loss)
    return Census(
        count, tuple(points), _one_step(d, normalised), d * _far_away(normalised)
    )


@functools.cache
def census_without_B(dimension: int, samples: int) -> tuple[int, float, float]:
    """With B = 0: how many critical points, the loss of the two minima, of the saddle.

    (1 + uh)(1 + vh) = 1 + sh + ph²: the loss is quadratic in s and p, so that apart
    from u = v there is one point up to order; on u = v its slope is E h(1 + uh)³.
    """
    m = wishart_moments_zonal(dimension, samples, 4)
    determinant = m[2] * m[4] - m[3] ** 2
    s = (m[2] * m[3] - m[1] * m[4]) / determinant
    p = (m[1] * m[3] - m[2] ** 2) / determinant
    ordered = 2 if s * s > 4 * p else 0
    slope = [comb(3, k) * m[k + 1] for k in range(4)]
    equal = [one.real for one in np.roots([float(c) for c in slope[::-1]])]
    count = ordered + real_roots(_whole(slope))
    best = float(_mean(m, _times([1, s, p], [1, s, p])))
    # The slope in u is increasing: one real root, which is the one of least residual.
    u = min(
        equal, key=lambda one: abs(np.polyval([float(c) for c in slope[::-1]], one))
    )
    both = [1.0, 2 * u, u * u]
    saddle = float(
        sum(c * float(q) for c, q in zip(_times(both, both), m, strict=True))
    )
    return count, dimension * best, dimension * saddle


def real_roots(p: Sequence[int]) -> int:
    """How many different real roots, by Sturm's sequence."""
    if len(p) < 2:
        return 0
    chain = [list(p), _primitive(_derivative(p))]
    while True:
        rest = _remainder(chain[-2], chain[-1])
        if not rest:
            break
        chain.append([-c for c in rest])
    right = [one[-1] for one in chain]
    left = [one[-1] if len(one) % 2 else -one[-1] for one in chain]
    changes = [
        sum((x > 0) != (y > 0) for x, y in pairwise(side)) for side in (left, right)
    ]
    return changes[0] - changes[1]


def _system(M: Sequence[Any], beta: Any) -> tuple[Coefficients, Coefficients]:
    """Slopes in u and β where that in v is 0, up to what is positive: powers of u."""
    s = [1, beta]
    W = _times([0, 1], s, s)
    N, D = _averaged(M, W, 2), _averaged(M, _times(W, W), 2)
    of_u = [
        _times(D, D, _averaged(M, [0, 1], 1)),
        _times([-2], N, D, _averaged(M, _times([0, 1], W), 1)),
        _times(N, N, _averaged(M, _times([0, 1], W, W), 1)),
    ]
    of_beta = [
        _times(D, _averaged(M, _times([0, 0, 1], s), 2)),
        _times([-1], N, _averaged(M, _times([0, 0, 1], s, W), 2)),
    ]
    return _sum(*of_u), _sum(*of_beta)


def _averaged(M: Sequence[Any], p: Coefficients, power: int) -> Coefficients:
    """E p(h)(1 + uh)^power as powers of u."""
    return [
        comb(power, j) * sum(c * M[i + j] for i, c in enumerate(p))
        for j in range(power + 1)
    ]


def _resultant(p: list[int], q: list[int]) -> int:
    """Sylvester's determinant, by Bareiss's elimination in whole numbers."""
    width = len(p) + len(q) - 2
    rows = [
        [0] * i + one[::-1] + [0] * (width - len(one) - i)
        for one, other in ((p, q), (q, p))
        for i in range(len(other) - 1)
    ]
    sign, previous = 1, 1
    for k in range(width - 1):
        pivot = next((i for i in range(k, width) if rows[i][k]), None)
        if pivot is None:
            return 0
        if pivot != k:
            rows[k], rows[pivot], sign = rows[pivot], rows[k], -sign
        for i in range(k + 1, width):
            for j in range(k + 1, width):
                cross = rows[i][j] * rows[k][k] - rows[i][k] * rows[k][j]
                rows[i][j] = cross // previous  # divides exactly
        previous = rows[k][k]
    return sign * rows[-1][-1]


def _interpolated(places: list[int], values: list[int]) -> list[int]:
    """The polynomial through the points, up to a factor (Newton)."""
    table = [Fraction(value) for value in values]
    for j in range(1, len(places)):
        for i in range(len(places) - 1, j - 1, -1):
            table[i] = (table[i] - table[i - 1]) / (places[i] - places[i - j])
    p: Coefficients = [Fraction(0)]
    for place, coefficient in zip(places[::-1], table[::-1], strict=True):
        p = _sum([0, *p], [-place * c for c in p], [coefficient])
    while p[-1] == 0:
        p.pop()
    return _whole(p)


def _brackets(F: list[int], count: int, scale: int) -> list[tuple[Fraction, Fraction]]:
    """Disjoint intervals with a change of sign, as many as there are real roots."""
    found: list[tuple[Fraction, Fraction]] = []
    for fine in _FINENESS:
        grid = [Fraction(j, fine * scale) for j in range(_LOWEST * fine, fine)]
        signs = [_value(F, x) > 0 for x in grid]
        sides = zip(pairwise(grid), pairwise(signs), strict=True)
        found = [between for between, (low, high) in sides if low != high]
        if len(found) == count:
            return found
    raise ArithmeticError(f"{len(found)} of {count} real roots were found")


def _bisected(F: list[int], low: Fraction, high: Fraction) -> Fraction:
    above = _value(F, low) > 0
    for _ in range(60):
        middle = (low + high) / 2
        if (_value(F, middle) > 0) == above:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _common_u(M: Sequence[Any], beta: Fraction) -> float:
    """The common root of both polynomials at a root of the resultant."""
    of_u, of_beta = (
        np.array([float(c) for c in one[::-1]]) for one in _system(M, beta)
    )
    roots = np.roots(of_beta)
    other = np.roots(of_u)
    near = np.min(np.abs(roots[:, None] - other) / np.abs(roots)[:, None], axis=1)
    return float(roots[np.argmin(near)].real)


def _point(d: int, n: int, m: Sequence[Fraction], u: float, beta: Fraction) -> Point:
    """The critical point near u and β, by Newton's method with exact slopes."""
    s = [Fraction(1), Fraction(beta)]
    W = _times([0, 1], s, s)
    one = [Fraction(1), Fraction(u)]
    square = _times(one, one)
    v = -_mean(m, _times(W, square)) / _mean(m, _times(W, W, square))
    point = np.array([u, float(v), float(beta)])
    for _ in range(4):
        _, slope, hessian = _derivatives(m, point)
        point = point - np.linalg.solve(hessian, slope)
    loss, slope, hessian = _derivatives(m, point)
    if np.linalg.norm(np.linalg.solve(hessian, slope)) > 1e-9 * np.linalg.norm(point):
        raise ArithmeticError(f"no critical point at n = {n} where a root is")
    u, v, b = (float(x) for x in point)
    index = int(np.sum(np.linalg.eigvalsh(hessian) < 0))
    return Point((u, v), b / u, d * loss, index)


def _derivatives(
    m: Sequence[Fraction], point: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """E c² and its derivatives in u, v and β, each number rounded once."""
    u, v, beta = (Fraction(float(x)) for x in point)
    h, one, s = [0, 1], [Fraction(1), u], [Fraction(1), beta]
    W, W_beta = _times(h, s, s), _times([2], h, h, s)
    rest = _sum([1], _times([v], W))
    c = _times(one, rest)
    first = [_times(h, rest), _times(one, W), _times([v], one, W_beta)]
    second = {
        (0, 1): _times(h, W),
        (0, 2): _times([v], h, W_beta),
        (1, 2): _times(one, W_beta),
        (2, 2): _times([2 * v], one, h, h, h),
    }
    hessian = np.zeros((3, 3))
    for i in range(3):
        for j in range(i, 3):
            both = _sum(_times(first[i], first[j]), _times(c, second.get((i, j), [0])))
            hessian[i, j] = hessian[j, i] = float(2 * _mean(m, both))
    slope = np.array([float(2 * _mean(m, _times(c, one_))) for one_ in first])
    return float(_mean(m, _times(c, c))), slope, hessian


def _one_step(d: int, m: Sequence[Fraction]) -> Point:
    """a₀ = 0: the second layer alone, and the b₀ at which the first has no slope."""
    v = -m[1] / m[2]
    _, slope, hessian = _derivatives(m, np.array([0.0, float(v), 0.0]))
    b = -slope[0] / slope[2]
    # β = a₀b₀: derivatives in a₀, a₁ and b₀ by the chain rule at a₀ = 0.
    turn = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [b, 0.0, 0.0]])
    full = turn.T @ hessian @ turn
    full[0, 2] = full[2, 0] = slope[2]
    index = int(np.sum(np.linalg.eigvalsh(full) < 0))
    return Point((0.0, float(v)), float(b), d * float(1 - m[1] ** 2 / m[2]), index)


def _far_away(m: Sequence[Fraction]) -> float:
    """Least E(1 + uh)²(1 + qh³)²: b₀ → ∞ with a₁(a₀b₀)² → q."""
    M = list(m)
    N, D = _averaged(M, [0, 0, 0, 1], 2), _averaged(M, [0] * 6 + [1], 2)
    slope = _sum(
        _times(D, D, _averaged(M, [0, 1], 1)),
        _times([-2], N, D, _averaged(M, [0] * 4 + [1], 1)),
        _times(N, N, _averaged(M, [0] * 7 + [1], 1)),
    )
    found = np.roots([float(c) for c in slope[::-1]])
    losses = []
    for u in found[np.abs(found.imag) < 1e-9 * np.abs(found)].real:
        one = [Fraction(1), Fraction(float(u))]
        square = _times(one, one)
        first = _mean(m, _times([0, 0, 0, 1], square))
        second = _mean(m, _times([0] * 6 + [1], square))
        losses.append(float(_mean(m, square) - first**2 / second))
    return min(losses)


def _mean(m: Sequence[Fraction], p: Coefficients) -> Fraction:
    return sum((Fraction(c) * m[k] for k, c in enumerate(p)), Fraction(0))


def _value(p: Sequence[int], x: Fraction) -> int:
    """p(x) times a positive number."""
    total, power = 0, 1
    for c in reversed(p):
        total = total * x.numerator + c * power
        power *= x.denominator
    return total


def _times(*factors: Coefficients) -> Coefficients:
    def two(p: Coefficients, q: Coefficients) -> Coefficients:
        found = [0] * (len(p) + len(q) - 1)
        for i, x in enumerate(p):
            for j, y in enumerate(q):
                found[i + j] += x * y
        return found

    return functools.reduce(two, factors)


def _sum(*terms: Coefficients) -> Coefficients:
    found = [0] * max(map(len, terms))
    for term in terms:
        for i, x in enumerate(term):
            found[i] += x
    return found


def _derivative(p: Sequence[int]) -> list[int]:
    return [i * c for i, c in enumerate(p)][1:]


def _whole(p: Coefficients) -> list[int]:
    """The same up to a positive factor, in whole numbers without a common divisor."""
    times = lcm(*(Fraction(c).denominator for c in p))
    return _primitive([int(c * times) for c in p])


def _primitive(p: list[int]) -> list[int]:
    divisor = gcd(*p)
    return [c // divisor for c in p]


def _remainder(p: list[int], q: list[int]) -> list[int]:
    """Of p by q, times a positive number; [] if there is none."""
    p = list(p)
    while len(p) >= len(q):
        lead, shift = p[-1], len(p) - len(q)
        sign = 1 if q[-1] > 0 else -1
        p = [abs(q[-1]) * c for c in p]
        for i, c in enumerate(q):
            p[i + shift] -= sign * lead * c
        while p and p[-1] == 0:
            p.pop()
        if not p:
            return []
        p = _primitive(p)
    return p


def _common(p: list[int], q: list[int]) -> list[int]:
    """The greatest common divisor (Euclid)."""
    while q:
        p, q = q, _remainder(p, q)
    return _primitive(p)


def _divided(p: list[int], q: list[int]) -> list[int]:
    """p/q, which leaves no rest."""
    rest = [Fraction(c) for c in p]
    found = [Fraction(0)] * (len(p) - len(q) + 1)
    for k in range(len(found) - 1, -1, -1):
        found[k] = rest[k + len(q) - 1] / q[-1]
        for i, c in enumerate(q):
            rest[k + i] -= found[k] * c
    return _whole(found)
