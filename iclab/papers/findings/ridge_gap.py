"""How far the trained ridge regression is from the best one, over Gaussian tables.

Attention learns ridge regression with the penalty mτ; Figure 3 compares it with Nτ.
Over tables of Gaussian features the mean distance of the two is an integral over
the Wishart spectrum, zero where N = m: the figure's dip, without a table being drawn.
"""

import functools
from dataclasses import dataclass

import jax
import numpy as np

from iclab.evidence import STANDARD_ERRORS, Measured
from iclab.theory import mean_performance_gap, sampled_performance_gap

shares = {
    "sampled_performance_gap": "gives the predicted mean its error, part of the bar",
}


@dataclass(frozen=True)
class Case:
    """m features, N tokens shown of K, noise of variance τ on every feature."""

    features: int
    shown: int
    tokens: int
    noise: float


def cases(scale) -> dict[str, Case]:
    """More tokens than features and fewer."""
    found = [Case(3, 8, 12, 0.3), Case(6, 3, 12, 0.1)]
    if scale != "smoke":
        found += [Case(20, 30, 200, 0.01), Case(20, 12, 40, 0.5)]
    return {f"m={c.features}, N={c.shown}, τ={c.noise:g}": c for c in found}


def predict(case: Case):
    """The integral, and the mean over drawn spectra."""
    sizes = case.features, case.shown, case.tokens, case.noise
    degree = 95 if case.features < 10 else 63
    sampled, _ = _sampled(case)
    return np.array([float(mean_performance_gap(*sizes, degree=degree)), sampled])


def decoy(case: Case):
    """The same with labels of λ alone: the noise in them forgotten."""
    _, _, clean = _gaps(case, 2000)
    return np.full(2, clean)


def measure(case: Case, scale) -> Measured:
    """Both regressions on the labels of drawn tables."""
    draws = {"smoke": 4000, "desk": 20_000, "paper": 200_000}[scale]
    mean, error, _ = _gaps(case, draws)
    margins = STANDARD_ERRORS * np.hypot(error, [0.0, _sampled(case)[1]])
    reason = f"{STANDARD_ERRORS:g} standard errors over {draws:,} tables"
    return Measured(np.full(2, mean), margins, reason)


@functools.cache
def _sampled(case: Case) -> tuple[float, float]:
    sizes = case.features, case.shown, case.tokens, case.noise
    found = sampled_performance_gap(jax.random.key(3), *sizes, draws=4000)
    return float(found[0]), float(found[1])


@functools.cache
def _gaps(case: Case, draws: int) -> tuple[float, float, float]:
    """Mean gap over tables, its standard error, and the mean without noise in y.

    ŷ_k = z_kᵀ(ZZᵀ + ρI)⁻¹Zy with labels y of mean square ZᵀZ + mτI over λ and noise.
    """
    m, N, K, tau = case.features, case.shown, case.tokens, case.noise
    random = np.random.default_rng([m, N, draws])
    found = []
    for _ in range(draws // 1000):
        Z = random.standard_normal((1000, m, N))
        others = random.standard_normal((1000, m, K - N))
        S = Z @ Z.swapaxes(1, 2)
        ours, theirs = (np.linalg.solve(S + rho * tau * np.eye(m), Z) for rho in (m, N))
        D = (ours - theirs).swapaxes(1, 2) @ others
        clean = np.sum((Z @ D) ** 2, axis=(1, 2)) / K
        noise = m * tau * np.sum(D**2, axis=(1, 2)) / K
        found.append(np.stack([clean + noise, clean], axis=1))
    gaps = np.concatenate(found)
    error = gaps[:, 0].std() / len(gaps) ** 0.5
    return float(gaps[:, 0].mean()), float(error), float(gaps[:, 1].mean())
