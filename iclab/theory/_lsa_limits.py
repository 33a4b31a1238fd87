"""What remains when prompts are infinitely long in training and at test time."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from iclab.core import NonNegative, checked
from iclab.theory._moment_table import Moments


@checked
def lsa_limit_factor(moments: Moments) -> Float[Array, " d"]:
    r"""Mean prediction over new random covariances, as a multiple of the truth.

    $$\mathbb E[\hat y\mid x,w]\to\sum_i\frac{\mathbb E\lambda_i^2\;\mathbb E\lambda_i}
      {\mathbb E\lambda_i^3}\,x_iw_i$$

    `moments[k-1, i]` = E λᵢᵏ; entry i of the result multiplies x_i w_i. Exponential(1)
    gives 2·1/6 = 1/3.

    Source: zhang2023, after (4.13).
    Assumes: M, N → ∞; training and test covariances have the same law.
    Differs from the paper: nothing.
    """
    first, second, third = moments
    return first * second / third


@checked
def lsa_limit_risk(
    training_moments: Moments,
    test_moments: Moments,
    scale: NonNegative = 1.0,
) -> Float[Array, ""]:
    r"""Error of the trained linear attention for infinitely long prompts.

    $$\sum_i\mathbb E\,c\lambda_i\,(p_ic\lambda_i-1)^2
      =\sum_i\big(c\,m_1-2p_ic^2m_2+p_i^2c^3m_3\big)_i,\qquad
      p_i=\frac{\mathbb E\lambda_i^2}{\mathbb E\lambda_i^3}\ \text{(training)}$$

    with m_k = `test_moments[k-1]`, c = `scale` of the test covariances. A fixed
    covariance has moments λ, λ², λ³. With w ~ N(0, I) the zero predictor has c Σ m₁.

    Source: zhang2023, dashed line of Figure 1, from (4.13).
    Assumes: M, N → ∞, y = ⟨w, x⟩, w ~ N(0, I).
    Differs from the paper: it draws the line without writing it down.
    """
    _, second, third = training_moments
    p, c = second / third, scale
    m1, m2, m3 = test_moments
    return jnp.sum(c * m1 - 2 * p * c**2 * m2 + p**2 * c**3 * m3)
