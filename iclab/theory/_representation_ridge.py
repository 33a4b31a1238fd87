"""Ridge regression over a representation: what training finds, and the alternative."""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, UInt32

from iclab.core import (
    Natural,
    NonNegative,
    Number,
    Positive,
    Size,
    checked,
    enough_memory,
    if_finite,
    require,
)
from iclab.theory._representation_problem import problem
from iclab.theory._wishart_quadrature import wishart_quadrature
from iclab.theory._wishart_samples import wishart_samples


@checked(jit=True, static="best")
def icl_ridge(
    features: Float[Array, "K m"],
    labels: Float[Array, " N"],
    noise_variance: NonNegative,
    *,
    best: bool = False,
) -> tuple[Float[Array, " m"], Float[Array, " K"]]:
    r"""Coefficients and predictions of the ridge regression that training finds.

    $$\hat\lambda=\arg\min_\lambda\frac1{2N}\sum_{i=1}^N(y_i-\lambda^\top f(v_i))^2+
      \frac{m\tau}{2N}\lVert\lambda\rVert^2,\qquad
      \hat y^\star=\begin{pmatrix}y\\(Z^Q)^\top\hat\lambda\end{pmatrix}$$

    with f(v_k) = `features[k]`, y = `labels` of the first N tokens, τ =
    `noise_variance`; the penalty in the sense of `Ridge` is mτ. `best=True` gives λ̂_τ
    and ŷ^best instead, whose penalty is Nτ.

    Source: yang2024, (20), (22), (67); (23) and (25) with `best`.
    Assumes: nothing; at τ = 0 it is the limit τ → 0, least squares of least norm.
    Differs from the paper: nothing. ŷ^best is not the best (`ridge_weights`).
    """
    p = problem(features, len(labels), noise_variance, length="labels")
    penalty = (p.N if best else p.m) * p.tau
    coefficients = ridge_coefficients(features[: p.N], labels, penalty)
    return coefficients, jnp.concatenate([labels, features[p.N :] @ coefficients])


@checked(jit=True)
def ridge_coefficients(
    features: Float[Array, "N m"], labels: Float[Array, " N"], penalty: NonNegative
) -> Float[Array, " m"]:
    r"""$(ZZ^\top+\rho I)^{-1}Zy$ with Zᵀ = `features`, ρ = `penalty` ≥ 0; at ρ = 0 the
    limit, Zᵀ⁺y.

    Source: yang2024, (67).
    Assumes: nothing.
    Differs from the paper: any penalty.
    """
    return _ridge_matrix(features.T, penalty) @ labels


@checked(jit=True, static="context_length")
def ridge_weights(
    features: Float[Array, "K m"], context_length: Natural, penalty: NonNegative
) -> Float[Array, "N K"]:
    r"""The N×K matrix with which ridge regression predicts, ŷ = Âᵀy.

    $$\hat A=\big(I_N,\;Z^\top(\rho I_m+ZZ^\top)^{-1}Z^Q\big)$$

    ρ = `penalty`. ρ = mτ gives A of (66), ρ = Nτ the ŷ^best of (23); their expected
    errors are `representation_loss` of this matrix.

    Source: yang2024, (66).
    Assumes: nothing; at ρ = 0 it is the limit (I, Z⁺Z^Q).
    Differs from the paper: any penalty; the Z̃ of (66) is Ẑ.
    """
    p = problem(features, context_length, 0.0)
    predicted = _ridge_matrix(p.Z, penalty).T @ p.Z_hat[:, p.N :]
    return jnp.concatenate([jnp.eye(p.N), predicted], axis=1)


@checked(jit=True, static="context_length")
def representation_optimum_closed(
    features: Float[Array, "K m"], context_length: Natural, noise_variance: NonNegative
) -> Float[Array, "N K"]:
    r"""The matrix A that training approaches, in the space of the features:
    $A=(I_N,\;Z^\top(m\tau I_m+ZZ^\top)^{-1}Z^Q)$, the limit of it at τ = 0.

    Source: yang2024, (66).
    Assumes: nothing.
    Differs from the paper: τ = 0 is allowed; there A = (I, Z⁺Z^Q), which for N > m is
        not the Z⁺Ẑ of Section 3.3.
    """
    p = problem(features, context_length, noise_variance)
    return ridge_weights(features, p.N, p.m * p.tau)


@checked(jit=True, static="context_length")
def performance_gap(
    features: Float[Array, "K m"],
    context_length: Natural,
    noise_variance: NonNegative,
    *,
    coefficient_moment: Float[Array, "m m"] | None = None,
) -> Float[Array, ""]:
    r"""Mean squared distance of the two ridge regressions, for one table.

    $$\frac1K\mathbb E\lVert\hat y^\star-\hat y^{best}\rVert^2=\frac1K\operatorname{tr}
      D^\top\,\mathbb E[yy^\top]\,D,\qquad D=A_{m\tau}-A_{N\tau},\quad
      \mathbb E[yy^\top]=Z^\top MZ+\tau\operatorname{tr}(M)I$$

    with M = E λλᵀ = `coefficient_moment`, I by default; N(1, 4I) has M = 4I + 11ᵀ.

    Source: yang2024, Figure 3; the quantity of Section 4.
    Assumes: noise independent of λ.
    Differs from the paper: the mean over λ and noise, where the figure shows a sample.
    """
    p = problem(features, context_length, noise_variance)
    M = jnp.eye(p.m) if coefficient_moment is None else coefficient_moment
    power = p.Z.T @ M @ p.Z + p.tau * jnp.trace(M) * jnp.eye(p.N)
    ours, theirs = (_ridge_matrix(p.Z, rho * p.tau) for rho in (p.m, p.N))
    D = (ours - theirs).T @ p.Z_hat[:, p.N :]
    return jnp.sum(D * (power @ D)) / p.K


@checked
def mean_performance_gap(
    feature_dim: Natural,
    context_length: Natural,
    dictionary_size: Natural,
    noise_variance: Positive,
    *,
    degree: Natural = 127,
) -> Float[Array, ""]:
    r"""`performance_gap` averaged over tables of standard Gaussians.

    $$\frac{K-N}K\,\mathbb E\sum_{i=1}^m\Big(\frac1{m\tau+s_i}-\frac1{N\tau+s_i}\Big)^2
      (s_i^2+m\tau s_i),\qquad s_i=\lambda_i(ZZ^\top)$$

    by Gauss quadrature of the mean Wishart spectrum, which is exact for polynomials of
    `degree`. Here it converges fast, slowest where N is near m: compare two degrees.

    Source: iclab; yang2024, Figure 3.
    Assumes: Assumption 1 and Gaussian features, independent of each other.
    Differs from the paper: the mean, where the figure shows a sample.
    """
    m, N, K = _sizes(feature_dim, context_length, dictionary_size)
    nodes, masses = wishart_quadrature(m, N, degree)
    values = _gap_of_eigenvalue(N * nodes, m, N, noise_variance)
    return (K - N) / K * m * jnp.sum(masses * values)


@checked
def sampled_performance_gap(
    key: Key[Array, ""] | UInt32[Array, "2"],
    feature_dim: Natural,
    context_length: Natural,
    dictionary_size: Natural,
    noise_variance: NonNegative,
    *,
    draws: Size,
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """`mean_performance_gap` with its standard error, from `draws` draws of ZZᵀ; labels
    and the features of the other tokens are averaged exactly.

    Source: iclab; yang2024, Figure 3.
    Assumes: as `mean_performance_gap`.
    Differs from the paper: the mean, where the figure shows a sample.
    """
    m, N, K = _sizes(feature_dim, context_length, dictionary_size)
    require(draws >= 2, "draws", "≥ 2, for an error bar", draws)
    enough_memory(draws * m**2, "feature_dim", "draws × feature_dim²")
    W = N * wishart_samples(key, jnp.eye(m), N, (draws,))
    # Rounding makes some of the zero eigenvalues of a singular ZZᵀ negative.
    s = jnp.clip(jnp.linalg.eigvalsh(W), 0)
    values = jax.vmap(lambda s: _gap_of_eigenvalue(s, m, N, noise_variance))(s)
    gaps = (K - N) / K * jnp.sum(values, axis=1)
    return jnp.mean(gaps), jnp.std(gaps, ddof=1) / jnp.sqrt(draws)


def _gap_of_eigenvalue(
    s: Float[Array, " n"], m: int, N: int, tau: Number
) -> Float[Array, " n"]:
    present = s > 0
    s = jnp.where(present, s, 1.0)
    difference = 1 / (m * tau + s) - 1 / (N * tau + s)
    return jnp.where(present, difference**2 * (s**2 + m * tau * s), 0.0)


def _ridge_matrix(Z: Float[Array, "m N"], penalty: Number) -> Float[Array, "m N"]:
    """(ZZᵀ + ρI)⁻¹Z through singular values: right for N < m, N > m and ρ → 0."""
    thin = functools.partial(jnp.linalg.svd, full_matrices=False)
    U, s, Vt = if_finite(thin, Z)
    present = s > s[0] * 1e-12
    gains = jnp.where(present, s / jnp.where(present, s**2 + penalty, 1.0), 0.0)
    return (U * gains[None]) @ Vt


def _sizes(
    feature_dim: int, context_length: int, dictionary_size: int
) -> tuple[int, int, int]:
    rule = f"at most `dictionary_size` = {dictionary_size}"
    require(context_length <= dictionary_size, "context_length", rule, context_length)
    return feature_dim, context_length, dictionary_size
