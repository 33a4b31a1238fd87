"""Population loss of looped linear transformers: exact, sampled, and as printed."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, UInt32

from iclab.core import (
    covariance_matrix,
    finite_array,
    finite_number,
    is_traced,
    positive_integer,
    require,
    square_matrix,
    symmetric_matrix,
)
from iclab.theory._expected_trace import LARGEST_DEGREE, expected_trace
from iclab.theory._wishart_quadrature import wishart_quadrature
from iclab.theory._wishart_samples import wishart_samples

_EXACT_LOOPS = LARGEST_DEGREE // 2
MOST_LOOPS = 64


def looped_loss(
    A: Float[Array, "d d"],
    u: Float[Array, " d"] | None = None,
    *,
    covariance: Float[Array, "d d"],
    samples: int,
    loops: int,
) -> Float[Array, ""]:
    r"""Exact in-context loss of one linear attention layer applied L times.

    $$L(A,u)=\mathbb E\operatorname{tr}(\Sigma_\star^{-1}G\Sigma_\star G^\top)
      +\mathbb E\,u^\top(I-G)\Sigma_\star(I-G)^\top u,\qquad
      G=(I-SA)^L,\quad S=\tfrac1n\sum_{i=1}^nx_ix_i^\top$$

    with A and u (None: zeros) the weights of Section 3.5, Σ⋆ = `covariance`,
    n = `samples` and L = `loops`. Multiples of Σ⋆⁻¹ are exact by quadrature up to 64
    loops, any other A by averaging words in S up to three (`expected_trace`); beyond,
    `sampled_looped_loss` serves. Differentiable in A, u and Σ⋆; a traced A counts as
    any other A.

    Source: gatmiry2024, Lemma A.3 as corrected: Σ⋆ stands where Σ is printed.
    Assumes: w ~ N(0, Σ⋆⁻¹), Gaussian inputs, noiseless labels.
    Differs from the paper: Lemma 4.1 is this only for multiples of Σ⋆⁻¹; A need not be
        symmetric.
    """
    owner = "looped_loss"
    A, u, Sigma = _weights(owner, A, u, covariance)
    n, L = _sizes(owner, samples, loops)
    d = A.shape[0]
    step = _multiple_of_inverse(A, Sigma)
    if step is not None:
        h, weight = wishart_quadrature(d, n, 2 * L)
        c = (1 - step * h) ** L
        return d * weight @ c**2 + (u @ Sigma @ u) * (weight @ (1 - c) ** 2)
    rule = (
        f"at most {_EXACT_LOOPS} to be exact for matrices that are not multiples of "
        "the inverse covariance (sampled_looped_loss has no such limit)"
    )
    require(L <= _EXACT_LOOPS, owner, "loops", rule, L)
    return _averaged_words(A, u, Sigma, n, L)


def looped_loss_lemma_4_1(
    A: Float[Array, "d d"],
    *,
    covariance: Float[Array, "d d"],
    samples: int,
    loops: int,
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
    owner = "looped_loss_lemma_4_1"
    A, _, Sigma = _weights(owner, A, None, covariance)
    A = symmetric_matrix(A, owner, "A")
    n, L = _sizes(owner, samples, loops)
    require(L <= _EXACT_LOOPS, owner, "loops", f"at most {_EXACT_LOOPS}", L)
    d = A.shape[0]
    total = jnp.asarray(float(d))
    for j in range(1, 2 * L + 1):
        power = expected_trace(jnp.broadcast_to(A, (j, d, d)), Sigma, n)
        total = total + math.comb(2 * L, j) * (-1.0) ** j * power
    return total


def sampled_looped_loss(
    A: Float[Array, "d d"],
    u: Float[Array, " d"] | None = None,
    *,
    covariance: Float[Array, "d d"],
    samples: int,
    loops: int,
    key: Key[Array, ""] | UInt32[Array, "2"],
    draws: int,
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """The loss of `looped_loss` for any A and any number of loops, with standard error.

    The task and the query are integrated out; only S is drawn, `draws` times, at a cost
    that does not depend on n. With many loops rare prompts may carry the loss (some
    eigenvalue of SA beyond 2), and then the standard error is too small as well.

    Source: gatmiry2024, Lemma A.3 as corrected.
    Assumes: w ~ N(0, Σ⋆⁻¹), Gaussian inputs, noiseless labels.
    Differs from the paper: as `looped_loss`.
    """
    owner = "sampled_looped_loss"
    A, u, Sigma = _weights(owner, A, u, covariance)
    n = positive_integer(samples, owner, "samples")
    L = positive_integer(loops, owner, "loops")
    draws = positive_integer(draws, owner, "draws")
    require(draws >= 2, owner, "draws", "at least 2 for a standard error", draws)
    S = wishart_samples(key, Sigma, n, (draws,))
    losses = jax.vmap(lambda one: looped_loss_given(one, A, u, Sigma, L))(S)
    return jnp.mean(losses), jnp.std(losses, ddof=1) / jnp.sqrt(draws)


def looped_loss_given(
    sample_covariance: Float[Array, "d d"],
    A: Float[Array, "d d"],
    u: Float[Array, " d"],
    covariance: Float[Array, "d d"],
    loops: int,
) -> Float[Array, ""]:
    """Loss on prompts with sample covariance S: the mean over S is `looped_loss`.

    Values are not checked, so that it can be mapped over millions of draws.

    Source: gatmiry2024, Lemma A.3 as corrected, before the mean over X.
    Assumes: w ~ N(0, Σ⋆⁻¹), E x_q x_qᵀ = Σ⋆.
    Differs from the paper: as `looped_loss`.
    """
    S, Sigma = sample_covariance, covariance
    identity = jnp.eye(S.shape[0], dtype=S.dtype)
    G = jnp.linalg.matrix_power(identity - S @ A, loops)
    v = u @ (identity - G)
    return jnp.sum(jnp.linalg.solve(Sigma, G) * (G @ Sigma)) + v @ Sigma @ v


def loss_by_test_loops(
    step: Float[Array, ""] | float | int, dimension: int, samples: int, loops: int
) -> Float[Array, " loops"]:
    r"""Exact loss of A = a Σ⋆⁻¹ after 1, 2, …, L loops.

    $$d\int(1-ah)^{2\ell}\,d\mu(h),\qquad\ell=1,\dots,L$$

    with a = `step`, d = `dimension`, n = `samples`, L = `loops` and μ the mean spectrum
    of the whitened sample covariance. The best step for few loops diverges when looped
    for long, since now and then an eigenvalue exceeds 2/a. Differentiable in `step`.

    Source: gatmiry2024, Section 5.3, whose curves these are in expectation.
    Assumes: w ~ N(0, Σ⋆⁻¹), Gaussian inputs; any Σ⋆ gives these values; L ≤ 64.
    Differs from the paper: the paper shows sampled losses.
    """
    owner = "loss_by_test_loops"
    finite_number(step, owner, "step")
    d = positive_integer(dimension, owner, "dimension")
    n, L = _sizes(owner, samples, loops)
    h, weight = wishart_quadrature(d, n, 2 * L)
    factor = (1 - step * h) ** 2
    return d * jnp.cumprod(jnp.broadcast_to(factor, (L, len(h))), axis=0) @ weight


def _averaged_words(
    A: Float[Array, "d d"],
    u: Float[Array, " d"],
    Sigma: Float[Array, "d d"],
    n: int,
    L: int,
) -> Float[Array, ""]:
    """The loss with G = Σ_j C(L,j)(−SA)ʲ multiplied out, word by word."""
    outer = jnp.outer(u, u)
    # E w wᵀ + u uᵀ in place of E w wᵀ collects all that is quadratic in G; of
    # uᵀ(I − G)Σ⋆(I − G)ᵀu there is uᵀΣ⋆u − 2uᵀGΣ⋆u besides.
    Omega = jnp.linalg.inv(Sigma) + outer
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
        total = total + jnp.array(times, float) @ expected_trace(stacked, Sigma, n)
    return total


def _sizes(owner: str, samples: object, loops: object) -> tuple[int, int]:
    n = positive_integer(samples, owner, "samples")
    L = positive_integer(loops, owner, "loops")
    require(L <= MOST_LOOPS, owner, "loops", f"at most {MOST_LOOPS}", L)
    return n, L


def _weights(
    owner: str, A: object, u: object, covariance: object
) -> tuple[Float[Array, "d d"], Float[Array, " d"], Float[Array, "d d"]]:
    with jax.ensure_compile_time_eval():  # a constant is checked even inside `jit`
        Sigma = covariance_matrix(covariance, owner)
        d = Sigma.shape[0]
        A = square_matrix(A, owner, "A", dimension=d)
        u = jnp.zeros(d) if u is None else jnp.asarray(u)
        require(
            u.shape == (d,), owner, "u", f"a vector of length {d}", f"shape {u.shape}"
        )
        finite_array(u, owner, "u")
    return A, u, Sigma


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
