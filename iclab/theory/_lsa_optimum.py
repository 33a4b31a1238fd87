"""What one layer of linear attention learns, in closed form."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from iclab.core import Count, Covariance, NonNegative, SecondMoment, checked
from iclab.theory._moment_table import Moments


@checked
def gamma_matrix(covariance: Covariance, context_length: Count) -> Float[Array, "d d"]:
    r"""Second moment of the sample covariance, divided by the covariance.

    $$\Gamma=\big(1+\tfrac1N\big)\Lambda+\tfrac1N\operatorname{tr}(\Lambda)I,
      \qquad \mathbb E[\hat\Lambda^2]=\Gamma\Lambda$$

    with Λ = `covariance` of the inputs, N = `context_length`, Λ̂ the second moment of N
    samples.

    Source: zhang2023, Theorem 4.1 and (A.7).
    Assumes: x ~ N(0, Λ).
    Differs from the paper: nothing.
    """
    Lambda, N = covariance, context_length
    return (1 + 1 / N) * Lambda + jnp.trace(Lambda) / N * jnp.eye(len(Lambda))


@checked(jit=True)
def optimal_preconditioner(
    covariance: Covariance,
    context_length: Count,
    *,
    weight_covariance: SecondMoment | None = None,
    noise_variance: NonNegative = 0.0,
) -> Float[Array, "d d"]:
    r"""Matrix that a trained one-layer linear attention applies to the gradient.

    $$\Gamma^{-1}=\big[(1+\tfrac1N)\Lambda+\tfrac1N\operatorname{tr}(\Lambda)I\big]^{-1},
      \qquad P=\Omega\big[(1+\tfrac1N)\Lambda\Omega+\tfrac1N(\operatorname{tr}(
      \Omega\Lambda)+\sigma^2)I\big]^{-1}$$

    with Λ = `covariance` of the inputs and N = `context_length`. The second, of which
    the first is the case Ω = I, σ = 0, is best for weights of covariance Ω =
    `weight_covariance` (default I) and labels with noise of variance σ² =
    `noise_variance`: ŷ = x_qᵀP(1/N)Σyᵢxᵢ with P = E[wcᵀ]E[ccᵀ]⁻¹, c the sum.

    Source: zhang2023, Theorem 4.1; Ω and σ are ours.
    Assumes: y = ⟨w, x⟩ + noise, w ~ N(0, Ω), x ~ N(0, Λ).
    Differs from the paper: nothing for Ω = I, σ = 0.
    """
    Lambda, N, d = covariance, context_length, len(covariance)
    if weight_covariance is None:
        noise = jnp.asarray(noise_variance, float) / N * jnp.eye(d)
        return jnp.linalg.inv(gamma_matrix(Lambda, N) + noise)
    Omega = weight_covariance
    power = jnp.trace(Omega @ Lambda) + noise_variance
    shrunk = (1 + 1 / N) * Lambda @ Omega + power / N * jnp.eye(d)
    return Omega @ jnp.linalg.inv(shrunk)


@checked
def lsa_optimum(
    covariance: Covariance, context_length: Count
) -> tuple[Float[Array, "d+1 d+1"], Float[Array, "d+1 d+1"]]:
    r"""Weights (W_KQ, W_PV) that gradient flow reaches from a balanced start.

    $$W^{KQ}_*=\operatorname{tr}(\Gamma^{-2})^{-1/4}
        \begin{pmatrix}\Gamma^{-1}&0\\0&0\end{pmatrix},\qquad
      W^{PV}_*=\operatorname{tr}(\Gamma^{-2})^{1/4}
        \begin{pmatrix}0&0\\0&1\end{pmatrix}$$

    with Λ = `covariance`, N = `context_length` inside Γ.

    Source: zhang2023, Theorem 4.1, (4.1).
    Assumes: as `optimal_preconditioner`.
    Differs from the paper: nothing.
    """
    return balanced_weights(optimal_preconditioner(covariance, context_length))


@checked(jit=True)
def random_covariance_coefficients(
    moments: Moments, context_length: Count
) -> tuple[Float[Array, " d"], Float[Array, " d"], Float[Array, "d d"]]:
    r"""The coefficients (γ, ξ, ζ) of training on random diagonal covariances.

    $$\gamma_i=\mathbb E\big[\tfrac{N+1}N\lambda_i^3+\tfrac1N\lambda_i^2\textstyle\sum_j
        \lambda_j\big],\quad \xi_i=\mathbb E\lambda_i^2,\quad
      \zeta_{ij}=\mathbb E\big[\tfrac{N+1}N\lambda_i^2\lambda_j
        +\tfrac1N\lambda_i\lambda_j\textstyle\sum_k\lambda_k\big]$$

    with N = `context_length` and `moments[k-1, i]` = E λᵢᵏ. The diagonal of ζ is γ.

    Source: zhang2023, Corollary C.2, (C.3).
    Assumes: independent diagonal entries, each with its own distribution.
    Differs from the paper: ζ is given its natural diagonal.
    """
    first, second, third = moments
    N = jnp.asarray(context_length, float)  # one more than an integer may overflow
    total = jnp.sum(first)
    gamma = (N + 1) / N * third + (third + second * (total - first)) / N
    cross = second[:, None] * first[None, :]
    others = total - first[:, None] - first[None, :]
    zeta = (N + 1) / N * cross + (
        cross + cross.T + first[:, None] * first[None, :] * others
    ) / N
    d = len(first)
    return gamma, second, jnp.where(jnp.eye(d, dtype=bool), gamma[:, None], zeta)


@checked(jit=True)
def lsa_optimum_random_covariance(
    moments: Moments, context_length: Count
) -> tuple[Float[Array, "d+1 d+1"], Float[Array, "d+1 d+1"]]:
    r"""Weights (W_KQ, W_PV) after training on random diagonal covariances.

    The preconditioner is $[\mathbb E\,\Gamma_\tau\Lambda_\tau^2]^{-1}
    \mathbb E\,\Lambda_\tau^2=\operatorname{diag}(\xi_i/\gamma_i)$, and
    $\lVert\cdot\rVert_F^{\mp1/2}$ of it balances W_KQ and W_PV. N = `context_length`;
    `moments[k-1, i]` = E λᵢᵏ, so the entries may have different distributions.

    Source: zhang2023, Theorem 4.5, (4.12).
    Assumes: y = ⟨w, x⟩, w ~ N(0, I), x ~ N(0, Λ_τ), Λ_τ diagonal with independent
    positive entries that have three moments.
    Differs from the paper: nothing.
    """
    gamma, xi, _ = random_covariance_coefficients(moments, context_length)
    return balanced_weights(jnp.diag(xi / gamma))


def balanced_weights(
    preconditioner: Float[Array, "d d"],
) -> tuple[Float[Array, "d+1 d+1"], Float[Array, "d+1 d+1"]]:
    """Split u₋₁U₁₁ = `preconditioner` so that u₋₁² = ‖U₁₁‖_F²."""
    d = len(preconditioner)
    u_last = jnp.sqrt(jnp.linalg.norm(preconditioner))
    W_KQ = jnp.zeros((d + 1, d + 1)).at[:d, :d].set(preconditioner / u_last)
    W_PV = jnp.zeros((d + 1, d + 1)).at[d, d].set(u_last)
    return W_KQ, W_PV
