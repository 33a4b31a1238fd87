"""Constants of the convergence proofs: how small a start, how fast a decay."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from iclab.core import (
    Count,
    Covariance,
    NonNegative,
    checked,
    is_traced,
    require,
)
from iclab.theory._lsa_optimum import gamma_matrix, random_covariance_coefficients
from iclab.theory._moment_table import Moments


@checked
def largest_initial_scale(
    covariance: Covariance, context_length: Count
) -> Float[Array, ""]:
    r"""Supremum of the start scales σ for which convergence is proved,
    $\sigma^2<2/(\sqrt d\,\lVert\Gamma\rVert_{op})$, with Λ = `covariance` and
    N = `context_length` inside Γ.

    Source: zhang2023, Theorem 4.1, (A.13).
    Assumes: a balanced start, Assumption 3.3.
    Differs from the paper: nothing.
    """
    Lambda, N = covariance, context_length
    return jnp.sqrt(
        2 / (jnp.sqrt(len(Lambda)) * _operator_norm(gamma_matrix(Lambda, N)))
    )


@checked
def largest_initial_scale_random_covariance(
    moments: Moments,
    theta: Float[Array, "d d"],
    gamma_norm: NonNegative,
) -> Float[Array, ""]:
    r"""The same for random covariances, $\sigma^2<2\lVert\mathbb E\Lambda_\tau\Theta
    \rVert_F^2\,/\,(\sqrt d\;\mathbb E\lVert\Gamma_\tau\rVert_{op}\lVert\Lambda_\tau
    \rVert_F^2)$, with Θ = `theta` and the last expectation = `gamma_norm`
    (`expected_gamma_norm`); `moments[k-1, i]` = E λᵢᵏ.

    Source: zhang2023, Theorem 4.5, (4.11).
    Assumes: a balanced start, Assumption 3.3, and E Λ_τ Θ ≠ 0.
    Differs from the paper: nothing.
    """
    alignment = _alignment(moments, theta)
    return jnp.sqrt(2 * alignment / (jnp.sqrt(len(theta)) * gamma_norm))


@checked
def expected_gamma_norm(
    diagonals: Float[Array, "draws d"], context_length: Count
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    r"""Monte Carlo mean and standard error of $\lVert\Gamma_\tau\rVert_{op}\lVert
    \Lambda_\tau\rVert_F^2$ over `diagonals`, rows drawn from the law of diag(Λ_τ);
    N = `context_length`. The maximum inside the norm has no closed form in general.

    Source: zhang2023, (4.11).
    Assumes: rows independent.
    Differs from the paper: nothing.
    """
    N = context_length
    rule = "at least two draws of a diagonal, in rows"
    require(len(diagonals) >= 2, "diagonals", rule, f"shape {diagonals.shape}")
    largest = jnp.max(diagonals, axis=1)
    norm = (1 + 1 / N) * largest + jnp.sum(diagonals, axis=1) / N
    values = norm * jnp.sum(diagonals**2, axis=1)
    return jnp.mean(values), jnp.std(values, ddof=1) / jnp.sqrt(len(values))


@checked
def last_weight_bound(
    covariance: Covariance,
    context_length: Count,
    theta: Float[Array, "d d"],
    scale: NonNegative,
) -> Float[Array, ""]:
    r"""Lower bound that u₋₁ keeps along the whole flow.

    $$u_{-1}\ge\sqrt{\frac{\sigma^2}{2\sqrt d\,\lVert\Lambda\rVert_{op}^2}
      \lVert\Lambda\Theta\rVert_F^2\,[2-\sqrt d\sigma^2\lVert\Gamma\rVert_{op}]}$$

    Λ = `covariance`, N = `context_length`, Θ = `theta`, σ = `scale`.

    Source: zhang2023, Lemma A.5, (A.14).
    Assumes: σ below `largest_initial_scale`.
    Differs from the paper: nothing.
    """
    Lambda, N, root = covariance, context_length, jnp.sqrt(len(covariance))
    _below(scale, largest_initial_scale(Lambda, N))
    margin = 2 - root * scale**2 * _operator_norm(gamma_matrix(Lambda, N))
    alignment, norm = jnp.sum((Lambda @ theta) ** 2), _operator_norm(Lambda)
    return jnp.sqrt(scale**2 / (2 * root * norm**2) * alignment * margin)


@checked
def convergence_constant(
    covariance: Covariance,
    context_length: Count,
    theta: Float[Array, "d d"],
    scale: NonNegative,
) -> Float[Array, ""]:
    r"""Constant of the Polyak–Łojasiewicz inequality along the flow.

    $$\mu=\frac{\sigma^2}{\sqrt d\,\lVert\Lambda\rVert_{op}^2
      \operatorname{tr}(\Gamma^{-1}\Lambda^{-1})\operatorname{tr}(\Lambda^{-1})}\lVert\Lambda\Theta\rVert_F^2
      \,[2-\sqrt d\sigma^2\lVert\Gamma\rVert_{op}]$$

    so that the loss gap shrinks at least like $e^{-\mu t}$. Arguments as in
    `last_weight_bound`.

    Source: zhang2023, Lemma 5.4, (5.7).
    Assumes: σ below `largest_initial_scale`.
    Differs from the paper: nothing.
    """
    bound = last_weight_bound(covariance, context_length, theta, scale)
    Gamma = gamma_matrix(covariance, context_length)
    inverse = jnp.linalg.inv(covariance)
    conditioning = jnp.trace(jnp.linalg.inv(Gamma) @ inverse) * jnp.trace(inverse)
    return 2 * bound**2 / conditioning


@checked
def last_weight_bound_random_covariance(
    moments: Moments,
    theta: Float[Array, "d d"],
    scale: NonNegative,
    gamma_norm: NonNegative,
) -> Float[Array, ""]:
    r"""Lower bound that u₋₁ keeps when covariances are random.

    $$u_{-1}\ge\sqrt{\frac{\sigma^2}{2\sqrt d\,\lVert\mathbb E\Lambda_\tau^2\rVert_{op}}
      \big[2\lVert\mathbb E\Lambda_\tau\Theta\rVert_F^2-\sqrt d\sigma^2\,
      \mathbb E\lVert\Gamma_\tau\rVert_{op}\lVert\Lambda_\tau\rVert_F^2\big]}$$

    Arguments as in `largest_initial_scale_random_covariance`, σ = `scale`.

    Source: zhang2023, Lemma C.7, (C.12).
    Assumes: σ below `largest_initial_scale_random_covariance`.
    Differs from the paper: nothing.
    """
    limit = largest_initial_scale_random_covariance(moments, theta, gamma_norm)
    _below(scale, limit)
    root = jnp.sqrt(len(theta))
    margin = 2 * _alignment(moments, theta) - root * scale**2 * gamma_norm
    return jnp.sqrt(scale**2 / (2 * root * jnp.max(moments[1])) * margin)


@checked
def convergence_constant_random_covariance(
    moments: Moments,
    context_length: Count,
    theta: Float[Array, "d d"],
    scale: NonNegative,
    gamma_norm: NonNegative,
) -> Float[Array, ""]:
    r"""Constant ν of the Polyak–Łojasiewicz inequality when covariances are random,
    $\nu=\eta\cdot b^2$ with b the bound of `last_weight_bound_random_covariance` and
    $\eta=\min\{\gamma_i,\zeta_{ij}\}$; N = `context_length`.

    Source: zhang2023, Lemma C.8, (C.13).
    Assumes: σ below `largest_initial_scale_random_covariance`.
    Differs from the paper: nothing; its own proof would allow 2ν.
    """
    bound = last_weight_bound_random_covariance(moments, theta, scale, gamma_norm)
    _, _, zeta = random_covariance_coefficients(moments, context_length)
    return jnp.min(zeta) * bound**2


def _operator_norm(matrix: Float[Array, "d d"]) -> Float[Array, ""]:
    return jnp.linalg.eigvalsh(matrix)[-1]


def _alignment(
    moments: Float[Array, "3 d"], Theta: Float[Array, "d d"]
) -> Float[Array, ""]:
    """‖E Λ_τ Θ‖_F²."""
    return jnp.sum((moments[0][:, None] * Theta) ** 2)


def _below(scale: NonNegative, limit: Float[Array, ""]) -> None:
    """Refuse a start scale for which the bounds say nothing (and would be NaN)."""
    if not is_traced(scale) and not is_traced(limit):
        rule = f"below {float(limit):.6g}, where the proof ends"
        require(float(scale) < float(limit), "scale", rule, float(scale))
