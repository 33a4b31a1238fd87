"""Exact test error of one preconditioned gradient step, under any shift."""

import math
from collections.abc import Callable
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from iclab.core import (
    Covariance,
    NonNegative,
    PositiveFloat,
    Rule,
    SecondMoment,
    checked,
    is_traced,
    refuse,
    require,
)

# One length of a prompt, or an array of them: results have its shape.
_Lengths = Annotated[
    int | Int[Array, "..."],
    Rule(
        "an integer ≥ 1",
        lambda n: np.all(np.asarray(n) >= 1),
        found=lambda n: str(np.min(np.asarray(n))),
    ),
    Rule("an integer below 2⁶³", lambda n: np.all(np.asarray(n) < 2**63)),
]

# A linear label's best risk is 0, but its computed value may lie this far below,
# relative to the label's power; further below, the moments contradict each other.
_ROUND_OFF = 1e-8


@checked(jit=True)
def lsa_risk(
    preconditioner: Float[Array, "d d"],
    covariance: SecondMoment,
    examples: _Lengths,
    *,
    query_covariance: SecondMoment | None = None,
    weight: Float[Array, " d"] | None = None,
    weight_covariance: SecondMoment | None = None,
    noise_variance: NonNegative = 0.0,
) -> Float[Array, "..."]:
    r"""Exact expected squared error of $\hat y=x_q^\top P\,\frac1M\sum_iy_ix_i$.

    $$\mathbb E(\hat y-w^\top x_q)^2=\operatorname{tr}\big(\Omega\,\mathbb E[
      (P\hat\Lambda-I)^\top Q(P\hat\Lambda-I)]\big)
      +\tfrac{\sigma^2}M\operatorname{tr}(P\Lambda P^\top Q)$$

    with P = `preconditioner`, Λ = `covariance` of the examples, M = `examples` (an
    array of lengths gives an array of risks),
    Q = `query_covariance` (default Λ), σ² = `noise_variance` on the examples' labels,
    and Ω = wwᵀ of a fixed `weight` or `weight_covariance` of a random one (default I).
    $\mathbb E[\hat\Lambda K\hat\Lambda]=\Lambda K\Lambda+\frac1M(\Lambda K\Lambda
    +\operatorname{tr}(K\Lambda)\Lambda)$ for symmetric K does the rest.

    ```python
    trained_on = jnp.diag(jnp.array([1.0, 0.5, 2.0]))
    P = optimal_preconditioner(trained_on, context_length=20)
    lsa_risk(P, jnp.eye(3), examples=10, noise_variance=0.25)   # on other inputs
    ```

    Source: zhang2023, Theorem 4.2 for linear labels; any P and any shift is ours.
    Assumes: x_i ~ N(0, Λ), x_q has mean zero and is independent of the examples,
    y_i = ⟨w, x_i⟩ + noise.
    Differs from the paper: the target ⟨w, x_q⟩ has no noise; add σ² for a noisy one.
    """
    P, Lambda = preconditioner, covariance
    Q = Lambda if query_covariance is None else query_covariance
    if weight is not None and weight_covariance is not None:
        refuse("give `weight` (fixed) or `weight_covariance` (random), not both")
    Omega = jnp.eye(len(P)) if weight_covariance is None else weight_covariance
    if weight is not None:
        Omega = jnp.outer(weight, weight)
    K = P.T @ Q @ P
    LKL = Lambda @ K @ Lambda
    power = jnp.trace(K @ Lambda)
    limit = jnp.trace(Omega @ (LKL - 2 * Q @ P @ Lambda + Q))
    spread = jnp.trace(Omega @ (LKL + power * Lambda)) + noise_variance * power
    return limit + spread / jnp.asarray(examples, float)


@checked
def best_linear_risk(
    covariance: Covariance,
    cross_moment: Float[Array, " d"],
    label_second_moment: NonNegative,
) -> Float[Array, ""]:
    r"""Error of the best linear predictor, $\mathbb Ey^2-b^\top\Lambda^{-1}b$.

    Λ = `covariance`, b = `cross_moment` = E[xy], E y² = `label_second_moment`.

    Source: zhang2023, first term of (4.6).
    Assumes: x ~ N(0, Λ) or any law with that second moment; E y² < ∞.
    Differs from the paper: it forgets the last hypothesis.
    """
    b = cross_moment
    explained = b @ jnp.linalg.solve(covariance, b)
    risk = label_second_moment - explained
    if not is_traced(risk):
        rule = f"≥ bᵀΛ⁻¹b = {float(explained):.6g} of `cross_moment` b"
        holds = float(risk) >= -_ROUND_OFF * float(explained)
        require(holds, "label_second_moment", rule, label_second_moment)
    return jnp.maximum(risk, 0)


@checked
def nonlinear_risk(
    best_weight: Float[Array, " d"],
    label_covariance: SecondMoment,
    best_risk: NonNegative,
    covariance: Covariance,
    context_length: _Lengths,
    examples: _Lengths,
) -> Float[Array, "..."]:
    r"""Exact risk of the trained model on prompts with arbitrary labels.

    $$\min_w\mathbb E(\langle w,x\rangle-y)^2+\tfrac1M\operatorname{tr}
      [\Sigma\Gamma^{-2}\Lambda]
      +\tfrac1{N^2}\big[\lVert a\rVert^2_{\Gamma^{-2}\Lambda^3}
      +2\operatorname{tr}(\Lambda)\lVert a\rVert^2_{\Gamma^{-2}\Lambda^2}
      +\operatorname{tr}(\Lambda)^2\lVert a\rVert^2_{\Gamma^{-2}\Lambda}\big]$$

    with a = `best_weight` = Λ⁻¹E[xy], Σ = `label_covariance` = Cov(xy), the minimum =
    `best_risk`, Λ = `covariance`, N = `context_length` in training, M = `examples`
    (numbers, or arrays that broadcast).

    Source: zhang2023, Theorem 4.2, (4.6).
    Assumes: training as in `optimal_preconditioner`; test pairs (x, y) independent,
    x ~ N(0, Λ), E y² and E[y²xxᵀ] finite.
    Differs from the paper: E y² < ∞ is assumed, without which the first term is ∞.
    """
    a, Sigma, Lambda = best_weight, label_covariance, covariance
    trace = jnp.trace(Lambda)

    def risk(N: Array, M: Array) -> Array:
        inverse = jnp.linalg.inv(
            (1 + 1 / N) * Lambda + trace / N * jnp.eye(len(Lambda))
        )
        G = inverse @ inverse @ Lambda
        length = (
            a @ G @ Lambda @ Lambda @ a
            + 2 * trace * (a @ G @ Lambda @ a)
            + trace**2 * (a @ G @ a)
        )
        return best_risk + jnp.trace(Sigma @ G) / M + length / N**2

    return _over_lengths(risk, context_length, examples)


@checked
def linear_label_covariance(
    covariance: SecondMoment,
    weight: Float[Array, " d"],
    noise_variance: NonNegative = 0.0,
) -> Float[Array, "d d"]:
    r"""Cov(xy) for linear labels, $(\lVert w\rVert_\Lambda^2+\sigma^2)\Lambda
    +\Lambda ww^\top\Lambda$, with Λ = `covariance`, w = `weight`,
    σ² = `noise_variance`.

    Source: zhang2023, display after Theorem 4.2.
    Assumes: x ~ N(0, Λ), noise independent of x.
    Differs from the paper: noise is added.
    """
    Lw = covariance @ weight
    return (weight @ Lw + noise_variance) * covariance + jnp.outer(Lw, Lw)


@checked
def lsa_risk_bound(
    covariance: Covariance,
    context_length: _Lengths,
    examples: _Lengths,
    weight: Float[Array, " d"] | None = None,
) -> Float[Array, "..."]:
    r"""Upper bound on the trained model's risk on noiseless linear prompts.

    $$\tfrac{d+1}M\lVert w\rVert_\Lambda^2+\tfrac1{N^2}\big[\lVert w\rVert_\Lambda^2
      +2\lVert w\rVert^2\operatorname{tr}\Lambda+\lVert w\rVert_{\Lambda^{-1}}^2
      (\operatorname{tr}\Lambda)^2\big]$$

    for a fixed `weight` w, and for w ~ N(0, I) with κ the condition number of Λ

    $$\tfrac{(d+1)\operatorname{tr}\Lambda}M
      +\tfrac{(1+2d+d^2\kappa)\operatorname{tr}\Lambda}{N^2}.$$

    Λ = `covariance`, N = `context_length`, M = `examples`: numbers, or arrays that
    broadcast.

    Source: zhang2023, displays after Theorem 4.2.
    Assumes: as `lsa_risk` with the preconditioner of `optimal_preconditioner`.
    Differs from the paper: nothing.
    """
    Lambda, d, trace = covariance, len(covariance), jnp.trace(covariance)
    N, M = _broadcast(context_length, examples)
    if weight is None:
        return (d + 1) * trace / M + _length_factor(Lambda) * trace / N**2
    w = weight
    energy = w @ Lambda @ w
    inverse_energy = w @ jnp.linalg.solve(Lambda, w)
    length = energy + 2 * (w @ w) * trace + inverse_energy * trace**2
    return (d + 1) / M * energy + length / N**2


@checked
def sample_complexity(
    covariance: Covariance, accuracy: PositiveFloat
) -> tuple[int, int]:
    r"""Lengths (M of the test prompt, N of the training prompts) that suffice.

    $$M\ge 2(d+1)\operatorname{tr}(\Lambda)\,\varepsilon^{-1},\qquad
      N\ge\sqrt{2(1+2d+d^2\kappa)\operatorname{tr}\Lambda}\;\varepsilon^{-1/2}$$

    bring the risk over w ~ N(0, I) down to ε = `accuracy`; Λ = `covariance`, κ its
    condition number.

    Source: zhang2023, Corollary 4.3.
    Assumes: as `lsa_risk_bound`.
    Differs from the paper: ε^{-1/2} stands outside the root (inside, as printed in our
    copy, the lengths do not suffice).
    """
    d, trace = len(covariance), float(jnp.trace(covariance))
    factor = float(_length_factor(covariance))
    examples = math.ceil(2 * (d + 1) * trace / accuracy)
    context_length = math.ceil(math.sqrt(2 * factor * trace / accuracy))
    return examples, context_length


def _broadcast(*lengths: int | Int[Array, "..."]) -> list[Array]:
    """Lengths as floats of one shape; shapes that do not fit are refused."""
    try:
        return jnp.broadcast_arrays(*(jnp.asarray(n, float) for n in lengths))
    except ValueError:
        shapes = " and ".join(str(np.shape(n)) for n in lengths)
        refuse(f"`context_length` and `examples` must broadcast, got shapes {shapes}")


def _over_lengths(
    risk: Callable[[Array, Array], Array], *lengths: int | Int[Array, "..."]
) -> Float[Array, "..."]:
    """A function of single lengths at every one of an array."""
    N, M = _broadcast(*lengths)
    return jax.vmap(risk)(N.ravel(), M.ravel()).reshape(N.shape)


def _length_factor(Lambda: Float[Array, "d d"]) -> Float[Array, ""]:
    """1 + 2d + d²κ."""
    d, eigenvalues = len(Lambda), jnp.linalg.eigvalsh(Lambda)
    return 1 + 2 * d + d**2 * eigenvalues[-1] / eigenvalues[0]
