"""Population loss of looped linear transformers: exact, sampled, and as printed."""

import functools
import math
from typing import Annotated, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, UInt32

from iclab.core import (
    Covariance,
    Estimate,
    Mixture,
    Natural,
    NonNegative,
    Number,
    SecondMoment,
    Size,
    Symmetric,
    between,
    checked,
    is_traced,
    require,
)
from iclab.theory._expected_trace import LARGEST_DEGREE, expected_trace, expected_traces
from iclab.theory._linear_transformer_loss import absent, scalar_filter
from iclab.theory._weighted_covariances import LossOnDraws, weighted_covariances
from iclab.theory._wishart_quadrature import wishart_quadrature

_EXACT_LOOPS = LARGEST_DEGREE // 2
Loops = Annotated[int, between(1, 64)]


@checked
def looped_loss(
    A: Float[Array, "d d"],
    u: Float[Array, " d"] | None = None,
    *,
    covariance: Covariance,
    weight_covariance: SecondMoment | None = None,
    samples: Natural,
    loops: Loops,
    noise_variance: NonNegative = 0.0,
) -> Float[Array, ""]:
    r"""Exact in-context loss of one linear attention layer applied L times.

    $$L(A,u)=\mathbb E\operatorname{tr}(\Omega G\Sigma_\star G^\top)
      +\mathbb E\,u^\top(I-G)\Sigma_\star(I-G)^\top u
      +\tfrac{\sigma^2}n\,\mathbb E\operatorname{tr}(SH\Sigma_\star H^\top),$$

    $$G=(I-SA)^L=I-SH,\quad S=\tfrac1n\sum_{i=1}^nx_ix_i^\top$$

    with A and u (None: zeros) the weights of Section 3.5, Σ⋆ = `covariance`, Ω =
    `weight_covariance` of w (default Σ⋆⁻¹), n = `samples`, L = `loops` and σ² =
    `noise_variance` of the labels (the loss is the distance to ⟨w, x_q⟩, without it).
    Multiples of Σ⋆⁻¹ are exact by quadrature up to 64 loops, any other A by averaging
    words in S up to three (`expected_trace`); beyond, `sampled_looped_loss` serves.
    Differentiable in A, u and Σ⋆; a traced A counts as any other A.

    Source: gatmiry2024, Lemma A.3 as corrected: Σ⋆ stands where Σ is printed.
    Assumes: w of mean 0 and covariance Ω, Gaussian inputs.
    Differs from the paper: Lemma 4.1 is this only for multiples of Σ⋆⁻¹; A need not be
        symmetric; there Ω = Σ⋆⁻¹ and σ = 0.
    """
    Sigma, Omega, n, L, d = covariance, weight_covariance, samples, loops, len(A)
    u = jnp.zeros(d) if u is None else u
    step = _multiple_of_inverse(A, Sigma)
    if step is not None:
        h, weight = wishart_quadrature(d, n, 2 * L)
        noise = None if absent(noise_variance) else d * noise_variance / n
        return _integrated(step, u, Sigma, Omega, h, weight, noise, L)
    rule = (
        f"at most {_EXACT_LOOPS} to be exact for matrices that are not multiples of "
        "the inverse covariance (sampled_looped_loss has no such limit)"
    )
    require(L <= _EXACT_LOOPS, "loops", rule, L)
    Omega = jnp.linalg.inv(Sigma) if Omega is None else Omega
    loss = _averaged_words(A, u, Sigma, Omega, float(n), L)
    if absent(noise_variance):
        return loss
    return loss + noise_variance / n * _averaged_noise_words(A, Sigma, float(n), L)


@checked
def looped_loss_lemma_4_1(
    A: Symmetric,
    *,
    covariance: Covariance,
    samples: Natural,
    loops: Annotated[int, between(1, _EXACT_LOOPS)],
) -> Float[Array, ""]:
    r"""The expression that Lemma 4.1 gives for the loss, which is not the loss.

    $$\mathbb E\operatorname{tr}\big(I-A^{1/2}SA^{1/2}\big)^{2L}
      =\sum_{j=0}^{2L}\binom{2L}j(-1)^j\,\mathbb E\operatorname{tr}(SA)^j
      \;\le\;L(A,0)$$

    with equality if and only if A is a multiple of Σ⋆⁻¹; arguments as in
    `looped_loss`.

    Source: gatmiry2024, Lemma 4.1 and Corollary A.4, as printed.
    Assumes: symmetric A (positive semi-definite for the root to be real), L ≤ 3.
    Differs from the paper: nothing; it is the paper that differs from the loss.
    """
    L, d = loops, len(A)
    total = jnp.asarray(float(d))
    for j in range(1, 2 * L + 1):
        power = expected_trace(jnp.broadcast_to(A, (j, d, d)), covariance, samples)
        total = total + math.comb(2 * L, j) * (-1.0) ** j * power
    return total


@checked
def sampled_looped_loss(
    A: Float[Array, "d d"],
    u: Float[Array, " d"] | None = None,
    *,
    covariance: Covariance,
    weight_covariance: SecondMoment | None = None,
    samples: Natural,
    loops: Natural,
    noise_variance: NonNegative = 0.0,
    key: Key[Array, ""] | UInt32[Array, "2"],
    draws: Size,
    mixture: Mixture | bool = True,
) -> Estimate:
    """The loss of `looped_loss` for any A and any number of loops, with standard error.

    The task and the query are integrated out; only S is drawn, `draws` times, at a cost
    that does not depend on n.

    `mixture` draws prompts that are rare and carry the loss with many loops (one large
    eigenvalue of S) often, and weights them: see `weighted_covariances`. The result has
    mean, standard error, effective number of draws and largest share of one; fewer than
    100 effective draws are refused. With False S has its plain law, whose means and
    errors are both too small then.

    Source: gatmiry2024, Lemma A.3 as corrected.
    Assumes: as `looped_loss`.
    Differs from the paper: as `looped_loss`.
    """
    require(draws >= 2, "draws", "at least 2 for a standard error", draws)
    loss = looped_loss_on_draws(
        covariance=covariance,
        weight_covariance=weight_covariance,
        samples=samples,
        loops=loops,
        noise_variance=noise_variance,
        key=key,
        draws=draws,
        mixture=mixture,
    )
    return loss.estimate((A, jnp.zeros(len(A)) if u is None else u))


@checked
def looped_loss_on_draws(
    *,
    covariance: Covariance,
    weight_covariance: SecondMoment | None = None,
    samples: Natural,
    loops: Natural,
    noise_variance: NonNegative = 0.0,
    key: Key[Array, ""] | UInt32[Array, "2"],
    draws: Size,
    mixture: Mixture | bool = True,
) -> LossOnDraws:
    """The loss of `looped_loss` as a function of A, or of (A, u), to train on.

    Any A and any number of loops: the mean over draws of S that stay the same, so that
    it is smooth. Judge the result on other draws, by `sampled_looped_loss` with another
    `key`; arguments are its arguments.

    ```python
    loss = looped_loss_on_draws(
        covariance=jnp.eye(5), samples=20, loops=10, key=key, draws=10_000
    )
    slope = jax.grad(loss)(0.5 * jnp.eye(5))
    ```

    Source: gatmiry2024, Lemma A.3 as corrected.
    Assumes: as `looped_loss`.
    Differs from the paper: as `looped_loss`.
    """
    drawn = weighted_covariances(
        key, covariance, samples, draws, degree=2 * loops, mixture=mixture
    )
    Sigma, Omega = covariance, weight_covariance
    given = eqx.Partial(
        _given_weights,
        covariance=Sigma,
        loops=loops,
        weight_covariance=jnp.linalg.inv(Sigma) if Omega is None else Omega,
        noise_over_samples=noise_variance / samples,
    )
    return LossOnDraws(drawn, given)


def _given_weights(
    S: Float[Array, "d d"],
    weights: Float[Array, "d d"] | tuple[Float[Array, "d d"], Float[Array, " d"]],
    **prompts: Any,
) -> Float[Array, ""]:
    A, u = weights if isinstance(weights, tuple) else (weights, jnp.zeros(len(S)))
    return looped_loss_given(S, A, u, **prompts)


@checked
def looped_loss_given(
    sample_covariance: Float[Array, "d d"],
    A: Float[Array, "d d"],
    u: Float[Array, " d"],
    covariance: Float[Array, "d d"],
    loops: Natural,
    *,
    weight_covariance: Float[Array, "d d"] | None = None,
    noise_over_samples: Number = 0.0,
) -> Float[Array, ""]:
    """Loss on prompts with sample covariance S: the mean over S is `looped_loss`.

    Ω = `weight_covariance` (default Σ⋆⁻¹), σ²/n = `noise_over_samples`. Values are not
    checked, so that it can be mapped over millions of draws.

    Source: gatmiry2024, Lemma A.3 as corrected, before the mean over X.
    Assumes: E w wᵀ = Ω, E x_q x_qᵀ = Σ⋆.
    Differs from the paper: as `looped_loss`.
    """
    S, Sigma = sample_covariance, covariance
    identity = jnp.eye(S.shape[0], dtype=S.dtype)
    G = jnp.linalg.matrix_power(identity - S @ A, loops)
    v = u @ (identity - G)
    if weight_covariance is None:
        weighted = jnp.linalg.solve(Sigma, G)
    else:
        weighted = weight_covariance @ G
    loss = jnp.sum(weighted * (G @ Sigma)) + v @ Sigma @ v
    if absent(noise_over_samples):
        return loss
    # H = A Σ_{j<L} (I − SA)ʲ, and S H = I − G.
    H, power = A, A
    for _ in range(loops - 1):
        power = power - power @ S @ A
        H = H + power
    return loss + noise_over_samples * jnp.sum((S @ H) * (H @ Sigma))


@checked
def loss_by_test_loops(
    step: Number,
    dimension: Natural,
    samples: Natural,
    loops: Loops,
    *,
    noise_variance: NonNegative = 0.0,
) -> Float[Array, " loops"]:
    r"""Exact loss of A = a Σ⋆⁻¹ after 1, 2, …, L loops.

    $$d\int\Big[(1-ah)^{2\ell}+\frac{\sigma^2}n\,h\,g_\ell(h)^2\Big]d\mu(h),\qquad
      hg_\ell(h)=1-(1-ah)^\ell,\quad\ell=1,\dots,L$$

    with a = `step`, d = `dimension`, n = `samples`, L = `loops`, σ² = `noise_variance`
    of the labels and μ the mean spectrum of the whitened sample covariance. The best
    step for few loops diverges when looped for long, since now and then an eigenvalue
    exceeds 2/a. Differentiable in `step`.

    ```python
    step, _ = looped_optimum(dimension=5, samples=20, loops=2)
    losses = loss_by_test_loops(step, dimension=5, samples=20, loops=10)
    ```

    Source: gatmiry2024, Section 5.3, whose curves these are in expectation.
    Assumes: w ~ N(0, Σ⋆⁻¹), Gaussian inputs; any Σ⋆ gives these values; L ≤ 64.
    Differs from the paper: the paper shows sampled losses, of labels without noise.
    """
    d, n, L = dimension, samples, loops
    h, weight = wishart_quadrature(d, n, 2 * L)
    noise = None if absent(noise_variance) else noise_variance / n
    return d * _by_loops(step, h, weight, noise, L)


@functools.partial(jax.jit, static_argnames="L")
def _by_loops(
    step: Number,
    h: Float[Array, " m"],
    weight: Float[Array, " m"],
    noise: Number | None,
    L: int,
) -> Float[Array, " L"]:
    left = jnp.cumprod(jnp.broadcast_to(1 - step * h, (L, len(h))), axis=0)
    losses = left**2 @ weight
    if noise is None:
        return losses
    before = jnp.concatenate([jnp.ones((1, len(h))), left[:-1]])
    g = step * jnp.cumsum(before, axis=0)  # a Σ_{j<ℓ} (1 − ah)ʲ, also where h = 0
    return losses + noise * (h[None] * g**2 @ weight)


@functools.partial(jax.jit, static_argnames="L")
def _integrated(
    step: Number,
    u: Float[Array, " d"],
    Sigma: Float[Array, "d d"],
    prior: Float[Array, "d d"] | None,
    h: Float[Array, " m"],
    weight: Float[Array, " m"],
    noise: Number | None,
    L: int,
) -> Float[Array, ""]:
    """The loss of A = a Σ⋆⁻¹ as an integral over the eigenvalue h."""
    c = (1 - step * h) ** L
    # E c(S)² is a multiple of I once whitened, so that Ω enters by its trace.
    signal = len(u) if prior is None else jnp.trace(prior @ Sigma)
    loss = signal * weight @ c**2 + (u @ Sigma @ u) * (weight @ (1 - c) ** 2)
    if noise is None:
        return loss
    _, g = scalar_filter(jnp.full(L, -step), jnp.zeros(L), h)
    return loss + noise * (weight @ (h * g**2))


@functools.partial(jax.jit, static_argnames="L")
def _averaged_words(
    A: Float[Array, "d d"],
    u: Float[Array, " d"],
    Sigma: Float[Array, "d d"],
    prior: Float[Array, "d d"],
    n: Float[Array, ""],
    L: int,
) -> Float[Array, ""]:
    """The loss with G = Σ_j C(L,j)(−SA)ʲ multiplied out, word by word."""
    outer = jnp.outer(u, u)
    # E w wᵀ + u uᵀ in place of E w wᵀ collects all that is quadratic in G; of
    # uᵀ(I − G)Σ⋆(I − G)ᵀu there is uᵀΣ⋆u − 2uᵀGΣ⋆u besides.
    Omega = prior + outer
    middle = A @ Sigma @ A.T
    total = jnp.trace(Omega @ Sigma) - u @ Sigma @ u
    for degree in range(1, 2 * L + 1):
        words, times = [], []
        for j in range(max(0, degree - L), degree // 2 + 1):
            i = degree - j  # (SA)ⁱ from G and (AᵀS)ʲ from Gᵀ; (j, i) is its transpose
            if j == 0:
                words.append([*[A] * (i - 1), A @ Sigma @ (Omega - outer)])
            else:
                words.append([*[A] * (i - 1), middle, *[A.T] * (j - 1), Omega])
            sign = (-1) ** degree * (1 if i == j else 2)
            times.append(sign * math.comb(L, i) * math.comb(L, j))
        stacked = jnp.stack([jnp.stack(word) for word in words])
        total = total + jnp.array(times, float) @ expected_traces(stacked, Sigma, n)
    return total


@functools.partial(jax.jit, static_argnames="L")
def _averaged_noise_words(
    A: Float[Array, "d d"], Sigma: Float[Array, "d d"], n: Float[Array, ""], L: int
) -> Float[Array, ""]:
    """E tr(SHΣ⋆Hᵀ) with H = Σ_j C(L,j)(−1)ʲ⁺¹A(SA)ʲ⁻¹ multiplied out."""
    middle, total = A @ Sigma @ A.T, jnp.zeros(())
    for i in range(1, L + 1):
        for j in range(1, i + 1):
            word = jnp.stack([*[A] * (i - 1), middle, *[A.T] * (j - 1)])[None]
            times = (-1) ** (i + j) * math.comb(L, i) * math.comb(L, j)
            times *= 1 if i == j else 2
            total = total + times * expected_traces(word, Sigma, n)[0]
    return total


def _multiple_of_inverse(
    A: Float[Array, "d d"], Sigma: Float[Array, "d d"]
) -> float | None:
    """The number a with A = a Σ⋆⁻¹ up to round-off, if there is one and it is known."""
    if is_traced(A) or is_traced(Sigma):
        return None
    product = np.asarray(A) @ np.asarray(Sigma)
    d = product.shape[0]
    step = float(np.trace(product)) / d
    round_off = 8 * d * np.finfo(float).eps * float(np.linalg.cond(Sigma))
    gap = float(np.max(np.abs(product - step * np.eye(d))))
    return step if gap <= round_off * abs(step) else None
