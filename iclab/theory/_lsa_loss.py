"""Exact population losses of one layer of linear attention.

Nothing here goes through Γ: expectations come from Isserlis' theorem, so that claims
about Γ can be held against these losses.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from iclab.core import Count, Covariance, Number, checked, require
from iclab.theory._moment_table import Moments


@checked(jit=True)
def lsa_loss(
    U11: Float[Array, "d d"],
    u_last: Float[Array, ""] | float,
    covariance: Covariance,
    context_length: Count,
) -> Float[Array, ""]:
    r"""Exact population loss where the off-diagonal blocks of the weights are zero.

    $$L=\tfrac12\,\mathbb E\big(u_{-1}\,w^\top\hat\Lambda U_{11}x-w^\top x\big)^2
       =\tfrac12\,\mathbb E\operatorname{tr}\big[(u_{-1}\hat\Lambda U_{11}-I)\,\Lambda\,
        (u_{-1}\hat\Lambda U_{11}-I)^\top\big]$$

    with Λ = `covariance`, Λ̂ the second moment of N = `context_length` samples.

    Source: zhang2023, (3.8), (5.3) on u₁₂ = u₂₁ = 0.
    Assumes: y = ⟨w, x⟩ without noise, w ~ N(0, I), x ~ N(0, Λ).
    Differs from the paper: ℓ̃ of (5.5) is this minus tr(Λ)/2.
    """
    return 0.5 * _odd_part(u_last * U11, covariance, context_length)


@checked(jit=True)
def lsa_full_loss(
    key_query: Float[Array, "k k"],
    value_projection: Float[Array, "k k"],
    covariance: Covariance,
    context_length: Count,
) -> Float[Array, ""]:
    r"""Exact population loss at any weights, off-diagonal blocks included.

    With $p=w_{21}^{PV}$, $c=w_{22}^{PV}$, $A=W_{11}^{KQ}$, $q=w_{21}^{KQ}$ the error is

    $$p^\top\hat\Lambda Ax+\tfrac1N(p^\top x)(x^\top Ax)
      +c\,(w^\top\hat\Lambda w)(q^\top x)\;+\;w^\top[\hat\Lambda(cA+pq^\top)-I]\,x.$$

    The first three terms are even in w and the last is odd, so their squares average
    separately; each is quadratic in Λ̂ and needs moments of N(0, Λ) up to order six.
    Λ = `covariance`, N = `context_length`, W_KQ = `key_query`,
    W_PV = `value_projection`.

    Source: zhang2023, (3.6) and (3.8).
    Assumes: y = ⟨w, x⟩ without noise, w ~ N(0, I), x ~ N(0, Λ).
    Differs from the paper: it writes the expectation only where p = q = 0.
    """
    # A float, since the square of an integer of 64 bits may overflow.
    Lambda, N, d = covariance, jnp.asarray(context_length, float), len(covariance)
    W_KQ, W_PV = key_query, value_projection
    rule, found = f"a {d + 1}×{d + 1} matrix", f"shape {W_KQ.shape}"
    require(len(W_KQ) == d + 1, "key_query", rule, found)
    A, q = W_KQ[:d, :d], W_KQ[d, :d]
    p, c = W_PV[d, :d], W_PV[d, d]

    A_symmetric = (A + A.T) / 2
    trace, trace_A = jnp.trace(Lambda), jnp.trace(A @ Lambda)
    sandwich = Lambda @ A_symmetric @ Lambda
    # E[x (pᵀx)(xᵀAx)]
    third = Lambda @ p * trace_A + 2 * sandwich @ p
    # E[(pᵀx)²(xᵀAx)²]
    sixth = (
        (p @ Lambda @ p) * (trace_A**2 + 2 * jnp.trace(sandwich @ A_symmetric))
        + 4 * (p @ sandwich @ p) * trace_A
        + 8 * (p @ sandwich @ A_symmetric @ Lambda @ p)
    )
    # E[tr Λ̂ · Λ̂] and E[(wᵀΛ̂w)²] = E[(tr Λ̂)² + 2 tr Λ̂²]
    traced_gram = trace * Lambda + 2 / N * Lambda @ Lambda
    gram_squared = _sandwiched_gram(jnp.eye(d), Lambda, N)
    form_squared = jnp.trace(traced_gram) + 2 * jnp.trace(gram_squared)
    even = (
        p @ _sandwiched_gram(A @ Lambda @ A.T, Lambda, N) @ p
        + sixth / N**2
        + c**2 * form_squared * (q @ Lambda @ q)
        + 2 / N * (p @ Lambda @ A @ third)
        + 2 * c * (p @ traced_gram @ A @ Lambda @ q)
        + 2 * c / N * trace * (q @ third)
    )
    return 0.5 * (even + _odd_part(c * A + jnp.outer(p, q), Lambda, N))


def _odd_part(
    B: Float[Array, "d d"], Lambda: Float[Array, "d d"], N: Count | Number
) -> Float[Array, ""]:
    """E tr[(Λ̂B − I) Λ (Λ̂B − I)ᵀ]."""
    quadratic = jnp.trace(_sandwiched_gram(B @ Lambda @ B.T, Lambda, N))
    return quadratic - 2 * jnp.trace(Lambda @ B @ Lambda) + jnp.trace(Lambda)


def _sandwiched_gram(
    M: Float[Array, "d d"], Lambda: Float[Array, "d d"], N: Count | Number
) -> Float[Array, "d d"]:
    """E[Λ̂MΛ̂] = ΛMΛ + (ΛMᵀΛ + tr(MΛ)Λ)/N for a fixed matrix M."""
    wick = Lambda @ M.T @ Lambda + jnp.trace(M @ Lambda) * Lambda
    return Lambda @ M @ Lambda + wick / N


@checked(jit=True)
def lsa_loss_random_covariance(
    U11: Float[Array, "d d"],
    u_last: Float[Array, ""] | float,
    moments: Moments,
    context_length: Count,
) -> Float[Array, ""]:
    r"""Exact population loss when every prompt draws its own diagonal covariance.

    $$L=\mathbb E_\tau\,\tfrac12\mathbb E\operatorname{tr}\big[(u_{-1}\hat\Lambda_\tau
      U_{11}-I)\,\Lambda_\tau\,(u_{-1}\hat\Lambda_\tau U_{11}-I)^\top\big]$$

    through the tensor E[λᵢλⱼλₖ]; `moments[k-1, i]` = E λᵢᵏ, N = `context_length`.

    Source: zhang2023, (4.10) on u₁₂ = u₂₁ = 0.
    Assumes: Λ_τ diagonal with independent entries; y = ⟨w, x⟩, w ~ N(0, I).
    Differs from the paper: ℓ_rdm of (C.5) is this minus E tr(Λ_τ)/2.
    """
    N = context_length
    T = _triple_moments(moments)
    # E[(1 + 1/N) λᵢ²λₖ + λᵢλₖ tr(Λ)/N], the weight of U²ᵢₖ in E tr(Λ̂UΛUᵀΛ̂).
    weight = (1 + 1 / N) * jnp.einsum("iik->ik", T) + jnp.einsum("ikm->ik", T) / N
    quadratic = u_last**2 * jnp.sum(weight * U11**2)
    linear = u_last * jnp.sum(moments[1] * jnp.diagonal(U11))
    return 0.5 * (quadratic - 2 * linear + jnp.sum(moments[0]))


def _triple_moments(moments: Moments) -> Float[Array, "d d d"]:
    """E[λᵢλⱼλₖ] of independent entries from their own moments."""
    first, second, third = moments
    d = first.shape[0]
    same = jnp.eye(d, dtype=bool)
    ij, jk, ik = same[:, :, None], same[None], same[:, None, :]
    one, two = first[:, None, None], second[:, None, None]
    product = one * first[None, :, None] * first[None, None, :]
    product = jnp.where(ij, two * first[None, None, :], product)
    product = jnp.where(ik, two * first[None, :, None], product)
    product = jnp.where(jk, one * second[None, :, None], product)
    return jnp.where(ij & jk, third[:, None, None], product)
