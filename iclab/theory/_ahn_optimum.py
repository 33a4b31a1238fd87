"""The global minimum of a one-layer linear transformer."""

from typing import Annotated

import jax.numpy as jnp
from jaxtyping import Array, Float

from iclab.core import Covariance, Natural, Number, Rule, checked

_NonZero = Annotated[Number, Rule("finite and different from 0", lambda x: x != 0)]


@checked
def ahn_optimum(
    covariance: Covariance, samples: Natural, scale: _NonZero = 1.0
) -> tuple[Float[Array, "d+1 d+1"], Float[Array, "d+1 d+1"]]:
    r"""Weights (P, Q) that minimise the in-context loss of one linear attention layer.

    $$P=\begin{bmatrix}0\\b^\top\end{bmatrix},\quad Q=\begin{bmatrix}A&0\end{bmatrix},
      \qquad b=\gamma\,e_{d+1},\quad
      A=-\frac1\gamma\begin{bmatrix}\Gamma^{-1}\\0\end{bmatrix},\quad
      \Gamma=\tfrac{n+1}n\Sigma+\tfrac1n\operatorname{tr}(\Sigma)I$$

    with Σ = `covariance` of the inputs, n = `samples` and γ = `scale`, any number but
    0: every γ gives the same network Z ↦ Z + (1/n) P Z M Zᵀ Q Z, which predicts minus
    the last entry and has loss tr Σ − tr(Σ²Γ⁻¹).

    Source: ahn2023, Theorem 1 and (7), (8).
    Assumes: noiseless labels, w ~ N(0, I), x ~ N(0, Σ).
    Differs from the paper: nothing. For d = 1 there are optima outside this family too
        (b = e₁, A = (0, −1/Γ)ᵀ), against the text's word of a unique one.
    """
    Sigma, n, d = covariance, samples, len(covariance)
    gamma = jnp.asarray(scale, Sigma.dtype)
    identity = jnp.eye(d, dtype=Sigma.dtype)
    Gamma = (n + 1) / n * Sigma + jnp.trace(Sigma) / n * identity
    zero = jnp.zeros((d + 1, d + 1), Sigma.dtype)
    P = zero.at[d, d].set(gamma)
    Q = zero.at[:d, :d].set(-jnp.linalg.inv(Gamma) / gamma)
    return P, Q
