"""Vector fields of gradient flow, as the papers write them."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from iclab.core import Count, Covariance, checked
from iclab.theory._lsa_optimum import gamma_matrix, random_covariance_coefficients
from iclab.theory._moment_table import Moments


@checked
def lsa_flow(
    U11: Float[Array, "d d"],
    u_last: Float[Array, ""],
    covariance: Covariance,
    context_length: Count,
) -> tuple[Float[Array, "d d"], Float[Array, ""]]:
    r"""Time derivatives of (U₁₁, u₋₁) under gradient flow on the population loss.

    $$\dot U_{11}=-u_{-1}^2\Gamma\Lambda U_{11}\Lambda+u_{-1}\Lambda^2,\qquad
      \dot u_{-1}=-\operatorname{tr}\big[u_{-1}\Gamma\Lambda U_{11}\Lambda U_{11}^\top
        -\Lambda^2U_{11}^\top\big]$$

    with Λ = `covariance` and N = `context_length` inside Γ.

    Source: zhang2023, Lemma 5.2, (5.4).
    Assumes: u₁₂ = u₂₁ = 0, which the flow keeps; y = ⟨w, x⟩, w ~ N(0, I), x ~ N(0, Λ).
    Differs from the paper: nothing.
    """
    Lambda, N = covariance, context_length
    drift = gamma_matrix(Lambda, N) @ Lambda @ U11 @ Lambda
    drive = Lambda @ Lambda
    dU11 = -(u_last**2) * drift + u_last * drive
    du_last = -jnp.sum((u_last * drift - drive) * U11)
    return dU11, du_last


@checked
def lsa_flow_random_covariance(
    U11: Float[Array, "d d"],
    u_last: Float[Array, ""],
    moments: Moments,
    context_length: Count,
) -> tuple[Float[Array, "d d"], Float[Array, ""]]:
    r"""Time derivatives of (U₁₁, u₋₁) when each prompt draws its own covariance.

    $$\dot u_{ii}=-\gamma_iu_{-1}^2u_{ii}+\xi_iu_{-1},\quad
      \dot u_{ij}=-\zeta_{ij}u_{-1}^2u_{ij},\quad
      \dot u_{-1}=-\sum_i\gamma_iu_{-1}u_{ii}^2-\sum_{i\ne j}\zeta_{ij}u_{-1}u_{ij}^2
        +\sum_i\xi_iu_{ii}$$

    with (γ, ξ, ζ) from `moments` (`moments[k-1, i]` = E λᵢᵏ) and N = `context_length`.

    Source: zhang2023, Corollary C.2, (C.4).
    Assumes: u₁₂ = u₂₁ = 0; random covariances are diagonal with independent entries.
    Differs from the paper: nothing.
    """
    _, xi, zeta = random_covariance_coefficients(moments, context_length)
    drive = jnp.diag(xi)
    dU11 = -(u_last**2) * zeta * U11 + u_last * drive
    du_last = -jnp.sum((u_last * zeta * U11 - drive) * U11)
    return dU11, du_last
