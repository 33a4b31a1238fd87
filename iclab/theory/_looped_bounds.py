"""Constants and bounds of gatmiry2024, printed and corrected.

Every bound checks the hypotheses it stands on and refuses, naming the one that fails
and by how much, rather than return a number that looks like a bound.
"""

import math
from typing import Annotated, Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from iclab.core import (
    Covariance,
    Natural,
    PositiveFloat,
    Rule,
    Share,
    Symmetric,
    between,
    checked,
    require,
)

# Powers like 4ᴸ are worked out as whole numbers: no paper loops longer than this.
_Loops = Annotated[int, between(1, 4096)]

_Times = Annotated[
    Float[Array, "*times"] | float | int,
    Rule("≥ 0", lambda t: np.all(np.asarray(t) >= 0)),
]


class LoopedBounds(NamedTuple):
    """What a theorem guarantees about the optimum: its loss and its weights.

    The optimal A lies between (1 − `distance`)Σ⋆⁻¹ and (1 + `distance`)Σ⋆⁻¹.
    """

    loss: float
    distance: float


@checked
def looped_delta(dimension: Natural, samples: Natural, loops: _Loops) -> float:
    r"""The paper's measure of how little a prompt tells, δ = (8Ld/√n)^{1/(2L)}.

    Source: gatmiry2024, Section 3.5.
    Assumes: nothing.
    Differs from the paper: Lemma A.7 and a remark print δᵏ = 4kd/√n and δ = 4kd/√n,
        see `moment_deviation`.
    """
    d, n, L = dimension, samples, loops
    return (8 * L * d / math.sqrt(n)) ** (1 / (2 * L))


@checked
def moment_deviation(
    dimension: Natural, samples: Natural, order: _Loops, *, corrected: bool = True
) -> float:
    r"""How far E Sᵏ may be from Σ⋆ᵏ, in units of λ₁ᵏ: 4kd/√n.

    With d = `dimension`, n = `samples` and k = `order`. For white inputs
    1 ≤ E Sᵏ ≤ 1 + 4kd/√n.

    Source: gatmiry2024, Lemma A.2; Lemmas 4.2 and 4.3 use it with k ≤ 2L.
    Assumes: n ≥ 16k²d², as its proof needs.
    Differs from the paper: `corrected=False` asks for n ≥ 4k²d² only, as printed.
    """
    d, n, k = dimension, samples, order
    factor = 16 if corrected else 4
    _enough_samples(n, factor * k * k * d * d, f"{factor}k²d²")
    return 4 * k * d / math.sqrt(n)


@checked
def looped_optimum_bounds(
    dimension: Natural, samples: Natural, loops: _Loops
) -> LoopedBounds:
    r"""What Theorem 3.2 says about the optimum.

    $$L(A^\star,0)\le\frac{8Ld^2\,4^L}{\sqrt n},\qquad
      (1-c)\Sigma_\star^{-1}\preccurlyeq A^\star\preccurlyeq(1+c)\Sigma_\star^{-1},
      \quad c=8\delta d^{1/(2L)}$$

    with d = `dimension`, n = `samples` and L = `loops`; compare `looped_optimum`.

    Source: gatmiry2024, Theorem 3.2 (A.8).
    Assumes: 8Ld²/√n ≤ 4^{−L}; fewer samples are refused.
    Differs from the paper: nothing.
    """
    d, n, L = dimension, samples, loops
    least = (8 * L * d * d * 4**L) ** 2
    _enough_samples(n, least, "(8Ld²4ᴸ)²")
    loss = 8 * L * d * d * 4**L / math.sqrt(n)
    return LoopedBounds(loss, 8 * looped_delta(d, n, L) * d ** (1 / (2 * L)))


@checked
def dominance_threshold(
    dimension: Natural,
    samples: Natural,
    loops: _Loops,
    *,
    form: Literal["main", "appendix"] = "appendix",
) -> float:
    r"""The loss above which the gradient dominates it.

    With d = `dimension`, n = `samples` and L = `loops`: 2(4δ)^{2L} = 16Ld 16ᴸ/√n.

    Source: gatmiry2024, Theorem A.11.
    Assumes: nothing.
    Differs from the paper: `form="main"` is the threshold of Theorem 3.4, smaller by
        4ᴸ, which the proof does not give.
    """
    d, n, L = dimension, samples, loops
    return 16 * L * d * (4.0 if form == "main" else 16.0) ** L / math.sqrt(n)


@checked
def dominance_constant(
    dimension: Natural, loops: _Loops, *, corrected: bool = True
) -> float:
    r"""The number κ of gradient dominance, ‖∇L‖² ≥ κ L^{(2L−1)/L}.

    $$\kappa=L^2\,d^{-(L-1)/L}$$

    with d = `dimension` and L = `loops`; 4κ is sharp as n → ∞, reached where all
    eigenvalues of A agree.

    Source: gatmiry2024, Theorem 3.4, with the power of d that Lemma A.10 loses.
    Assumes: Σ⋆ = I, symmetric A, a loss above `dominance_threshold`.
    Differs from the paper: `corrected=False` is the printed 1/16, free of d, which
        fails at A = 0 once d^{(L−1)/L} > 64L².
    """
    d, L = dimension, loops
    return L * L * d ** (-(L - 1) / L) if corrected else 1 / 16


@checked
def convergence_time(
    tolerance: PositiveFloat,
    loops: _Loops,
    *,
    dimension: Natural,
    corrected: bool = True,
) -> float:
    r"""Time after which gradient flow has brought the loss below ξ.

    $$t=\frac L{\kappa(L-1)}\,\xi^{-(L-1)/L}$$

    with ξ = `tolerance`, L = `loops` and κ = `dominance_constant`: the solution of
    ġ = −κ g^{(2L−1)/L} falls below ξ by then from any start.

    Source: gatmiry2024, Theorem 3.3 (A.12).
    Assumes: Σ⋆ = I, ξ ≥ 2(4δ)^{2L} (not checked here: it needs n), two loops or more.
    Differs from the paper: κ with its power of d in place of 1/16. `corrected=False` is
        the printed time, with (16L/(L−1))^{(L−1)/(2L−1)} where the solution has the
        first power.
    """
    L = loops
    rule = "at least 2, since the exponent L/(L−1) is infinite for one"
    require(L >= 2, "loops", rule, L)
    slowness = tolerance ** (-(L - 1) / L)
    if not corrected:
        return slowness * (16 * L / (L - 1)) ** ((L - 1) / (2 * L - 1))
    kappa = dominance_constant(dimension, L)
    return slowness * L / (kappa * (L - 1))


@checked
def dominance_envelope(
    start: PositiveFloat,
    time: _Times,
    loops: _Loops,
    *,
    constant: PositiveFloat = 1 / 16,
    corrected: bool = True,
) -> Float[Array, "*times"]:
    r"""The solution of ġ = −κ g^{(2L−1)/L} from g(0) = g₀, which a loss stays below.

    $$g(t)=\Big(\frac L{\kappa(L-1)}\Big)^{L/(L-1)}(t+c)^{-L/(L-1)},\qquad
      c=\frac L{\kappa(L-1)}\,g_0^{-(L-1)/L}$$

    with g₀ = `start`, t = `time`, L = `loops` and κ = `constant`.

    Source: gatmiry2024, the proof of Theorem A.12.
    Assumes: two loops or more.
    Differs from the paper: `corrected=False` is the printed solution (for κ = 1/16),
        with the exponents L/(2L−1) and (L−1)/(2L−1) on the two constants.
    """
    L = loops
    require(L >= 2, "loops", "at least 2", L)
    t, power = jnp.asarray(time, float), L / (L - 1)
    scale = L / (constant * (L - 1))
    outer, inner = (
        (power, 1.0) if corrected else (L / (2 * L - 1), (L - 1) / (2 * L - 1))
    )
    return scale**outer * (t + scale**inner * start ** (-1 / power)) ** -power


@checked
def closeness_bound(
    tolerance: PositiveFloat, dimension: Natural, samples: Natural, loops: _Loops
) -> tuple[float, float]:
    r"""A loss, and how near A then is to the optimum, in `spectral_distance`.

    $$L(A,0)\le\varepsilon^{2L}/2\;\Rightarrow\;
      (1-c\varepsilon)A^\star\preccurlyeq A\preccurlyeq(1+c\varepsilon)A^\star,\qquad
      c=4+16d^{1/(2L)}$$

    with ε = `tolerance`, d = `dimension`, n = `samples` and L = `loops`. Returns
    ε^{2L}/2 and cε.

    Source: gatmiry2024, Theorem 4.4.
    Assumes: symmetric A, ε > 4δ; smaller ones are refused.
    Differs from the paper: symmetry is not stated there, and without it this is false.
    """
    d, n, L = dimension, samples, loops
    epsilon = tolerance
    _above_noise(epsilon, 4 * looped_delta(d, n, L), "4δ")
    return epsilon ** (2 * L) / 2, (4 + 16 * d ** (1 / (2 * L))) * epsilon


@checked
def closeness_bound_lemma_a_9(
    tolerance: PositiveFloat, dimension: Natural, samples: Natural, loops: _Loops
) -> tuple[float, float]:
    r"""The bound of `closeness_bound` in its first form.

    $$L(A,0)\le\varepsilon^{2L}-\delta^{2L}(\varepsilon+2)^{2L}\;\Rightarrow\;
      A\text{ within }4\varepsilon+16\delta d^{1/(2L)}\text{ of }A^\star$$

    Returns both sides; arguments as there.

    Source: gatmiry2024, Lemma A.9.
    Assumes: symmetric A, ε > 2δ, and ε so large that the loss on the left is positive.
    Differs from the paper: symmetry is not stated there.
    """
    d, n, L = dimension, samples, loops
    epsilon, delta = tolerance, looped_delta(d, n, L)
    _above_noise(epsilon, 2 * delta, "2δ")
    loss = epsilon ** (2 * L) - (delta * (epsilon + 2)) ** (2 * L)
    require(loss > 0, "tolerance", "above δ(ε + 2)", f"{epsilon:.4g}, too small")
    return loss, 4 * epsilon + 16 * delta * d ** (1 / (2 * L))


@checked
def out_of_distribution_bound(
    query: Float[Array, " d"],
    weights: Float[Array, " d"],
    *,
    covariance: Covariance,
    sample_covariance: Symmetric,
    margin: Share,
    samples: Natural,
    loops: _Loops,
    corrected: bool = True,
) -> float:
    r"""Bound on the squared error of the trained looped model on any one prompt.

    $$(\hat y-y_q)^2\le(1+r)^2(1+r-\zeta)^{2L}\,
      \|x_q\|^2_{\Sigma_\star^{-1}}\|w\|^2_{\Sigma_\star},\qquad r=16\delta d^{1/(2L)}$$

    with x_q = `query`, w = `weights`, Σ⋆ = `covariance` of training, ζ = `margin`,
    n = `samples` and L = `loops` of training.

    Source: gatmiry2024, Theorem 4.5 (A.13).
    Assumes: ζΣ⋆ ≼ S ≼ (2 − ζ)Σ⋆ for the prompt's S = `sample_covariance`, and
        0 < ζ < 1; a prompt that does not obey is refused.
    Differs from the paper: `corrected=False` swaps the norms, as printed. S has 1/n.
    """
    d, n, L, zeta = len(covariance), samples, loops, float(margin)
    ratios = _relative_eigenvalues(sample_covariance, covariance)
    low, high = float(ratios[0]), float(ratios[-1])
    slack = 1e-9  # round-off of eigenvalues at the very edge
    found = f"eigenvalues between {low:.4g} and {high:.4g}"
    rule = f"between {zeta:g} and {2 - zeta:g} times the covariance"
    holds = low >= zeta - slack and high <= 2 - zeta + slack
    require(holds, "sample_covariance", rule, found)
    r = 16 * looped_delta(d, n, L) * d ** (1 / (2 * L))
    x, w, Sigma = np.asarray(query), np.asarray(weights), np.asarray(covariance)
    inverse = np.linalg.inv(Sigma)
    for_query, for_weights = (inverse, Sigma) if corrected else (Sigma, inverse)
    norms = (x @ for_query @ x) * (w @ for_weights @ w)
    return float((1 + r) ** 2 * (1 + r - zeta) ** (2 * L) * norms)


@checked
def spectral_distance(A: Symmetric, B: Covariance) -> float:
    r"""The smallest ε with (1 − ε)B ≼ A ≼ (1 + ε)B.

    It is the largest |λ − 1| over the eigenvalues λ of B^{−1/2}AB^{−1/2}.

    Source: gatmiry2024, Theorems 3.2, 3.3 and 4.4, which are about it.
    Assumes: symmetric A, positive definite B.
    Differs from the paper: nothing.
    """
    return float(np.max(np.abs(_relative_eigenvalues(A, B) - 1)))


def _relative_eigenvalues(A: Float[Array, "d d"], B: Float[Array, "d d"]) -> np.ndarray:
    """Eigenvalues, ascending, of B^{−1/2}AB^{−1/2}."""
    root = np.linalg.cholesky(np.asarray(B))
    half = np.linalg.solve(root, np.asarray(A))
    return np.linalg.eigvalsh(np.linalg.solve(root, half.T))


def _enough_samples(n: int, least: int, formula: str) -> None:
    rule = f"at least {formula} = {least}"
    require(n >= least, "samples", rule, f"{n}, {least / n:.3g} times too few")


def _above_noise(epsilon: float, floor: float, formula: str) -> None:
    rule = f"above {formula} = {floor:.4g}"
    require(epsilon > floor, "tolerance", rule, f"{epsilon:.4g}")
