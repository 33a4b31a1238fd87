"""The best looped linear transformer, the flow towards it, and their limits."""

import functools
import math
from fractions import Fraction
from typing import Annotated, Any  # Any: mpmath makes its classes at run time

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
from jaxtyping import Array, Float

from iclab.core import (
    Natural,
    NonNegative,
    Number,
    Positive,
    PositiveFloat,
    Size,
    between,
    checked,
    require,
)
from iclab.theory._looped_loss import Loops
from iclab.theory._wishart_moments import wishart_moments
from iclab.theory._wishart_quadrature import spectrum_rule, wishart_quadrature

# Places at which the slope's sign is looked at, where noise may bring several zeros.
_SCANNED = 4096


@checked
def looped_optimum(
    dimension: Size,
    samples: Natural,
    loops: Loops,
    *,
    noise_variance: NonNegative = 0.0,
    signal_variance: Positive = 1.0,
) -> tuple[float, float]:
    r"""The best symmetric weights of a looped transformer, A = a Σ⋆⁻¹, and their loss.

    $$a^\star=\arg\min_a\;d\int\Big[v\,(1-ah)^{2L}+\frac{\sigma^2}n
      \frac{(1-(1-ah)^L)^2}h\Big]d\mu(h)$$

    with d = `dimension`, n = `samples`, L = `loops` and μ the mean spectrum of the
    whitened sample covariance: an even power, so without noise the function is convex
    and its slope has a single zero. Returns a⋆ and the loss, both right to float64.

    With noise of variance σ² = `noise_variance` on the labels there may be several
    zeros, all in (0, 2): a⋆ is the best of them among multiples of Σ⋆⁻¹. v =
    `signal_variance` is 1 for w ~ N(0, Σ⋆⁻¹) and tr(ΩΣ⋆)/d for w ~ N(0, Ω).

    Without noise, among A ≽ 0 and all u no other weights do as well: the loss is at
    least what Lemma 4.1 prints, with equality at multiples of Σ⋆⁻¹, and that expression
    is convex in A and, once whitened, invariant under rotations. Matrices that are not
    symmetric can do better from two loops on: with J a rotation by 90°, A = aI + εJ
    does at d = L = 2 for n ≥ 15.

    ```python
    step, loss = looped_optimum(dimension=5, samples=20, loops=4)
    A = step * jnp.eye(5)   # for inputs of covariance I
    ```

    Source: gatmiry2024, Theorem 3.2, which bounds how far A may be from Σ⋆⁻¹.
    Assumes: x ~ N(0, Σ⋆) for any Σ⋆, L ≤ 64.
    Differs from the paper: exact, where the paper has 1 ± 8δd^{1/(2L)}; labels there
        have no noise.
    """
    d, n, L = dimension, samples, loops
    noise, signal = float(noise_variance), float(signal_variance)
    if noise == 0:
        step, loss = _looped_optimum(d, n, L)
    else:
        step, loss = _noisy_optimum(d, n, L, noise / (n * signal))
    return step, signal * loss


@checked
def looped_expansion(
    dimension: Size, loops: Annotated[int, between(1, 16)]
) -> tuple[float, float]:
    r"""How the looped optimum approaches Σ⋆⁻¹ as the prompt grows.

    $$a^\star=1-\frac\kappa n+O(n^{-2}),\qquad\text{loss}=\frac C{n^L}\,(1+O(n^{-1}))$$

    with d = `dimension` and L = `loops`. Returns κ and C. With e_k the mean of
    tr(S − I)ᵏ for white inputs, C = lim nᴸ e_{2L} and
    κ = lim n (e_{2L} + e_{2L−1}) / ((2L − 1) e_{2L−2}). For L = 1 they are d + 1 and
    d(d + 1).

    Source: iclab; exact moments as polynomials in 1/n.
    Assumes: as `looped_optimum`, L ≤ 16.
    Differs from the paper: Theorem 3.2 bounds the loss by a multiple of n^{−1/2}.
    """
    d, L = dimension, loops
    even, odd, lower = (_central_moment(d, k) for k in (2 * L, 2 * L - 1, 2 * L - 2))
    C = even[L]
    kappa = (C + odd[L]) / ((2 * L - 1) * lower[L - 1])
    return float(kappa), float(C)


@checked
def marchenko_pastur_looped_optimum(
    ratio: PositiveFloat, loops: Annotated[int, between(1, 10**6)]
) -> tuple[float, float]:
    r"""The result of `looped_optimum` in the limit d, n → ∞ with d/n → c.

    $$a^\star\to\frac1{1+c},\qquad\frac{\text{loss}}d\to1-\frac1{1+c}
      \sum_{j=0}^{L-1}C_j\Big(\frac c{(1+c)^2}\Big)^j,\qquad
      C_j=\tfrac1{j+1}\tbinom{2j}j$$

    with c = `ratio`, L = `loops` and C_j the Catalan numbers. Returns both. The best
    step is the same for every number of loops: 1/(1 + c) is the reciprocal of the
    spectrum's midpoint, and λ dμ is symmetric about it.

    Source: iclab; moments of the semicircle λ dμ.
    Assumes: the limit at fixed ratio, otherwise as `looped_optimum`.
    Differs from the paper: no paper states it.
    """
    c, L = ratio, loops
    x = c / (1 + c) ** 2
    gained, term = 0.0, 1.0  # C_j xʲ, from one to the next without large numbers
    for j in range(L):
        gained += term
        term *= x * 2 * (2 * j + 1) / (j + 2)
    return 1 / (1 + c), 1 - gained / (1 + c)


@checked
def looped_flow(
    step: Number, dimension: Natural, samples: Natural, loops: Loops
) -> Float[Array, ""]:
    r"""Speed of gradient flow on the loss at A = a I, for inputs of covariance I.

    $$\dot a=2L\int h\,(1-ah)^{2L-1}\,d\mu(h)$$

    with a = `step`, d = `dimension`, n = `samples` and L = `loops`: the flow
    Ȧ = −∇L(A, 0) keeps multiples of I, so this is all of it.

    Source: gatmiry2024, Theorem 3.3.
    Assumes: Σ⋆ = I, w ~ N(0, I), u = 0, L ≤ 64.
    Differs from the paper: exact along A = a I, where the paper has a bound.
    """
    L = loops
    h, weight = wishart_quadrature(dimension, samples, 2 * L)
    return _flow(step, h, weight, L)


@checked
def looped_flow_limit(
    time: Float[Array, "*times"] | float | int,
    loops: Natural,
    *,
    start: float | int = 0.0,
) -> Float[Array, "*times"]:
    r"""The flow of `looped_flow` in the limit of infinitely many samples, solved.

    $$\dot a=2L\,(1-a)^{2L-1},\qquad
      1-a(t)=(1-a_0)\,\big(1+4L(L-1)(1-a_0)^{2L-2}\,t\big)^{-1/(2L-2)}$$

    with t = `time`, L = `loops` and a₀ = `start`; 1 − a = (1 − a₀)e^{−2t} for one loop.

    Source: gatmiry2024, Theorem 3.3, with S = I.
    Assumes: Σ⋆ = I, n = ∞.
    Differs from the paper: solved, where the paper has a bound.
    """
    L, t, gap = loops, jnp.asarray(time, float), 1.0 - start
    if L == 1:
        return 1 - gap * jnp.exp(-2 * t)
    shrunk = (1 + 4 * L * (L - 1) * gap ** (2 * L - 2) * t) ** (-1 / (2 * L - 2))
    return 1 - gap * shrunk


@functools.partial(jax.jit, static_argnames="L")
def _flow(
    step: Number, h: Float[Array, " m"], weight: Float[Array, " m"], L: int
) -> Float[Array, ""]:
    return 2 * L * weight @ (h * (1 - step * h) ** (2 * L - 1))


@functools.lru_cache(maxsize=1024)
def _looped_optimum(d: int, n: int, L: int) -> tuple[float, float]:
    nodes, weights = spectrum_rule(d, n, L + 1)
    with mpmath.workdps(30):
        step = _zero_of_slope(nodes, weights, 2 * L - 1)
        terms = zip(nodes, weights, strict=True)
        loss = d * mpmath.fsum(w * (1 - step * h) ** (2 * L) for h, w in terms)
        return float(step), float(loss)


@functools.lru_cache(maxsize=1024)
def _noisy_optimum(d: int, n: int, L: int, tau: float) -> tuple[float, float]:
    """The least of d∫[c² + τh g²] dμ, c = (1 − ah)ᴸ = 1 − hg, over 0 < a < 2.

    At a ≥ 2 Jensen's inequality gives ∫c² ≥ (1 − a)²ᴸ ≥ 1, more than a = 0 has.
    """
    nodes, weights = spectrum_rule(d, n, L + 1)
    grid = np.linspace(0, 2, _SCANNED + 1)
    h, w = np.array(nodes, float), np.array(weights, float)
    with np.errstate(over="ignore", invalid="ignore"):
        r = 1 - grid[:, None] * h
        falls = (h + tau) * r ** (2 * L - 1) - tau * r ** (L - 1)
    falling = np.nan_to_num(falls @ w, nan=-np.inf) > 0  # the slope is −2L of it
    (lows,) = np.nonzero(falling[:-1] & ~falling[1:])
    with mpmath.workdps(30):
        shift, terms = mpmath.mpf(tau), list(zip(nodes, weights, strict=True))

        def fall(a: Any) -> Any:
            return mpmath.fsum(
                w * ((h + shift) * (1 - a * h) ** (2 * L - 1))
                - w * shift * (1 - a * h) ** (L - 1)
                for h, w in terms
            )

        def loss(a: Any) -> Any:
            total = mpmath.mpf(0)
            for h, w in terms:
                r = 1 - a * h
                g = a * mpmath.fsum(r**j for j in range(L))
                total += w * (r ** (2 * L) + shift * h * g**2)
            return d * total

        found = []
        try:
            for low in lows:
                ends = (mpmath.mpf(grid[low]), mpmath.mpf(grid[low + 1]))
                found.append(mpmath.findroot(fall, ends, solver="anderson", tol=1e-40))
        except ValueError:
            found = []  # all zeros or none: the best one may be the one not found
        rule = f"small enough for a best step of more than {grid[1]:.1g}"
        known = (
            f"{tau:.3g} for `noise_variance`/(n `signal_variance`), d = {d}, n = {n}"
        )
        require(bool(found), "noise_variance", rule, known)
        step = min(found, key=loss)
        return float(step), float(loss(step))


def _zero_of_slope(nodes: list[Any], weights: list[Any], power: int) -> Any:
    """Where Σ w h (1 − ah)ᵖ, which falls in a, vanishes: Newton's method, fenced in."""

    def value_and_slope(a: Any) -> tuple[Any, Any]:
        factors = [
            w * h * (1 - a * h) ** (power - 1)
            for h, w in zip(nodes, weights, strict=True)
        ]
        terms = list(zip(nodes, factors, strict=True))
        value = mpmath.fsum(f * (1 - a * h) for h, f in terms)
        return value, -power * mpmath.fsum(f * h for h, f in terms)

    low, high = mpmath.mpf(0), mpmath.mpf(1)
    while value_and_slope(high)[0] > 0:
        high *= 2
    a = high
    while True:
        value, slope = value_and_slope(a)
        low, high = (a, high) if value > 0 else (low, a)
        newton = a - value / slope
        following = newton if low < newton < high else (low + high) / 2
        if abs(following - a) <= mpmath.mpf(10) ** -25 * following:
            return following
        a = following


@functools.lru_cache(maxsize=256)
def _central_moment(d: int, k: int) -> list[Fraction]:
    """E tr(S − I)ᵏ for white inputs as coefficients of a polynomial in 1/n."""
    if k == 0:
        return [Fraction(d)]
    sizes = range(1, k + 2)  # of degree at most k in 1/n
    values = []
    for n in sizes:
        m = wishart_moments(d, n, k)
        signed = (math.comb(k, j) * (-1) ** (k - j) * m[j] for j in range(k + 1))
        values.append(d * sum(signed, Fraction(0)))
    return _interpolate([Fraction(1, n) for n in sizes], values)


def _interpolate(x: list[Fraction], y: list[Fraction]) -> list[Fraction]:
    """Coefficients, ascending, of the polynomial through the points (Newton's form)."""
    table = list(y)
    for order in range(1, len(x)):
        for i in range(len(x) - 1, order - 1, -1):
            table[i] = (table[i] - table[i - 1]) / (x[i] - x[i - order])
    result = [table[-1]]
    for i in range(len(x) - 2, -1, -1):
        shifted = [Fraction(0), *result]
        scaled = [*(x[i] * c for c in result), Fraction(0)]
        result = [high - low for high, low in zip(shifted, scaled, strict=True)]
        result[0] += table[i]
    return result
