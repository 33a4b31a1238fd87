"""One layer of linear attention where prompts have covariances of any law."""

import itertools
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from iclab.core import Count, Rule, checked, require
from iclab.theory._lsa_loss import lsa_full_loss
from iclab.theory._lsa_optimum import balanced_weights, gamma_matrix
from iclab.theory._moment_table import Moments


def _smallest(stack: Array) -> float:
    return float(np.min(np.linalg.eigvalsh(np.asarray(stack))))


def _definite(stack: Array) -> bool:
    known = np.asarray(stack)
    uneven = np.max(np.abs(known - known.mT))
    return uneven <= 1e-8 * np.max(np.abs(known)) and _smallest(stack) > 0


# The law of a prompt's covariance: finitely many, and the chance of each.
Covariances = Annotated[
    Float[Array, "m d d"],
    Rule(
        "symmetric and positive definite, every one",
        _definite,
        found=lambda stack: f"smallest eigenvalue {_smallest(stack):.3g}",
    ),
]
Shares = Annotated[
    Float[Array, " m"],
    Rule(
        "positive numbers that sum to 1",
        lambda s: np.min(np.asarray(s)) > 0 and abs(np.sum(np.asarray(s)) - 1) <= 1e-9,
    ),
]


@checked
def lsa_full_loss_given_covariances(
    key_query: Float[Array, "k k"],
    value_projection: Float[Array, "k k"],
    covariances: Covariances,
    context_length: Count,
    *,
    shares: Shares | None = None,
) -> Float[Array, ""]:
    r"""Population loss at any weights when every prompt has one of m covariances.

    $$L=\sum_\tau s_\tau\,\tfrac12\,\mathbb E_{\Lambda_\tau}
      (\hat y-\langle w,x_q\rangle)^2$$

    with Λ_τ = `covariances`, s_τ = `shares` (default 1/m), W_KQ = `key_query`, W_PV =
    `value_projection` and N = `context_length`. Exact for finite mixtures. For a law
    with independent diagonal entries `three_moment_covariances` gives a finite mixture
    with exactly its loss; for any other law draws from it give a mean.

    Source: zhang2023, (4.10).
    Assumes: y = ⟨w, x⟩ without noise, w ~ N(0, I), x ~ N(0, Λ_τ).
    Differs from the paper: it has diagonal covariances, and writes the expectation only
    where the off-diagonal blocks of the weights are zero.
    """
    known, s = _law(covariances, shares)

    def given(covariance: Float[Array, "d d"]) -> Float[Array, ""]:
        return lsa_full_loss(key_query, value_projection, covariance, context_length)

    return s @ jax.vmap(given)(known)


@checked
def lsa_flow_given_covariances(
    U11: Float[Array, "d d"],
    u_last: Float[Array, ""],
    covariances: Covariances,
    context_length: Count,
    *,
    shares: Shares | None = None,
) -> tuple[Float[Array, "d d"], Float[Array, ""]]:
    r"""Time derivatives of (U₁₁, u₋₁) when prompts have covariances of any law.

    $$\dot U_{11}=-u_{-1}^2\,\mathbb E[\Gamma_\tau\Lambda_\tau U_{11}\Lambda_\tau]
      +u_{-1}\mathbb E\Lambda_\tau^2,$$
    $$\dot u_{-1}=-u_{-1}\operatorname{tr}\mathbb E[\Gamma_\tau\Lambda_\tau U_{11}
      \Lambda_\tau U_{11}^\top]
      +\operatorname{tr}(\mathbb E[\Lambda_\tau^2]U_{11}^\top)$$

    with Λ_τ = `covariances`, their chances `shares` (default equal) and
    N = `context_length` inside Γ_τ.

    Source: zhang2023, Lemma C.1, (C.1).
    Assumes: u₁₂ = u₂₁ = 0, which the flow keeps; else as
        `lsa_full_loss_given_covariances`.
    Differs from the paper: nothing.
    """
    known, s = _law(covariances, shares)
    Gammas = jax.vmap(lambda Lambda: gamma_matrix(Lambda, context_length))(known)
    drift = jnp.einsum("m,mij,mjk,kl,mln->in", s, Gammas, known, U11, known)
    drive = jnp.einsum("m,mij,mjk->ik", s, known, known)
    dU11 = -(u_last**2) * drift + u_last * drive
    return dU11, jnp.sum((drive - u_last * drift) * U11)


@checked
def lsa_optimum_given_covariances(
    covariances: Covariances,
    context_length: Count,
    *,
    shares: Shares | None = None,
) -> tuple[Float[Array, "d+1 d+1"], Float[Array, "d+1 d+1"]]:
    r"""Weights (W_KQ, W_PV) of least loss when prompts have covariances of any law.

    The product B = u₋₁U₁₁ of the balanced weights solves the linear equation

    $$\mathbb E[\Gamma_\tau\Lambda_\tau B\Lambda_\tau]=\mathbb E\Lambda_\tau^2,$$

    whose solution is $[\mathbb E\Gamma_\tau\Lambda_\tau^2]^{-1}\mathbb E\Lambda_\tau^2$
    if all Λ_τ are diagonal, dependent entries or not. If they do not commute B is
    another matrix, in general not symmetric. Λ_τ = `covariances`, `shares` their
    chances (default equal), N = `context_length`.

    Source: zhang2023, Theorem 4.5, (4.12), for diagonal Λ_τ; the equation is the rest
    point of its Lemma C.1.
    Assumes: as `lsa_flow_given_covariances`.
    Differs from the paper: covariances need be neither diagonal nor independent by
    entry.
    """
    known, s = _law(covariances, shares)
    d = known.shape[-1]
    left = jax.vmap(lambda Lambda: gamma_matrix(Lambda, context_length) @ Lambda)(known)
    # Rows of B one after another: (Γ_τΛ_τBΛ_τ)_{in} = Σ left_{ij} Λ_{ln} B_{jl}.
    equation = jnp.einsum("m,mij,mln->injl", s, left, known).reshape(d * d, d * d)
    drive = jnp.einsum("m,mij,mjk->ik", s, known, known)
    return balanced_weights(jnp.linalg.solve(equation, drive.ravel()).reshape(d, d))


@checked
def three_moment_covariances(
    moments: Moments,
) -> tuple[Float[Array, "m d d"], Float[Array, " m"]]:
    r"""2ᵈ diagonal covariances, and their shares, with given moments by entry.

    Every entry has two values, the Gauss nodes of its law, and entries are independent:
    E λᵢᵏ = `moments[k-1, i]` for k = 1, 2, 3. The loss of one layer of linear attention
    is of degree three in Λ: its mean over these covariances is that over the law.

    Source: iclab; Gauss's rule with two nodes.
    Assumes: moments of a law on positive numbers, d ≤ 12.
    Differs from the paper: no paper states it.
    """
    first, second, third = np.asarray(moments)
    d = len(first)
    require(d <= 12, "moments", "of at most 12 entries (2ᵈ covariances)", d)
    variance = second - first**2
    fixed = variance <= 1e-14 * second
    rule = "E λ² ≥ (E λ)² and E λ E λ³ ≥ (E λ²)², as a positive law has"
    possible = np.all(variance >= -1e-14 * second)
    possible = possible and np.all(first * third - second**2 >= -1e-13 * second**2)
    require(bool(possible), "moments", rule, np.asarray(moments).tolist())
    # Nodes are the zeros of λ² − bλ + c, orthogonal to 1 and λ.
    divisor = np.where(fixed, 1.0, variance)
    b = np.where(fixed, 2 * first, (third - first * second) / divisor)
    c = np.where(fixed, first**2, (first * third - second**2) / divisor)
    half = np.sqrt(np.clip(b**2 / 4 - c, 0, None))
    low, high = b / 2 - half, b / 2 + half
    gap = np.where(high > low, high - low, 1.0)
    upper = np.where(high > low, (first - low) / gap, 0.5)
    sides = np.array(list(itertools.product((0, 1), repeat=d)))
    entries = np.where(sides, high, low)
    shares = np.prod(np.where(sides, upper, 1 - upper), axis=1)
    return jnp.asarray(entries[:, :, None] * np.eye(d)), jnp.asarray(shares)


def _law(covariances: Covariances, shares: Shares | None) -> tuple[Array, Array]:
    m = len(covariances)
    return covariances, jnp.full(m, 1 / m) if shares is None else shares
