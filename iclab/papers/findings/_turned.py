"""Two loops, two inputs, weights aI + εJ with J the rotation by 90°, in rationals.

With s and D the trace and the determinant of the whitened S, q = a² + ε² and
M = I − S(aI + εJ), ‖M²‖² = q(2 − as)²(s² − 4D) + 2(1 − as + qD)². Here ns ~ χ²_{2n},
and 4D/s² is independent of s with moments (n−1)/(n−1+2j).
"""

from fractions import Fraction
from math import prod
from typing import NamedTuple


class Loss(NamedTuple):
    """square·q² + (c₀ + c₁a + c₂a²)q + 2(1 − 2m₁a + m₂a²), the mean of ‖M²‖²."""

    square: Fraction
    linear: tuple[Fraction, Fraction, Fraction]
    first: Fraction
    second: Fraction

    def curvature(self, a: float) -> float:
        """Second derivative in ε at ε = 0 and this a."""
        c0, c1, c2 = map(float, self.linear)
        slope = 2 * float(self.square) * a**2 + c0 + c1 * a + c2 * a**2
        return 2 * slope

    def least(self, a: float, *, turned: bool) -> tuple[float, float]:
        """The least loss and its a, over ε too if `turned`; Newton's method from a."""
        place = Fraction(a)
        for _ in range(30):
            _, slope, bend = self._along(place, turned)
            place = (place - slope / bend).limit_denominator(10**40)
        return float(self._along(place, turned)[0]), float(place)

    def _along(self, a: Fraction, turned: bool) -> tuple[Fraction, Fraction, Fraction]:
        (c0, c1, c2), A = self.linear, self.square
        l, dl, ddl = c0 + c1 * a + c2 * a**2, c1 + 2 * c2 * a, 2 * c2
        base = 2 * (1 - 2 * self.first * a + self.second * a**2)
        rise, bend = 4 * (self.second * a - self.first), 4 * self.second
        if turned:  # with the best q, −l/(2A)
            return (
                base - l**2 / (4 * A),
                rise - l * dl / (2 * A),
                bend - (dl**2 + l * ddl) / (2 * A),
            )
        return (
            base + A * a**4 + l * a**2,
            rise + 4 * A * a**3 + dl * a**2 + 2 * l * a,
            bend + 12 * A * a**2 + ddl * a**2 + 4 * dl * a + 2 * l,
        )


def loss(samples: int) -> Loss:
    """The mean over all prompts of n examples."""
    n = samples

    def mean(i: int, j: int) -> Fraction:
        """E sⁱDʲ."""
        k = i + 2 * j
        power = Fraction(prod(2 * n + 2 * x for x in range(k)), n**k)
        return power * Fraction(n - 1, n - 1 + 2 * j) / 4**j

    linear = (
        4 * mean(2, 0) - 12 * mean(0, 1),
        12 * mean(1, 1) - 4 * mean(3, 0),
        mean(4, 0) - 4 * mean(2, 1),
    )
    return Loss(2 * mean(0, 2), linear, mean(1, 0), mean(2, 0))
