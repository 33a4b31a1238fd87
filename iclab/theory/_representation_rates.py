"""Learning rates and constants under which gradient descent provably converges."""

import math
from typing import Annotated, Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from iclab.core import (
    Natural,
    NonNegative,
    Number,
    Positive,
    PositiveFloat,
    Rule,
    Share,
    checked,
    if_finite,
    is_traced,
    require,
)
from iclab.theory._representation_loss import (
    label_root,
    representation_optimum,
    softmax_columns,
)
from iclab.theory._representation_problem import problem

Scalar = Float[Array, ""]


def _largest_norm(tokens: Array) -> float:
    return float(np.max(np.linalg.norm(np.asarray(tokens), axis=1)))


_UnitBall = Annotated[
    Float[Array, "K d"],
    Rule(
        "of norm ≤ 1, as the proof assumes",
        lambda tokens: _largest_norm(tokens) <= 1 + 1e-9,
        found=lambda tokens: f"norm {_largest_norm(tokens):.6g}",
    ),
]


class RepresentationConstants(NamedTuple):
    """Numbers of a table of features that the bounds are made of.

    ‖Z̄‖₂, the largest column norm f̄_max of Z̄, ‖A‖₂, ‖ZᵀẐ‖₂, the gap Δ⁽⁰⁾ of the loss
    at w = 0, and m, N, K, τ.
    """

    root_norm: Scalar
    largest_column: Scalar
    optimum_norm: Scalar
    correlation_norm: Scalar
    initial_gap: Scalar
    feature_dim: int
    context_length: Natural
    dictionary_size: int
    noise_variance: NonNegative


class LearningRates(NamedTuple):
    """Rates of Theorem 1 and what they were made of.

    η_Q = `key_query`, η_w = `value` = γ²η_Q with γ = `gamma`, η_Q = 1/L with L =
    `smoothness`, ζ₀ = `zeta`, α = `weight_bound` and `factor` = 1 − η_wζ₀/(2K), by
    which the gap shrinks at every step.
    """

    key_query: Scalar
    value: Scalar
    gamma: Scalar
    smoothness: Scalar
    zeta: Scalar
    weight_bound: Scalar
    factor: Scalar


@checked
def representation_constants(
    features: Float[Array, "K m"], context_length: Natural, noise_variance: Positive
) -> RepresentationConstants:
    """Norms that the bounds of yang2024 share, for a start at w = 0.

    Source: yang2024, (12), (34), (11).
    Assumes: τ > 0.
    Differs from the paper: nothing.
    """
    p = problem(features, context_length, noise_variance)
    root = label_root(features, p.N, p.tau)
    A = representation_optimum(features, p.N, p.tau)
    return RepresentationConstants(
        root_norm=_spectral_norm(root),
        largest_column=jnp.max(jnp.linalg.norm(root, axis=0)),
        optimum_norm=_spectral_norm(A),
        correlation_norm=_spectral_norm(p.Z.T @ p.Z_hat),
        initial_gap=jnp.sum((root @ A) ** 2) / (2 * p.K),
        feature_dim=p.m,
        context_length=p.N,
        dictionary_size=p.K,
        noise_variance=p.tau,
    )


@checked
def attention_eigenvalues(
    key_query: Float[Array, "H d d"],
    tokens: Float[Array, "K d"],
    features: Float[Array, "K m"],
    context_length: Natural,
    noise_variance: NonNegative,
    *,
    few_heads: bool = False,
) -> Float[Array, " K"]:
    r"""$\lambda_{\min}(B_kB_k^\top)$ of every token k, where $B_k=\bar ZC_k$.

    Assumption 2 is that all are positive; the smallest is ζ₀. With H < N heads all are
    zero, which is refused unless `few_heads`.

    Source: yang2024, (13), (14), Assumption 2.
    Assumes: nothing.
    Differs from the paper: nothing.
    """
    p = problem(features, context_length, noise_variance)
    rule = f"of at least N = {p.N} heads for Assumption 2 (or say `few_heads=True`)"
    enough = few_heads or len(key_query) >= p.N
    require(enough, "key_query", rule, f"{len(key_query)} heads")
    if len(key_query) < p.N:
        return jnp.zeros(p.K)
    C = softmax_columns(key_query, tokens, p.N).transpose(2, 1, 0)
    B = jnp.einsum("ij,kjh->kih", label_root(features, p.N, p.tau), C)
    # Singular values: squaring B first would lose the small ones to rounding.
    return if_finite(jnp.linalg.svdvals, B)[:, -1] ** 2


@checked(finite=False)  # one token differs from all others, infinitely
def distinct_coordinate(tokens: Float[Array, "N d"]) -> tuple[int, float]:
    """Coordinate that tells the tokens apart best, and the smallest difference in it.

    Assumption 3 is that some coordinate tells all shown tokens apart. Equal tokens are
    refused by their indices; a difference of 0 in every coordinate is refused too.

    Source: yang2024, Assumption 3.
    Assumes: known numbers, not traced ones.
    Differs from the paper: nothing.
    """
    V = np.asarray(tokens)
    if len(V) == 1:
        return 0, math.inf
    for i in range(len(V)):
        twins = np.flatnonzero(np.all(V[:i] == V[i], axis=1))
        if len(twins):
            found = f"tokens {twins[0]} and {i} alike"
            require(False, "tokens", "distinct (Assumption 3)", found)
    gaps = np.min(np.diff(np.sort(V, axis=0), axis=0), axis=0)
    best = int(np.argmax(gaps))
    rule = "different from each other in one coordinate (Assumption 3)"
    require(bool(gaps[best] > 0), "tokens", rule, "a tie in every coordinate")
    return best, float(gaps[best])


@checked
def smallest_gamma(
    constants: RepresentationConstants, zeta: Positive, heads: Natural
) -> Scalar:
    r"""Smallest ratio γ = √(η_w/η_Q) for which Theorem 1 is proved.

    $$\gamma=\zeta_0^{-5/4}\Big(\frac{128\sqrt2}{\sqrt2-1}\lVert\bar Z\rVert_2^2\sqrt H
      \,\bar f_{\max}K^{3/2}\Delta^{(0)}\Big)^{1/2}$$

    Source: yang2024, (15).
    Assumes: ζ₀ = `zeta` > 0, H = `heads`.
    Differs from the paper: nothing.
    """
    c, K = constants, constants.dictionary_size
    root = math.sqrt(2)
    inner = 128 * root / (root - 1) * c.root_norm**2 * math.sqrt(heads)
    inner = inner * c.largest_column * K**1.5 * c.initial_gap
    return jnp.asarray(zeta) ** -1.25 * jnp.sqrt(inner)


@checked
def weight_bound(
    constants: RepresentationConstants, zeta: Number, gamma: Number
) -> Scalar:
    r"""Bound α on ‖α_h‖ = ‖w_h‖/γ along gradient descent from w = 0.

    $$\alpha=\frac{4\lVert\bar Z\rVert_2\sqrt{2K}}{\gamma\zeta_0}\sqrt{\Delta^{(0)}}$$

    Source: yang2024, (44), (43a).
    Assumes: the hypotheses of Theorem 1.
    Differs from the paper: nothing.
    """
    c, K = constants, constants.dictionary_size
    size = 4 * math.sqrt(2 * K) * c.root_norm * jnp.sqrt(c.initial_gap)
    return size / (gamma * zeta)


@checked
def smoothness_constant(
    constants: RepresentationConstants, heads: Natural, gamma: Number, alpha: Number
) -> Scalar:
    r"""Lipschitz constant L of the gradient in ξ = (Q, α) while |α_{h,k}| ≤ α.

    $$L^2=2\Big(\frac{(2\gamma\lVert\bar Z\rVert^2D_2)^2}K+\frac{\gamma^4H^2\lVert\bar Z
      \rVert^4}{K^2}\Big)+16(\gamma\bar f_{\max}\lVert\bar Z\rVert)^2\max\{\tfrac1K,
      4\alpha^2\}\big[(\alpha\gamma H)^2+4ND_1^2\big]$$

    with $D_j=j\alpha\gamma H+\lVert A\rVert_2$, H = `heads`.

    Source: yang2024, Lemma 10, corrected.
    Assumes: tokens of norm ≤ 1.
    Differs from the paper: (59) and (61) forget to square γf̄‖Z̄‖/K; squared, the
        second part is as above.
    """
    c = constants
    values, inner = _smoothness_parts(c, heads, gamma, alpha)
    scale = (gamma * c.largest_column * c.root_norm) ** 2
    size = jnp.maximum(1 / c.dictionary_size, 4 * jnp.asarray(alpha) ** 2)
    return jnp.sqrt(values + 16 * scale * size * inner)


@checked
def smoothness_constant_printed(
    constants: RepresentationConstants, heads: Natural, gamma: Number, alpha: Number
) -> Scalar:
    r"""L as (61) of yang2024 prints it: the second part of L² reads
    $8\gamma\bar f_{\max}\lVert\bar Z\rVert\max\{1,(2\sqrt K\alpha)^2\}[\dots]$.

    Source: yang2024, (61).
    Assumes: tokens of norm ≤ 1.
    Differs from the paper: nothing; it is no Lipschitz constant.
    """
    c = constants
    values, inner = _smoothness_parts(c, heads, gamma, alpha)
    size = jnp.maximum(1.0, 4 * c.dictionary_size * jnp.asarray(alpha) ** 2)
    return jnp.sqrt(values + 8 * gamma * c.largest_column * c.root_norm * size * inner)


@checked
def smoothness_constant_simple(
    constants: RepresentationConstants,
    heads: Natural,
    gamma: Number,
    zeta: Number,
    *,
    squared_norm: bool = False,
) -> Scalar:
    r"""L as (17) of yang2024 simplifies it.

    $$L^2=\Big(\tfrac{8\sqrt2H\sqrt K\lVert\bar Z\rVert\sqrt{\Delta^{(0)}}}{\zeta_0}+1+
      \tfrac{\lVert Z^\top\hat Z\rVert}{m\tau}\Big)^2\lVert\bar Z\rVert^4\Big(\tfrac{8
      \gamma^2}K+\tfrac{4096K^2N\Delta^{(0)}}{\gamma\zeta_0^2}\Big)+2H^2\lVert\bar Z
      \rVert^4\Big(\tfrac{\gamma^4}{K^2}+\tfrac{16384K^3\lVert\bar Z\rVert^2(
      \Delta^{(0)})^2}{\gamma\zeta_0^4}\Big)$$

    `squared_norm=True` reads ‖Z̄‖² inside the bracket, as printed; its first power is
    what (61) gives.

    Source: yang2024, (17).
    Assumes: α of `weight_bound`, tokens of norm ≤ 1.
    Differs from the paper: nothing but the power; it is smaller than (61) when
        2√Kα < 1, and inherits its missing square.
    """
    c = constants
    m, N, K = c.feature_dim, c.context_length, c.dictionary_size
    norm, gap = c.root_norm, c.initial_gap
    inside = norm**2 if squared_norm else norm
    bracket = 8 * math.sqrt(2 * K) * heads * inside * jnp.sqrt(gap) / zeta
    bracket = bracket + 1 + c.correlation_norm / (m * c.noise_variance)
    first = 8 * gamma**2 / K + 4096 * K**2 * N * gap / (gamma * zeta**2)
    second = gamma**4 / K**2
    second = second + 16384 * K**3 * norm**2 * gap**2 / (gamma * zeta**4)
    squares = bracket**2 * first + 2 * heads**2 * second
    return jnp.sqrt(norm**4 * squares)


@checked
def learning_rates(
    key_query: Float[Array, "H d d"],
    tokens: _UnitBall,
    features: Float[Array, "K m"],
    context_length: Natural,
    noise_variance: Positive,
    *,
    gamma: Number | None = None,
    smoothness: Literal["corrected", "printed", "simple"] = "corrected",
) -> LearningRates:
    r"""Learning rates of Theorem 1, for a start at Q = `key_query` and w = 0.

    $$\eta_Q=1/L,\qquad\eta_w=\gamma^2\eta_Q,\qquad L(\theta^{(t)})-L^\star\le\Big(1-
      \frac{\eta_w\zeta_0}{2K}\Big)^t\Delta^{(0)}$$

    γ is the smallest that (15) allows unless given; a smaller one is refused. L is
    `smoothness_constant`, or with "printed" (61), with "simple" (17).

    Source: yang2024, (15)–(18), Theorem 1.
    Assumes: Assumptions 1 and 2, tokens of norm ≤ 1, τ > 0.
    Differs from the paper: L is the corrected one unless told otherwise.
    """
    N, H = context_length, len(key_query)
    eigenvalues = attention_eigenvalues(key_query, tokens, features, N, noise_variance)
    zeta = jnp.min(eigenvalues)
    constants = representation_constants(features, N, noise_variance)
    least = smallest_gamma(constants, zeta, H)
    if gamma is None:
        gamma = least
    elif not is_traced(gamma) and not is_traced(least):
        rule = f"≥ {float(least):.6g}, the bound (15)"
        holds = float(gamma) >= float(least) * (1 - 1e-12)
        require(holds, "gamma", rule, float(gamma))
    alpha = weight_bound(constants, zeta, gamma)
    if smoothness == "simple":
        L = smoothness_constant_simple(constants, H, gamma, zeta)
    elif smoothness == "printed":
        L = smoothness_constant_printed(constants, H, gamma, alpha)
    else:
        L = smoothness_constant(constants, H, gamma, alpha)
    gamma = jnp.asarray(gamma)
    value = gamma**2 / L
    factor = 1 - value * zeta / (2 * constants.dictionary_size)
    return LearningRates(1 / L, value, gamma, L, zeta, alpha, factor)


@checked
def iterations_needed(
    constants: RepresentationConstants,
    features_norm: Number,
    factor: Number,
    *,
    accuracy: PositiveFloat,
    failure: Share,
    coefficient_norm: NonNegative,
) -> Scalar:
    r"""Steps T after which predictions are `accuracy`-close to ridge regression.

    $$T=\frac{\log\big(B^2\Delta^{(0)}\big(\lVert Z\rVert_2+\sqrt\tau(2\sqrt{N\log(1/
      \delta)}+2\log(1/\delta)+N)^{1/2}\big)^2/(m\tau\varepsilon)\big)}
      {\log\big(1/(1-\frac{\eta_w\zeta_0}{2K})\big)}$$

    with ‖Z‖₂ = `features_norm`, `factor` = 1 − η_wζ₀/(2K), ε = `accuracy`, δ =
    `failure`, B = `coefficient_norm`. Then ‖ŷ − ŷ*‖²/(2K) ≤ ε with probability 1 − δ.

    Source: yang2024, (21), (22).
    Assumes: Theorem 1, ‖λ‖ ≤ B.
    Differs from the paper: nothing.
    """
    c = constants
    noise = c.noise_variance
    holds = is_traced(noise) or float(noise) > 0
    require(holds, "constants", "of a noise_variance > 0", noise)
    size = label_norm_bound(
        features_norm,
        c.context_length,
        c.noise_variance,
        failure=failure,
        coefficient_norm=coefficient_norm,
    )
    target = c.feature_dim * c.noise_variance * accuracy
    return jnp.log(size**2 * c.initial_gap / target) / -jnp.log(factor)


@checked
def label_norm_bound(
    features_norm: NonNegative,
    context_length: Natural,
    noise_variance: NonNegative,
    *,
    failure: Share,
    coefficient_norm: NonNegative,
) -> Scalar:
    r"""Bound on ‖y‖ of the shown labels that fails with probability at most δ.

    $$\lVert y\rVert\le B\Big(\lVert Z\rVert_2+\sqrt\tau\big(N+2\sqrt{N\log(1/\delta)}+2
      \log(1/\delta)\big)^{1/2}\Big)$$

    Source: yang2024, (69).
    Assumes: ‖λ‖ ≤ B = `coefficient_norm`; δ = `failure`.
    Differs from the paper: nothing.
    """
    N = context_length
    log = math.log(1 / failure)
    noise = jnp.sqrt(noise_variance * (N + 2 * math.sqrt(N * log) + 2 * log))
    return coefficient_norm * (features_norm + noise)


def _smoothness_parts(
    c: RepresentationConstants, heads: Natural, gamma: Number, alpha: Number
) -> tuple[Scalar, Scalar]:
    """The part of L² that comes from α, (55), and the square bracket of (59)."""
    N, K = c.context_length, c.dictionary_size
    scale = alpha * gamma * heads
    mixed = (2 * gamma * c.root_norm**2 * (2 * scale + c.optimum_norm)) ** 2 / K
    values = 2 * (mixed + gamma**4 * heads**2 * c.root_norm**4 / K**2)
    return values, scale**2 + 4 * N * (scale + c.optimum_norm) ** 2


def _spectral_norm(matrix: Float[Array, "a b"]) -> Scalar:
    return if_finite(jnp.linalg.svdvals, matrix)[0]
