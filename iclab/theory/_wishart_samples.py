"""Draws of sample covariances whose cost does not depend on the number of samples."""

import functools
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, UInt32

from iclab._reader import Whole
from iclab.core import Covariance, Natural, checked, enough_memory


@checked
def wishart_samples(
    key: Key[Array, ""] | UInt32[Array, "2"],
    covariance: Covariance,
    samples: Natural,
    shape: tuple[Whole, ...] = (),
) -> Float[Array, "*shape d d"]:
    r"""Independent draws of the sample covariance S = (1/n) Σ xᵢxᵢᵀ, xᵢ ~ N(0, Σ).

    $$S=\tfrac1n\,LTT^\top L^\top,\qquad LL^\top=\Sigma,\quad
      T_{ii}^2\sim\chi^2_{n-i+1},\quad T_{ij}\sim N(0,1)\;(i>j),\quad T_{ij}=0\;(i<j)$$

    with Σ = `covariance` and n = `samples`, one draw for every index of `shape`:
    d(d+1)/2 random numbers a draw, so n = 10⁹ costs what n = 20 does. For n < d, where
    T does not exist, X itself is drawn: n d numbers. Differentiable in Σ, and fit
    for `jit` with n and `shape` static.

    Source: iclab; Bartlett's decomposition.
    Assumes: Gaussian inputs, positive definite Σ.
    Differs from the paper: no paper states it.
    """
    n, d, draws = samples, len(covariance), math.prod(shape)
    enough_memory(draws * d**2, "shape", "draws × d²")
    S = _draws(key, covariance, float(n), width=min(n, d), draws=draws)
    return S.reshape(*shape, d, d)


@functools.partial(jax.jit, static_argnames=("width", "draws"))
def _draws(
    key: Key[Array, ""] | UInt32[Array, "2"],
    Sigma: Float[Array, "d d"],
    n: Float[Array, ""],
    width: int,
    draws: int,
) -> Float[Array, "draws d d"]:
    """Draws of S from T of `width` columns: n where T is X itself, else d."""
    dtype, d = Sigma.dtype, len(Sigma)
    normal_key, chi_key = jax.random.split(key)
    if width < d:
        T = jax.random.normal(normal_key, (draws, d, width), dtype)
    else:
        rows, columns = jnp.tril_indices(d, -1)
        below = jax.random.normal(normal_key, (draws, rows.size), dtype)
        # χ²_k = 2 Gamma(k/2).
        shapes = (n - jnp.arange(d, dtype=dtype)) / 2
        roots = jnp.sqrt(2 * jax.random.gamma(chi_key, shapes, (draws, d), dtype))
        T = jnp.zeros((draws, d, d), dtype).at[:, rows, columns].set(below)
        T = T + roots[:, :, None] * jnp.eye(d, dtype=dtype)[None]
    LT = jnp.einsum("ij,bjk->bik", jnp.linalg.cholesky(Sigma), T)
    return jnp.einsum("bik,bjk->bij", LT, LT) / n
