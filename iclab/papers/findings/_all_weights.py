"""The least loss of L loops over all weights of two inputs, with a certificate.

Whitened, the loss does not change if A is rotated, and every 2×2 matrix can be rotated
to aI + bZ + εJ with Z = diag(1, −1), J the rotation by 90°, b ≥ 0; a reflection takes ε
to −ε. So the loss is a polynomial in three unknowns, here in rational arithmetic:
S = (s/2)(I + rR), where R is a reflection at a uniform angle φ, ns ~ χ²_{2n}, and r is
independent of s with E(1 − r²)ʲ = (n − 1)/(n − 1 + 2j).

Branch and bound then leaves no place for less: in a box by Taylor polynomials, and out
of it by the same for the polynomial divided by its highest power.
"""

import functools
from collections import defaultdict
from fractions import Fraction
from itertools import product
from math import comb, prod

import numpy as np

# Exponents of a, b, ε, s, r, cos φ and sin φ, and their coefficient.
Polynomial = dict[tuple[int, ...], Fraction]
# Half the side of the box; beyond it the reciprocal of A's largest entry is bounded.
_BOX = 4.0
_MOST_CELLS = 10**6


def mean_loss(samples: int, loops: int) -> np.ndarray:
    """Coefficients of aⁱbʲεᵏ in E‖(I − SA)ᴸ‖²."""
    degree = 2 * loops
    found = np.zeros((degree + 1,) * 3)
    for (i, j, k, *powers), times in _squared_norm(loops).items():
        found[i, j, k] += float(times * _moment(samples, *powers))
    return found


def least(coefficients: np.ndarray, tolerance: float) -> tuple[float, np.ndarray]:
    """A value of the polynomial of which nothing is below 1 − `tolerance`, and where.

    Raises `ArithmeticError` if that cannot be shown.
    """
    best, place = _search(coefficients, tolerance)
    floor = np.zeros_like(coefficients)
    floor[0, 0, 0] = best * (1 - tolerance)
    for outside in _faces(coefficients - floor):
        _show_positive(outside)
    return best, place


def _search(coefficients: np.ndarray, tolerance: float) -> tuple[float, np.ndarray]:
    best, place = np.inf, np.zeros(3)
    centres = np.array([[0.0, _BOX / 2, _BOX / 2]])
    radii = np.array([[_BOX, _BOX / 2, _BOX / 2]])
    while len(centres):
        values, bounds = _bounds(coefficients, centres, radii)
        if values.min() < best:
            best, place = float(values.min()), centres[values.argmin()]
        open_ = bounds < best * (1 - tolerance)
        centres, radii = _halved(centres[open_], radii[open_])
    return best, place


def _show_positive(coefficients: np.ndarray) -> None:
    """On [−1, 1]² × [0, 1/box], for the polynomial of one face of the sphere."""
    edge = 1 / _BOX
    centres = np.array([[0.0, 0.0, edge / 2]])
    radii = np.array([[1.0, 1.0, edge / 2]])
    while len(centres):
        values, bounds = _bounds(coefficients, centres, radii)
        if values.min() <= 0:
            raise ArithmeticError("less loss was found far away")
        centres, radii = _halved(centres[bounds <= 0], radii[bounds <= 0])


def _faces(coefficients: np.ndarray):
    """t^{2L}f(U/t) for matrices U with an entry of 1 or −1, in the others and in t.

    b and ε enter by their squares, so that only a has two faces.
    """
    degree = len(coefficients) - 1
    for axis, sign in ((0, 1), (0, -1), (1, 1), (2, 1)):
        face = np.zeros_like(coefficients)
        for powers in zip(*np.nonzero(coefficients), strict=True):
            i, j = (power for at, power in enumerate(powers) if at != axis)
            size = coefficients[powers] * sign ** powers[axis]
            face[i, j, degree - sum(powers)] += size
        yield face


def _bounds(
    coefficients: np.ndarray, centres: np.ndarray, radii: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Values at the centres of boxes, and what is below all values in each box."""
    size = len(coefficients)
    shifted = coefficients[None]
    for axis in range(3):
        shift = np.zeros((len(centres), size, size))
        for low, high in product(range(size), repeat=2):
            if low <= high:
                power = centres[:, axis] ** (high - low)
                shift[:, low, high] = comb(high, low) * power
        shift *= radii[:, axis, None, None] ** np.arange(size)[:, None]
        shifted = np.moveaxis(shifted, axis + 1, 1)
        shifted = np.einsum(
            "nlh,nhij->nlij",
            shift,
            np.broadcast_to(shifted, (len(centres), size, size, size)),
        )
        shifted = np.moveaxis(shifted, 1, axis + 1)
    values = shifted[:, 0, 0, 0].copy()
    even = np.all(np.indices((size,) * 3) % 2 == 0, axis=0)
    lowest = np.where(even, np.minimum(shifted, 0), -np.abs(shifted))
    lowest[:, 0, 0, 0] = 0
    bounds = values + lowest.sum(axis=(1, 2, 3))
    for axis in range(3):  # slope and curvature along an axis together
        one, two = ((slice(None), *np.eye(3, dtype=int)[axis] * k) for k in (1, 2))
        slope, bend = np.abs(shifted[one]), shifted[two]
        curved = np.where(bend > 0, bend, 1)
        at = np.where(bend > 0, np.minimum(1, slope / (2 * curved)), 1)
        bounds += bend * at**2 - slope * at - lowest[one] - lowest[two]
    return values, bounds


def _halved(centres: np.ndarray, radii: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Boxes cut in two across their longest side."""
    if len(centres) > _MOST_CELLS:
        raise ArithmeticError("too many boxes")
    rows, longest = np.arange(len(radii)), np.argmax(radii, axis=1)
    radii = radii.copy()
    radii[rows, longest] /= 2
    aside = np.zeros_like(radii)
    aside[rows, longest] = radii[rows, longest]
    return np.concatenate([centres - aside, centres + aside]), np.tile(radii, (2, 1))


@functools.cache
def _squared_norm(loops: int) -> Polynomial:
    """‖Mᴸ‖² with M = I − SA, by Cayley and Hamilton: Mᴸ = pM + qI."""
    a, b, e, s, r, cos, sin = (_variable(index) for index in range(7))
    one, quarter = _number(1), _number(Fraction(1, 4))
    trace_SA = _sum(_times(a, s), _times(b, s, r, cos))
    det_S = _sum(_times(quarter, s, s), _times(_number(-1), quarter, s, s, r, r))
    det_A = _sum(_times(a, a), _times(_number(-1), b, b), _times(e, e))
    norm_A = _sum(_times(a, a), _times(b, b), _times(e, e))
    half_trace_SAA = _sum(
        _times(_number(Fraction(1, 2)), s, norm_A),
        _times(a, b, s, r, cos),
        _times(_number(-1), b, e, s, r, sin),
    )
    two, minus = _number(2), _number(-1)
    trace = _sum(two, _times(minus, trace_SA))
    determinant = _sum(one, _times(minus, trace_SA), _times(det_S, det_A))
    # tr AᵀS²A with S² = sS − det S: half of ‖M‖².
    half_norm = _sum(
        one,
        _times(minus, trace_SA),
        _times(s, half_trace_SAA),
        _times(minus, det_S, norm_A),
    )
    p, q = one, {}
    for _ in range(loops - 1):
        p, q = _sum(_times(p, trace), q), _times(minus, p, determinant)
    half = _sum(_times(p, p, half_norm), _times(p, q, trace), _times(q, q))
    return _times(two, half)


@functools.cache
def _moment(n: int, s: int, r: int, cos: int, sin: int) -> Fraction:
    """E sⁱrʲ cosᵏφ sinˡφ."""
    if cos % 2 or sin % 2:
        return Fraction(0)
    of_s = Fraction(prod(2 * n + 2 * j for j in range(s)), n**s)
    half = r // 2  # an even power wherever the angle's mean is not 0
    of_r = sum(
        (-1) ** j * comb(half, j) * Fraction(n - 1, n - 1 + 2 * j)
        for j in range(half + 1)
    )
    odd = prod(range(1, cos, 2)) * prod(range(1, sin, 2))
    return of_s * of_r * Fraction(odd, prod(range(2, cos + sin + 1, 2)))


def _variable(index: int) -> Polynomial:
    return {tuple(int(at == index) for at in range(7)): Fraction(1)}


def _number(value: int | Fraction) -> Polynomial:
    return {(0,) * 7: Fraction(value)}


def _sum(*terms: Polynomial) -> Polynomial:
    total: Polynomial = defaultdict(Fraction)
    for term in terms:
        for powers, times in term.items():
            total[powers] += times
    return total


def _times(*factors: Polynomial) -> Polynomial:
    return functools.reduce(_product, factors)


def _product(left: Polynomial, right: Polynomial) -> Polynomial:
    total: Polynomial = defaultdict(Fraction)
    for (i, x), (j, y) in product(left.items(), right.items()):
        total[tuple(k + l for k, l in zip(i, j, strict=True))] += x * y
    return total
