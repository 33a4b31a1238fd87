"""How the looped optimum approaches Σ⋆⁻¹: a⋆ = 1 − κ/n, with a loss of C/nᴸ.

`looped_expansion` has κ and C from moments as polynomials in 1/n. For one input and for
two the moments of S are known without any of that: S is a χ² over n, and for two inputs
trace and 4·determinant/trace² are independent, with moments that are ratios. The same
moments give the speed of gradient flow along multiples of Σ⋆⁻¹, on short prompts too.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import comb, prod

import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured
from iclab.theory import looped_expansion, looped_flow, looped_optimum


@dataclass(frozen=True)
class Case:
    """Inputs, loops and the length of a long prompt."""

    dimension: int
    loops: int
    samples: int = 10**7


# A short prompt, and where on the way the speed of the flow is taken.
_SHORT, _ON_THE_WAY = 7, Fraction(1, 4)


def cases(scale) -> dict[str, Case]:
    """One input and two."""
    loops = (1, 2, 3) if scale == "smoke" else (1, 2, 3, 4, 6)
    return {f"d={d}, L={L}": Case(d, L) for d in (1, 2) for L in loops}


def predict(case: Case):
    """κ and C, n(1 − a⋆) and nᴸ times the loss of `looped_optimum`, and a speed."""
    d, n, L = case.dimension, case.samples, case.loops
    a, loss = looped_optimum(d, n, L)
    speed = looped_flow(jnp.asarray(float(_ON_THE_WAY)), d, _SHORT, L)
    return np.array([*looped_expansion(d, L), n * (1 - a), n**L * loss, float(speed)])


def decoy(case: Case):
    """κ and C of one loop, d + 1 and d(d + 1); of two loops for one loop."""
    d = case.dimension
    other = (d + 1, d * (d + 1)) if case.loops > 1 else looped_expansion(d, 2)
    return np.array([*other, *predict(case)[2:]])


def measure(case: Case) -> Measured:
    """The minimum of E tr(I − aS)²ᴸ, and its slope, in rational arithmetic."""
    d, n, L = case.dimension, case.samples, case.loops
    terms = _terms(d, n, L)
    a = Fraction(1)
    for _ in range(60):
        step = _slope(terms, a, 1) / _slope(terms, a, 2)
        a = (a - step).limit_denominator(10**60)
        if abs(step) < Fraction(1, 10**40):
            break
    kappa, C = float(n * (1 - a)), float(n**L * _slope(terms, a, 0))
    speed = -_slope(_terms(d, _SHORT, L), _ON_THE_WAY, 1) / d
    value = np.array([kappa, C, kappa, C, float(speed)])
    # The next term of both expansions is of order 1/n.
    error = np.array([100, 100, 1e-6, 1e-6, 0]) * np.abs(value) * 4**L / n
    error += 1e-9 * np.abs(value)
    return Measured(value, error, f"the next order of the expansion, at n = {n:,}")


def _terms(d: int, n: int, L: int) -> list[Fraction]:
    """Coefficients of E tr(I − aS)²ᴸ as a polynomial in a."""
    return [comb(2 * L, k) * (-1) ** k * _moment(d, n, k) for k in range(2 * L + 1)]


def _slope(terms: list[Fraction], a: Fraction, order: int) -> Fraction:
    """A derivative of that polynomial."""
    total = Fraction(0)
    for k, term in enumerate(terms[order:], order):
        total += term * prod(range(k - order + 1, k + 1)) * a ** (k - order)
    return total


def _moment(d: int, n: int, k: int) -> Fraction:
    """E tr Sᵏ for white inputs."""
    if d == 1:
        return Fraction(prod(n + 2 * j for j in range(k)), n**k)
    # tr Sᵏ = sᵏ 2^{1−k} Σ_j C(k, 2j)(1 − y)ʲ with s = tr S, y = 4 det S/s².
    total = Fraction(0)
    for j in range(k // 2 + 1):
        for i in range(j + 1):
            y = Fraction(n - 1, n - 1 + 2 * i)
            total += comb(k, 2 * j) * comb(j, i) * (-1) ** i * y
    trace = Fraction(prod(2 * n + 2 * j for j in range(k)), n**k)
    return trace * total * Fraction(2, 2**k)
