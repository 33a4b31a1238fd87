"""Bounds on the way to linear convergence: Lemmas 7 to 9 and their neighbours."""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float

from iclab.core import Natural, Number, checked
from iclab.theory._representation_rates import RepresentationConstants

Scalar = Float[Array, ""]


@checked
def key_query_gradient_bound(
    constants: RepresentationConstants, gamma: Number, alpha: Number, gap: Number
) -> Scalar:
    r"""$\lVert\partial\ell/\partial Q_h\rVert_F\le2\sqrt2\gamma\alpha\bar f_{\max}
    \sqrt{\ell-L^\star}$, with ℓ − L* = `gap`.

    Source: yang2024, Lemma 7, (42).
    Assumes: |α_{h,k}| ≤ α, tokens of norm ≤ 1.
    Differs from the paper: nothing; the first display of D.5 lacks "+ L*".
    """
    c = constants
    return 2 * math.sqrt(2) * gamma * alpha * c.largest_column * jnp.sqrt(gap)


@checked
def value_gradient_bound(
    constants: RepresentationConstants, gamma: Number, gap: Number
) -> Scalar:
    r"""$\lVert\partial\ell/\partial\alpha_h\rVert\le\lVert\bar Z\rVert_2\gamma
    \sqrt{\tfrac2K(\ell-L^\star)}$.

    Source: yang2024, (62).
    Assumes: nothing.
    Differs from the paper: nothing.
    """
    c = constants
    return c.root_norm * gamma * jnp.sqrt(2 * jnp.asarray(gap) / c.dictionary_size)


@checked
def attended_change_bound(
    constants: RepresentationConstants, key_query_change: Number
) -> Scalar:
    r"""$\lVert b^h_k(\theta)-b^h_k(\theta')\rVert\le2\lVert\bar Z\rVert_2\lVert Q_h-
    Q'_h\rVert_F$, the last norm = `key_query_change`.

    Source: yang2024, Lemma 8, (50).
    Assumes: tokens of norm ≤ 1.
    Differs from the paper: nothing.
    """
    return 2 * constants.root_norm * key_query_change


@checked
def residual_change_bound(
    heads: Natural,
    gamma: Number,
    alpha: Number,
    key_query_change: Number,
    value_change: Number,
) -> Scalar:
    r"""$\lVert\delta_k-\delta'_k\rVert\le2\gamma\sqrt H\alpha\sqrt{\sum_h\lVert Q_h-
    Q'_h\rVert_F^2}+\gamma\sqrt H\lVert\alpha_k-\alpha'_k\rVert$, the two distances =
    `key_query_change` and `value_change`.

    Source: yang2024, Lemma 8, (51).
    Assumes: |α_{h,k}|, |α'_{h,k}| ≤ α, tokens of norm ≤ 1.
    Differs from the paper: nothing.
    """
    scale = gamma * math.sqrt(heads)
    return jnp.asarray(scale * (2 * alpha * key_query_change + value_change))


@checked
def attended_bound(constants: RepresentationConstants) -> Scalar:
    r"""$\lVert b^h_k\rVert\le\lVert\bar Z\rVert_2$.

    Source: yang2024, Lemma 9, (52).
    Assumes: nothing.
    Differs from the paper: nothing.
    """
    return constants.root_norm


@checked
def residual_bound(
    constants: RepresentationConstants, heads: Natural, gamma: Number, alpha: Number
) -> Scalar:
    r"""$\lVert\delta_k\rVert\le\gamma H\alpha+\lVert A\rVert_2$.

    Source: yang2024, Lemma 9, (53).
    Assumes: |α_{h,k}| ≤ α.
    Differs from the paper: nothing.
    """
    return gamma * heads * alpha + constants.optimum_norm


@checked
def value_smoothness_bound(
    constants: RepresentationConstants,
    heads: Natural,
    gamma: Number,
    alpha: Number,
    key_query_change: Number,
    value_change: Number,
) -> Scalar:
    r"""Bound on the change of the gradient in α_k.

    $$\frac{2\gamma}K\lVert\bar Z\rVert_2^2(2\gamma H\alpha+\lVert A\rVert_2)
      \sqrt{\textstyle\sum_h\lVert Q_h-Q'_h\rVert_F^2}+\frac{\gamma^2H}K\lVert\bar Z
      \rVert_2^2\lVert\alpha_k-\alpha'_k\rVert$$

    The two distances = `key_query_change` and `value_change`.

    Source: yang2024, (54); (55) squares and adds these over k.
    Assumes: |α_{h,k}|, |α'_{h,k}| ≤ α, tokens of norm ≤ 1.
    Differs from the paper: nothing.
    """
    c, scale = constants, gamma * heads * alpha
    by_keys = 2 * (2 * scale + c.optimum_norm) * key_query_change
    by_values = gamma * heads * value_change
    return gamma * c.root_norm**2 * (by_keys + by_values) / c.dictionary_size
