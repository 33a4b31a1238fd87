"""Population loss of attention over representations, its infimum and its gradient."""

import jax.numpy as jnp
import jax.scipy.linalg
from jaxtyping import Array, Float

from iclab.core import (
    Natural,
    NonNegative,
    Positive,
    checked,
    if_finite,
    require,
    square_root,
)
from iclab.theory._representation_problem import Problem, problem


@checked
def softmax_columns(
    key_query: Float[Array, "H d d"],
    tokens: Float[Array, "K d"],
    context_length: Natural,
) -> Float[Array, "H N K"]:
    r"""Attention $s^h_k=\mathrm{softmax}(V^\top Q_hv_k)\in\mathbb R^N$ of every token.

    Q_h = `key_query[h]`, v_k = `tokens[k]`, V the first N = `context_length` tokens.
    For fixed k the columns h = 1 … H make the N×H matrix C_k of (13).

    Source: yang2024, (28), (13).
    Assumes: nothing.
    Differs from the paper: tokens are rows.
    """
    N = context_length
    rule = f"at most the dictionary's size {len(tokens)}"
    require(len(tokens) >= N, "context_length", rule, N)
    V = tokens.T
    scores = jnp.einsum(
        "hnd,dk->hnk", jnp.einsum("dn,hde->hne", V[:, :N], key_query), V
    )
    positive = jnp.exp(scores - jnp.max(scores, axis=1, keepdims=True))
    return positive / jnp.sum(positive, axis=1, keepdims=True)


@checked
def multi_head_weights(
    key_query: Float[Array, "H d d"],
    value: Float[Array, "H K"],
    tokens: Float[Array, "K d"],
    context_length: Natural,
) -> Float[Array, "N K"]:
    r"""The matrix $\hat A(\theta)$ with columns $\sum_hw_{h,k}s^h_k$: ŷ = Âᵀy.

    w_{h,k} = `value[h, k]`; the rest as in `softmax_columns`.

    Source: yang2024, (35), (8).
    Assumes: nothing.
    Differs from the paper: tokens are rows.
    """
    columns = softmax_columns(key_query, tokens, context_length)
    return jnp.einsum("hk,hnk->nk", value, columns)


@checked(jit=True)
def representation_loss(
    weights: Float[Array, "N K"],
    features: Float[Array, "K m"],
    noise_variance: NonNegative,
) -> Float[Array, ""]:
    r"""Exact population loss of the prediction ŷ = Âᵀy.

    $$L=\frac1{2K}\sum_{k=1}^K\mathbb E(\hat y_k-y_k)^2=\frac1{2K}\Big[\lVert Z\hat A-
      \hat Z\rVert_F^2+m\tau\lVert\hat A-(I_N,0)\rVert_F^2+m\tau(K-N)\Big]$$

    with Â = `weights` (N×K, any matrix), Ẑ = `features`ᵀ, Z its first N columns and
    τ = `noise_variance`. No matrix is inverted: cheap to differentiate and to repeat.

    Source: yang2024, (9) through (75)–(77).
    Assumes: Assumption 1 (E λ = 0, E λλᵀ = I), noise of variance τ per feature.
    Differs from the paper: the terms mτ of the tokens k > N, which (79) drops, stay.
    """
    p = problem(features, len(weights), noise_variance, length="weights")
    error = p.Z @ weights - p.Z_hat
    copied = weights - jnp.eye(p.N, p.K)
    noise = jnp.sum(copied**2) + (p.K - p.N)
    return (jnp.sum(error**2) + p.m * p.tau * noise) / (2 * p.K)


@checked(jit=True)
def representation_gap(
    weights: Float[Array, "N K"],
    optimum: Float[Array, "N K"],
    features: Float[Array, "K m"],
    noise_variance: NonNegative,
) -> Float[Array, ""]:
    r"""How far the loss is above its infimum.

    $$L-L^\star=\frac1{2K}\sum_{k=1}^K\lVert\bar Z\delta_k\rVert^2=\frac1{2K}\lVert\bar
      Z(\hat A-A)\rVert_F^2,\qquad\bar Z^2=Z^\top Z+m\tau I$$

    with Â = `weights` and A = `optimum` (`representation_optimum`). Nothing cancels, so
    a gap of 1e-30 is one.

    Source: yang2024, Lemma 5, (36).
    Assumes: Assumption 1.
    Differs from the paper: the norm is Frobenius', which (70) prints as spectral, and
        δ_k has Zᵀz_k where (33) prints z_k.
    """
    p = problem(features, len(weights), noise_variance, length="weights")
    delta = weights - optimum
    squares = jnp.sum((p.Z @ delta) ** 2) + p.m * p.tau * jnp.sum(delta**2)
    return squares / (2 * p.K)


@checked(jit=True, static="context_length")
def representation_optimum(
    features: Float[Array, "K m"], context_length: Natural, noise_variance: NonNegative
) -> Float[Array, "N K"]:
    r"""The matrix that training approaches, in the space of the labels.

    $$A=(Z^\top Z+m\tau I_N)^{-1}\big(Z^\top\hat Z+(m\tau I_N,0)\big)$$

    The matrix to invert is as good as singular when N > m and τ is small, so it is
    never formed: with Z = UsVᵀ, A = V[s/(s² + mτ) UᵀẐ + mτ/(s² + mτ) Vᵀ(I_N, 0)].

    Source: yang2024, (34).
    Assumes: nothing; at τ = 0 it is the limit τ → 0.
    Differs from the paper: τ = 0 is allowed.
    """
    p = problem(features, context_length, noise_variance)
    U, V, gain, noise = _axes(p)
    size = len(gain)
    along = gain[:, None] * (U[:, :size].T @ p.Z_hat)
    copied = (V * noise[None, : p.N]) @ V.T @ jnp.eye(p.N, p.K)
    return V[:, :size] @ along + copied


@checked(jit=True, static="context_length")
def representation_infimum(
    features: Float[Array, "K m"], context_length: Natural, noise_variance: NonNegative
) -> Float[Array, ""]:
    r"""Infimum L* of the population loss.

    $$L^\star=\frac1{2K}\sum_{k=1}^K\big(\lVert z_k\rVert^2+m\tau-c_k^\top(Z^\top Z+
      m\tau I)^{-1}c_k\big),\qquad c_k=Z^\top z_k+m\tau e_k1\{k\le N\}$$

    The terms k ≤ N vanish, since a label that is shown can be copied, and in the others
    ‖z_k‖² − c_kᵀ(ZᵀZ + mτI)⁻¹c_k = mτ z_kᵀ(ZZᵀ + mτI)⁻¹z_k, where nothing cancels.

    Source: yang2024, Lemma 5.
    Assumes: Assumption 1; at τ = 0 it is the limit τ → 0.
    Differs from the paper: the printed L* lacks mτ for k > N; see
        `representation_infimum_printed`. τ = 0 is allowed.
    """
    p = problem(features, context_length, noise_variance)
    return _unexplained(p) + p.m * p.tau * (p.K - p.N) / (2 * p.K)


@checked(jit=True, static="context_length")
def representation_infimum_printed(
    features: Float[Array, "K m"], context_length: Natural, noise_variance: NonNegative
) -> Float[Array, ""]:
    """L* as Lemma 5 of yang2024 prints it, too small by mτ(K − N)/(2K).

    Source: yang2024, Lemma 5.
    Assumes: as `representation_infimum`.
    Differs from the paper: nothing; `representation_infimum` is the infimum.
    """
    return _unexplained(problem(features, context_length, noise_variance))


@checked
def representation_residuals_printed(
    weights: Float[Array, "N K"],
    features: Float[Array, "K m"],
    noise_variance: Positive,
) -> Float[Array, "N K"]:
    """Columns δ_k as (33) of yang2024 prints them, with z_k where Zᵀz_k is meant.

    Source: yang2024, (33).
    Assumes: m = N, without which the printed formula adds vectors of unlike lengths.
    Differs from the paper: nothing; the right δ_k is a column of Â − A.
    """
    p = problem(features, len(weights), noise_variance, length="weights")
    require(p.m == p.N, "features", f"of m = N = {p.N} columns", p.m)
    targets = p.Z_hat + p.m * p.tau * jnp.eye(p.N, p.K)
    # By Cholesky: it compiles in a fraction of the time of LU.
    return weights - jax.scipy.linalg.solve(p.gram, targets, assume_a="pos")


@checked
def label_root(
    features: Float[Array, "K m"], context_length: Natural, noise_variance: NonNegative
) -> Float[Array, "N N"]:
    r"""$\bar Z=(Z^\top Z+m\tau I_N)^{1/2}$, the root of E yyᵀ of the shown labels.

    Source: yang2024, (12).
    Assumes: Assumption 1.
    Differs from the paper: nothing.
    """
    return square_root(problem(features, context_length, noise_variance).gram)


@checked
def representation_gradient(
    key_query: Float[Array, "H d d"],
    value: Float[Array, "H K"],
    tokens: Float[Array, "K d"],
    features: Float[Array, "K m"],
    context_length: Natural,
    noise_variance: Positive,
    *,
    printed: bool = False,
) -> tuple[Float[Array, "H d d"], Float[Array, "H K"]]:
    r"""Gradient of the population loss in Q and in w, written out.

    $$\frac{\partial L}{\partial w_{h,k}}=\frac1K(\bar Zs^h_k)^\top\bar Z\delta_k,\qquad
      \frac{\partial L}{\partial Q_h}=\frac1K\sum_{k,j}(\bar Z\delta_k)^\top\bar z_j\,
      w_{h,k}\,s^h_{jk}\sum_is^h_{ik}(v_j-v_i)v_k^\top$$

    `printed=True` puts z_j for z̄_j as (56) does, which needs m = N.

    Source: yang2024, (45) and (82), in w = γα.
    Assumes: Assumption 1, τ > 0.
    Differs from the paper: (56) prints z_j; the z̄_j of (82) is right.
    """
    p = problem(features, context_length, noise_variance)
    s = softmax_columns(key_query, tokens, p.N)
    root = label_root(features, p.N, p.tau)
    optimum = representation_optimum(features, p.N, p.tau)
    scaled = root @ (jnp.einsum("hk,hnk->nk", value, s) - optimum)
    by_value = jnp.einsum("hnk,nk->hk", s, root @ scaled) / p.K
    if printed:
        require(p.m == p.N, "features", f"of m = N = {p.N} columns", p.m)
    # Σ_j a_j s_j Σ_i s_i (v_j − v_i) = Σ_j s_j (a_j − Σ_i s_i a_i) v_j.
    a = ((p.Z if printed else root).T @ scaled)[None]
    centred = s * (a - jnp.sum(s * a, axis=1, keepdims=True)) * value[:, None, :]
    keys = jnp.einsum("nd,hnk->hdk", tokens[: p.N], centred)
    return jnp.einsum("hdk,ke->hde", keys, tokens) / p.K, by_value


def _axes(p: Problem) -> tuple[Array, Array, Array, Array]:
    """Z = UsVᵀ with square U and V; s/(s² + mτ), and mτ/(s² + mτ) with s = 0 after it.

    Without a singular value the second is 1, whatever τ: it is its limit at τ = 0.
    """
    U, s, Vt = if_finite(jnp.linalg.svd, p.Z)
    present = s > s[0] * 1e-12  # what is smaller is the round-off of zeros
    square = jnp.where(present, s**2 + p.m * p.tau, 1.0)
    gain = jnp.where(present, s / square, 0.0)
    noise = jnp.where(present, p.m * p.tau / square, 1.0)
    return U, Vt.T, gain, jnp.pad(noise, (0, max(p.m, p.N) - len(s)), constant_values=1)


def _unexplained(p: Problem) -> Float[Array, ""]:
    """Σ_{k>N} mτ z_kᵀ(ZZᵀ + mτI)⁻¹z_k, over 2K."""
    U, _, _, noise = _axes(p)
    along = U.T @ p.Z_hat[:, p.N :]
    return jnp.sum(noise[: p.m, None] * along**2) / (2 * p.K)
