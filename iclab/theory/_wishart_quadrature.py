"""Gauss quadrature of the mean spectrum of sample covariances, and of its limit."""

import functools
from fractions import Fraction
from typing import Annotated, Any  # Any: mpmath makes its classes at run time

import jax.numpy as jnp
import mpmath
import numpy as np
from jaxtyping import Array, Float

from iclab.core import Natural, PositiveFloat, between, checked, require
from iclab.theory._wishart_moments import wishart_moments

# Up to here every weight is a normal float64, even at d = n = 1, where the spectrum is
# a chi-square and the last of 128 weights is about 1e-213.
LARGEST_DEGREE = 255

# Decimal digits of rules before they are rounded to float64.
_DIGITS = 50
# So many must be left of those at work; a rule is compared with its moments to 30.
_DIGITS_LEFT = 35


@checked
def wishart_quadrature(
    dimension: Natural, samples: Natural, degree: Natural
) -> tuple[Float[Array, " m"], Float[Array, " m"]]:
    r"""Nodes and weights that average any polynomial over Wishart eigenvalues.

    $$\frac1d\,\mathbb E\sum_{i=1}^df(\lambda_i(S))=\sum_jw_jf(h_j),\qquad
      S=\tfrac1n\sum_{i=1}^nx_ix_i^\top,\quad x_i\sim N(0,I_d)$$

    for every polynomial f of degree ≤ `degree`, with d = `dimension` and n = `samples`.
    Returns the nodes h, ascending, and the positive weights w, which sum to 1. There
    are m = ⌊`degree`/2⌋ + 1 nodes (Gauss), all positive; for n < d a share 1 − n/d of
    the eigenvalues is 0, and one more node at 0 carries it. For inputs of covariance Σ
    the λ_i are the eigenvalues of the whitened Σ^{−1/2} S Σ^{−1/2}.

    ```python
    h, w = wishart_quadrature(dimension=5, samples=20, degree=5)
    w @ (1 - 0.5 * h) ** 4   # the mean over all eigenvalues of all prompts, exactly
    ```

    Source: iclab; Gauss rule of exact moments, worked out with 50 digits.
    Assumes: Gaussian inputs, `degree` ≤ 255.
    Differs from the paper: no paper states it.
    """
    rule = f"at most {LARGEST_DEGREE}, where float64 still holds every weight"
    require(degree <= LARGEST_DEGREE, "degree", rule, degree)
    nodes, weights = _wishart_rule(dimension, samples, degree // 2 + 1)
    return jnp.asarray(nodes), jnp.asarray(weights)


@checked
def marchenko_pastur_quadrature(
    ratio: PositiveFloat, degree: Annotated[int, between(1, 4095)]
) -> tuple[Float[Array, " m"], Float[Array, " m"]]:
    r"""The rule of `wishart_quadrature` in the limit d, n → ∞ with d/n → c.

    $$d\mu(\lambda)=\frac{\sqrt{(\lambda_+-\lambda)(\lambda-\lambda_-)}}{2\pi c\lambda}
      \,d\lambda,\qquad\lambda_\pm=(1\pm\sqrt c)^2$$

    with c = `ratio`, normalised so that ∫λ dμ = 1; for c > 1 an atom 1 − 1/c at 0 joins
    it. For c ≤ 1 the m = ⌊`degree`/2⌋ + 1 nodes are 1 + c + 2√c cos θ at the zeros of
    sin((m+1)θ) + √c sin(mθ), the m-th orthogonal polynomial up to a factor; c > 1 is
    the case 1/c, stretched by c, with one more node at 0. Returns nodes, ascending,
    and weights.

    Source: iclab; orthogonal polynomials U_j + √c U_{j−1} in y = cos θ, with U_j the
        Chebyshev polynomials of the second kind.
    Assumes: the limit at fixed ratio.
    Differs from the paper: no paper states it.
    """
    c, m = ratio, degree // 2 + 1
    if c > 1:
        inner, inner_weights = _marchenko_pastur_rule(1 / c, m)
        nodes = np.concatenate([[0.0], c * inner])
        weights = np.concatenate([[1 - 1 / c], inner_weights / c])
    else:
        nodes, weights = _marchenko_pastur_rule(c, m)
    return jnp.asarray(nodes), jnp.asarray(weights)


@functools.lru_cache(maxsize=256)
def gauss_rule(d: int, n: int, m: int, power: int) -> tuple[list[Any], list[Any]]:
    """The m-point Gauss rule of λ^`power` dμ to 30 digits, μ the mean spectrum.

    Ordinary Gauss rules from moments lose about a digit per moment, so the recurrence
    coefficients are worked out with more and more digits until enough of them are left
    and the rule gives back every moment that it was made from.
    """
    moments = wishart_moments(d, n, 2 * m - 1 + power)[power:]
    for doubling in range(6):
        rule = _gauss_rule_of(moments, m, (_DIGITS + 4 * m) << doubling)
        if rule is not None:
            return rule
    # n so large that 50 digits no longer tell the eigenvalues of S from 1.
    raise ArithmeticError(
        f"no Gauss rule with {m} nodes for dimension {d} and samples {n}: take the "
        "limit of infinitely many samples instead, where S is the identity"
    )


def spectrum_rule(d: int, n: int, m: int) -> tuple[list[Any], list[Any]]:
    """The rule of `wishart_quadrature` to 30 digits: m nodes, and 0 if n < d.

    XXᵀ/n and XᵀX/n share their nonzero eigenvalues: d×d with n < d samples is an n×n
    problem with d samples, stretched by d/n, and d − n zeros.
    """
    if n >= d:
        return gauss_rule(d, n, m, 0)
    nodes, weights = gauss_rule(n, d, m, 0)
    with mpmath.workdps(_DIGITS):
        share = mpmath.mpf(n) / d
        nodes = [mpmath.mpf(0), *(x / share for x in nodes)]
        return nodes, [1 - share, *(w * share for w in weights)]


def _gauss_rule_of(
    moments: list[Fraction], m: int, digits: int
) -> tuple[list[Any], list[Any]] | None:
    """Gauss rule with `digits` at work, or None if that was not enough of them."""
    with mpmath.workdps(digits):
        mass = [mpmath.mpf(x.numerator) / x.denominator for x in moments]
        alpha, beta = _recurrence(mass, m)
        if any(not b > 0 for b in beta):
            return None
        # β_0⋯β_k = ∫ p_k² dμ is a difference of moments: so much of them cancels in it.
        if digits - mpmath.log10(max(mass) / mpmath.fprod(beta)) < _DIGITS_LEFT:
            return None
    with mpmath.workdps(_DIGITS):
        nodes = _nodes(alpha, beta)
        weights = [mass[0] / _christoffel_sum(alpha, beta, x) for x in nodes]
        powers = list(weights)
        for exact in mass:
            if not abs(mpmath.fsum(powers) / exact - 1) < mpmath.mpf(10) ** -30:
                return None
            powers = [p * x for p, x in zip(powers, nodes, strict=True)]
        return nodes, weights


def _recurrence(mass: list[Any], m: int) -> tuple[list[Any], list[Any]]:
    """Chebyshev's algorithm: α_0 … α_{m−1} and β_0 … β_{m−1} from 2m moments."""
    older, row = [mpmath.mpf(0)] * (2 * m), list(mass)
    alpha, beta = [row[1] / row[0]], [row[0]]
    for k in range(1, m):
        # σ_{k,l} = ∫ p_k λˡ dμ; only l = k … 2m−k−1 are needed.
        newer = [mpmath.mpf(0)] * (2 * m)
        for l in range(k, 2 * m - k):
            newer[l] = row[l + 1] - alpha[-1] * row[l] - beta[-1] * older[l]
        if newer[k] == 0:
            return alpha, [mpmath.mpf(0)]
        alpha.append(newer[k + 1] / newer[k] - row[k] / row[k - 1])
        beta.append(newer[k] / row[k - 1])
        older, row = row, newer
    return alpha, beta


def _nodes(alpha: list[Any], beta: list[Any]) -> list[Any]:
    """Zeros of p_m: eigenvalues of the Jacobi matrix in float64, then Newton."""
    m = len(alpha)
    if m == 1:
        return [alpha[0]]
    # Shifted and scaled, the float64 problem is as well posed for n = 10⁹ as for n = 2.
    unit = mpmath.sqrt(beta[1])
    diagonal = [float((a - alpha[0]) / unit) for a in alpha]
    off = [float(mpmath.sqrt(b) / unit) for b in beta[1:]]
    start = np.linalg.eigvalsh(np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1))
    nodes = []
    for x in start:
        node = alpha[0] + unit * mpmath.mpf(float(x))
        for _ in range(4):  # 15 → 30 → 60 digits, and one to spare
            older, value = mpmath.mpf(0), mpmath.mpf(1)
            older_slope, slope = mpmath.mpf(0), mpmath.mpf(0)
            for a, b in zip(alpha, beta, strict=True):
                newer = (node - a) * value - b * older
                newer_slope = value + (node - a) * slope - b * older_slope
                older, value, older_slope, slope = value, newer, slope, newer_slope
            node -= value / slope
        nodes.append(node)
    return nodes


def _christoffel_sum(alpha: list[Any], beta: list[Any], x: Any) -> Any:
    """Σ_j p_j(x)²/‖p_j‖², with ‖p_0‖ = 1."""
    older, value, norm = mpmath.mpf(0), mpmath.mpf(1), mpmath.mpf(1)
    total = mpmath.mpf(1)
    for j in range(1, len(alpha)):
        older, value = value, (x - alpha[j - 1]) * value - beta[j - 1] * older
        norm *= beta[j]
        total += value * value / norm
    return total


@functools.lru_cache(maxsize=256)
def _wishart_rule(d: int, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = spectrum_rule(d, n, m)
    return np.array(nodes, dtype=float), np.array(weights, dtype=float)


def _marchenko_pastur_rule(c: float, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss rule for c ≤ 1, by Newton's method on θ."""
    root, j = np.sqrt(c), np.arange(m, 0, -1)
    # θ_j moves from jπ/(m+1) at c → 0 to 2jπ/(2m+1) at c = 1, always in between; the
    # function is monotone there, and bisection cannot miss.
    low, high = j * np.pi / (m + 1), 2 * j * np.pi / (2 * m + 1)
    sign = np.where(j % 2 == 0, 1.0, -1.0)  # cos((m+1)θ) at the left end
    for _ in range(60):
        theta = (low + high) / 2
        value = sign * (np.sin((m + 1) * theta) + root * np.sin(m * theta))
        low, high = np.where(value < 0, theta, low), np.where(value < 0, high, theta)
    theta = (low + high) / 2
    k = np.arange(m)[:, None]
    polynomials = (np.sin((k + 1) * theta) + root * np.sin(k * theta)) / np.sin(theta)
    nodes = (1 - root) ** 2 + 4 * root * np.cos(theta / 2) ** 2
    return nodes, 1 / np.sum(polynomials**2, axis=0)
