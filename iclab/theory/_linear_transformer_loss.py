"""Population loss of linear transformers: exact, by quadrature, and sampled."""

import functools
import itertools

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
    checked,
    is_traced,
    read,
    require,
)
from iclab.theory._expected_trace import LARGEST_DEGREE as LONGEST_WORD, expected_traces
from iclab.theory._weighted_covariances import weighted_covariances
from iclab.theory._wishart_quadrature import LARGEST_DEGREE, wishart_quadrature

_EXACT_LAYERS = LONGEST_WORD // 2


@checked
def linear_transformer_loss(
    A: Float[Array, "k d d"],
    B: Float[Array, "k d d"] | None = None,
    *,
    covariance: SecondMoment,
    weight_covariance: SecondMoment | None = None,
    samples: Natural,
    noise_variance: NonNegative = 0.0,
) -> Float[Array, ""]:
    r"""Exact in-context loss of a linear transformer of one to three layers.

    $$f(A)=\mathbb E_S\operatorname{tr}(\Omega G\Sigma G^\top),\qquad
      G=(I+SA_0)(I+SA_1)\cdots(I+SA_{k-1}),\quad S=\tfrac1n\sum_{i=1}^nx_ix_i^\top$$

    with A_i = `A[i]`, Σ = `covariance` of the inputs, Ω = `weight_covariance` of the
    weights w (default Σ⁻¹) and n = `samples`. The error on the query is wᵀG x_query, so
    f = E(wᵀG x_query)². Expanding G gives words in S and fixed matrices, which
    `expected_trace` averages exactly. Differentiable to any order in A, Σ and Ω.

    Noise of variance σ² = `noise_variance` on the labels adds (σ²/n) E tr(SHΣHᵀ) with
    SH = I − G: the prediction is cᵀHx_query, c = (1/n)Σyᵢxᵢ, and the noise in c has
    covariance σ²S/n. The loss is the distance to ⟨w, x_query⟩, without noise.

    A given `B` (P_i = diag(B_i, 1), see `sampled_transformer_loss`) raises the degree
    in S beyond what is exact here, except with one layer, where it has no effect.

    Source: ahn2023, (5) with the parameters (9); Theorems 3 and 4 are about this loss.
    Assumes: Gaussian inputs, at most three layers.
    Differs from the paper: A_i need not be symmetric; k counts layers, A_0 … A_{k−1};
        labels there have no noise.
    """
    k, Omega = len(A), _prior(covariance, weight_covariance)
    rule = (
        f"of at most {_EXACT_LAYERS} layers to be exact (more: scalar_transformer_loss "
        "for multiples of the inverse covariance, else sampled_transformer_loss)"
    )
    require(k <= _EXACT_LAYERS, "A", rule, f"{k} layers")
    rule = (
        "None to be exact with several layers (scalar_transformer_loss serves "
        "multiples of the identity, sampled_transformer_loss any B)"
    )
    require(B is None or k == 1, "B", rule, f"{k} layers of it")
    noise = None if absent(noise_variance) else noise_variance
    return _averaged_words(A, covariance, Omega, float(samples), noise)


@checked
def scalar_transformer_loss(
    a: Float[Array, " k"],
    b: Float[Array, " k"] | None,
    dimension: Natural,
    samples: Natural,
    *,
    noise_variance: NonNegative = 0.0,
    signal_variance: NonNegative = 1.0,
) -> Float[Array, ""]:
    r"""Exact in-context loss of a linear transformer with A_i = a_i Σ⁻¹, B_i = b_i I.

    $$f=d\int\Big[v\,c_k(h)^2+\frac{\sigma^2}n\,h\,g_k(h)^2\Big]d\mu(h),\qquad
      1-hg_k=c_k,$$

    $$c_{i+1}=c_i\,(1+a_ihs_i^2),\quad s_{i+1}=s_i\,(1+b_ia_ihs_i^2),\quad c_0=s_0=1$$

    with a_i = `a[i]`, b_i = `b[i]` (None: zeros), d = `dimension`, n = `samples` and μ
    the mean spectrum of the whitened sample covariance: c_k is the factor that the
    network leaves on the eigendirection of eigenvalue h. The integrand is a polynomial,
    so `wishart_quadrature` is exact. Differentiable in a and b.

    σ² = `noise_variance` of the labels, 0 in the paper. v = `signal_variance` is 1 for
    w ~ N(0, Σ⁻¹); any prior N(0, Ω) has v = tr(ΩΣ)/d, since E c(S)² is a multiple of I.

    Source: ahn2023, the sets S of Theorems 4 (b = 0) and 5.
    Assumes: Gaussian inputs; any Σ gives this same value.
    Differs from the paper: noise and priors are ours.
    """
    k = len(a)
    degree = 2 * (k if b is None else (3**k - 1) // 2)
    rule = (
        f"of few enough layers for a degree ≤ {LARGEST_DEGREE} in the eigenvalue "
        "(sampled_transformer_loss has no such limit)"
    )
    require(degree <= LARGEST_DEGREE, "a", rule, f"{k} layers, degree {degree}")
    h, weight = wishart_quadrature(dimension, samples, degree)
    signal = dimension * signal_variance
    noise = None if absent(noise_variance) else dimension * noise_variance / samples
    return _integrated(a, b, h, weight, signal, noise)


@jax.jit
def _integrated(
    a: Float[Array, " k"],
    b: Float[Array, " k"] | None,
    h: Float[Array, " m"],
    weight: Float[Array, " m"],
    signal: Number,
    noise: Number | None,
) -> Float[Array, ""]:
    c, g = scalar_filter(a, jnp.zeros_like(a) if b is None else a * b, h)
    loss = signal * jnp.sum(weight * c**2)
    return loss if noise is None else loss + noise * jnp.sum(weight * h * g**2)


@checked
def sampled_transformer_loss(
    A: Float[Array, "k d d"],
    B: Float[Array, "k d d"] | None,
    *,
    covariance: SecondMoment,
    weight_covariance: SecondMoment | None = None,
    samples: Natural,
    noise_variance: NonNegative = 0.0,
    key: Key[Array, ""] | UInt32[Array, "2"],
    draws: Size,
    mixture: Mixture | bool = True,
) -> Estimate:
    r"""In-context loss of any linear transformer of the form (13), with standard error.

    $$f(A,B)=\mathbb E_S\operatorname{tr}(\Omega G\Sigma G^\top),\qquad
      G=\prod_{i=0}^{k-1}(I+SF_i^\top A_iF_i),\quad F_0=I,\quad
      F_{i+1}=F_i+B_iF_iSF_i^\top A_iF_i$$

    with the factors of G in order from left to right, A_i = `A[i]`, B_i = `B[i]` (None:
    zeros), Σ = `covariance`, Ω = `weight_covariance` (default Σ⁻¹) and n = `samples`;
    `noise_variance` of the labels as in `linear_transformer_loss`. The weights w and
    the query are integrated out; only S is drawn, `draws` times, at a cost that does
    not depend on n. Differentiable in A, B, Σ and Ω at fixed `key`.

    `mixture` draws prompts that are rare and carry the loss with many layers (one large
    eigenvalue of S) often, and weights them: see `weighted_covariances`. The result has
    mean, standard error, effective number of draws and largest share of one; fewer than
    100 effective draws are refused. With False S has its plain law, whose means and
    errors are both too small then.

    Source: ahn2023, (5) with the parameters (13).
    Assumes: Gaussian inputs, positive definite Σ.
    Differs from the paper: A_i need not be symmetric; k counts layers.
    """
    require(draws >= 2, "draws", "at least 2 for a standard error", draws)
    loss = functools.partial(
        transformer_loss_given,
        A=A,
        B=B,
        covariance=covariance,
        weight_covariance=_prior(covariance, weight_covariance),
        noise_over_samples=noise_variance / samples,
    )
    drawn = weighted_covariances(
        key,
        covariance,
        samples,
        draws,
        degree=2 * len(A) if B is None else 3 ** len(A) - 1,
        mixture=mixture,
    )
    return drawn.estimate(jax.vmap(loss)(drawn.covariances))


def _prior(
    covariance: Float[Array, "d d"], weight_covariance: Float[Array, "d d"] | None
) -> Float[Array, "d d"]:
    """Ω, which is Σ⁻¹ unless given: only then Σ must have an inverse."""
    if weight_covariance is None:
        return jnp.linalg.inv(read(covariance, Covariance, "covariance"))
    return weight_covariance


@jax.jit
def _averaged_words(
    A: Float[Array, "k d d"],
    Sigma: Float[Array, "d d"],
    Omega: Float[Array, "d d"],
    n: Float[Array, ""],
    noise_variance: Number | None,
) -> Float[Array, ""]:
    k, d, _ = A.shape
    # Every matrix that a word may hold: A_u, A_uᵀ, A_uΣA_vᵀ, A_uΣΩ, Ω.
    pairs = jnp.einsum("uij,jk,vlk->uvil", A, Sigma, A).reshape(k * k, d, d)
    letters = jnp.concatenate([A, A.mT, pairs, A @ (Sigma @ Omega), Omega[None]])
    total = jnp.trace(Omega @ Sigma)
    for words, times in _words_by_degree(k):
        total = total + times @ expected_traces(letters[words], Sigma, n)
    if noise_variance is None:
        return total
    for words, times in _noise_words_by_degree(k):
        power = times @ expected_traces(letters[words], Sigma, n)
        total = total + noise_variance / n * power
    return total


@functools.cache
def _words_by_degree(k: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Words of tr(ΩGΣGᵀ) as places among the letters, and how often each occurs.

    G takes S A_u for the layers u of a set U and Gᵀ takes A_vᵀ S for those of a set V:
    tr(Ω ∏_U (S A_u) Σ ∏_V (A_vᵀ S)), V backwards, read from the first S on. (V, U) is
    the transpose of (U, V), so each unordered pair stands once, the longer set first.
    """
    transposed, pair, last, Omega = k, 2 * k, 2 * k + k * k, 3 * k + k * k
    sets = [U for j in range(k, -1, -1) for U in itertools.combinations(range(k), j)]
    by_degree = [([], []) for _ in range(2 * k)]
    for U, V in itertools.combinations_with_replacement(sets, 2):
        if not U:
            continue  # the constant tr(ΩΣ)
        word = [*U[:-1], last + U[-1]]
        if V:
            middle = pair + k * U[-1] + V[-1]
            word = [*U[:-1], middle, *(transposed + v for v in V[-2::-1]), Omega]
        words, times = by_degree[len(U) + len(V) - 1]
        words.append(word)
        times.append(1.0 if U == V else 2.0)
    return [(np.array(words), np.array(times)) for words, times in by_degree]


@functools.cache
def _noise_words_by_degree(k: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Words of tr(SHΣHᵀ) with SH = I − G: H is minus the sum of A_{u₁} S A_{u₂} S ⋯.

    They are those of `_words_by_degree` that end in Ω, without it: U and V not empty.
    """
    Omega = 3 * k + k * k
    some = [
        (words, times, words[:, -1] == Omega) for words, times in _words_by_degree(k)
    ]
    return [(words[both, :-1], times[both]) for words, times, both in some[1:]]


def absent(noise_variance: object) -> bool:
    """Whether there is known to be no noise, and nothing need be computed for it."""
    return not is_traced(noise_variance) and float(np.asarray(noise_variance)) == 0.0


@jax.jit
def scalar_filter(
    a: Float[Array, " k"], beta: Float[Array, " l"], h: Float[Array, " m"]
) -> tuple[Float[Array, " m"], Float[Array, " m"]]:
    """c(h) and g(h) = (1 − c)/h of `scalar_transformer_loss`, with β_i = a_i b_i.

    The last β is not used, and nothing is divided by h.
    """
    c, s, g = jnp.ones_like(h), jnp.ones_like(h), jnp.zeros_like(h)
    for i in range(a.shape[0]):
        g = g - a[i] * c * s**2
        c = c * (1 + a[i] * h * s**2)
        if i < a.shape[0] - 1:
            s = s * (1 + beta[i] * h * s**2)
    return c, g


@checked
def transformer_loss_given(
    sample_covariance: SecondMoment,
    A: Float[Array, "k d d"],
    B: Float[Array, "k d d"] | None,
    *,
    covariance: SecondMoment,
    weight_covariance: SecondMoment,
    noise_over_samples: Number = 0.0,
) -> Float[Array, ""]:
    r"""Loss on prompts with a given sample covariance, tr(ΩGΣGᵀ) + (σ²/n) tr(SHΣHᵀ).

    G, A, B, Σ, Ω as in `sampled_transformer_loss`, S = `sample_covariance`, SH = I − G
    and σ²/n = `noise_over_samples`: the mean over S is the in-context loss. Inside
    `vmap` or `jit` values are not checked: it can be mapped over millions of draws.

    Source: ahn2023, (5) with the parameters (13), w and the query integrated out.
    Assumes: E w wᵀ = Ω, E x_q x_qᵀ = Σ.
    Differs from the paper: A_i need not be symmetric; k counts layers; noise is ours.
    """
    S, Sigma, Omega = sample_covariance, covariance, weight_covariance
    G = F = jnp.eye(S.shape[0], dtype=S.dtype)
    H, noisy = jnp.zeros_like(G), not absent(noise_over_samples)
    for i in range(A.shape[0]):
        step = S @ F.T @ A[i] @ F
        if noisy:
            H = H - F.T @ A[i] @ F + H @ step
        G = G + G @ step
        if B is not None:
            F = F + B[i] @ F @ step
    loss = jnp.sum((Omega @ G) * (G @ Sigma))
    if noisy:
        loss = loss + noise_over_samples * jnp.sum((S @ H) * (H @ Sigma))
    return loss
