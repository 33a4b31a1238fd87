"""Two loops and two inputs: the best of the turned multiples aI + εJ of the identity.

They stand for Σ⋆^½AΣ⋆^½, and J is the rotation by 90°. With s and D the trace and the
determinant of the whitened S, q = a² + ε² and M = I − S(aI + εJ), which solves its own
characteristic equation,

    ‖M²‖² = q(2 − as)²(s² − 4D) + 2(1 − as + qD)².

Here ns ~ χ²_{2n}, and 4D/s² is independent of s with moments (n−1)/(n−1+2j).
"""

from fractions import Fraction
from math import prod, sqrt
from typing import NamedTuple

from iclab.theory import looped_optimum

# Digits to which a is found; the loss is stationary there.
_DIGITS = 45
_NEWTON_STEPS = 12


class Turned(NamedTuple):
    """The best a and ε, and their loss."""

    a: float
    epsilon: float
    loss: float


def best_turned(samples: int) -> Turned:
    """The mean of that expression at its least, in rational arithmetic.

    It is quadratic in q, and with the best q a quartic in a. Where no turn helps, for
    n < 15, the best is `looped_optimum`.
    """
    n = samples
    start, untouched = looped_optimum(2, n, 2)

    def mean(i: int, j: int) -> Fraction:
        """E sⁱDʲ."""
        k = i + 2 * j
        power = Fraction(prod(2 * n + 2 * x for x in range(k)), n**k)
        return power * Fraction(n - 1, n - 1 + 2 * j) / 4**j

    linear = (
        4 * mean(2, 0) - 16 * mean(0, 1) + 4 * mean(0, 1),
        16 * mean(1, 1) - 4 * mean(3, 0) - 4 * mean(1, 1),
        mean(4, 0) - 4 * mean(2, 1),
    )
    square = 2 * mean(0, 2)
    # The loss is square·q² + (linear₀ + linear₁a + linear₂a²)q + 2E(1 − as)².
    best = [-c / (2 * square) for c in linear]
    a = Fraction(start)
    for _ in range(_NEWTON_STEPS):
        q, rise = best[0] + best[1] * a + best[2] * a**2, best[1] + 2 * best[2] * a
        slope = 4 * (a * mean(2, 0) - mean(1, 0)) - 2 * square * q * rise
        bend = 4 * mean(2, 0) - 2 * square * (rise**2 + 2 * best[2] * q)
        a = (a - slope / bend).limit_denominator(10**_DIGITS)
    q = best[0] + best[1] * a + best[2] * a**2
    if q <= a**2:
        return Turned(start, 0.0, untouched)
    least = 2 * (1 - 2 * a * mean(1, 0) + a**2 * mean(2, 0)) - square * q**2
    return Turned(float(a), sqrt(q - a**2), float(least))
