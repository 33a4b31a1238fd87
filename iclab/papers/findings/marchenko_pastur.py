"""In the limit d, n → ∞ at d/n = c one step is best for every number of loops.

Marchenko–Pastur's law gives the best methods in closed form: a⋆ = 1/(1 + c) whatever L,
the untied steps as Chebyshev nodes, and their losses. One large random matrix is enough
to see it, since spectra of large matrices hardly fluctuate.
"""

import functools
from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured
from iclab.theory import (
    marchenko_pastur_looped_optimum,
    marchenko_pastur_optimal_steps,
    marchenko_pastur_quadrature,
)

labels = "looped step", "its loss", "untied step", "their loss", "E h²", "E h⁴ / 10"


@dataclass(frozen=True)
class Case:
    """The ratio c = d/n and the number of loops or layers."""

    ratio: float
    depth: int


def cases(scale) -> dict[str, Case]:
    """More examples than inputs, as many, and fewer."""
    depths = (1, 3) if scale == "smoke" else (1, 2, 3, 5)
    return {
        f"d/n={ratio:g}, depth {depth}": Case(ratio, depth)
        for ratio in (0.25, 0.5, 2.0)
        for depth in depths
    }


def predict(case: Case):
    """a⋆, its loss, the largest untied step, their loss, and two moments."""
    c, L = case.ratio, case.depth
    step, shared = marchenko_pastur_looped_optimum(c, L)
    steps, free = marchenko_pastur_optimal_steps(c, L)
    nodes, weights = map(np.asarray, marchenko_pastur_quadrature(c, 8))
    moments = [weights @ nodes**2, weights @ nodes**4 / 10]
    return np.array([step, shared, float(steps[-1]), free, *moments])


def decoy(case: Case):
    """The step 1/λ₊ of the classical bound, and its loss; the rest as predicted."""
    wrong = predict(case)
    nodes, weights = map(np.asarray, marchenko_pastur_quadrature(case.ratio, 20))
    wrong[0] = 1 / (1 + np.sqrt(case.ratio)) ** 2
    wrong[1] = weights @ (1 - wrong[0] * nodes) ** (2 * case.depth)
    return wrong


def measure(case: Case, scale) -> Measured:
    """Minima over steps on the spectrum of one sample covariance."""
    h = _spectrum(case.ratio, scale)
    L = case.depth
    powers = h[:, None] ** np.arange(1, L + 1)
    # The best residual 1 + Σ c_j hʲ, by least squares, and its zeros.
    coefficients, *_ = np.linalg.lstsq(powers, -np.ones(len(h)), rcond=None)
    free = np.mean((1 + powers @ coefficients) ** 2)
    zeros = np.roots([*coefficients[::-1], 1.0])
    step = _best_shared(h, L)
    shared = np.mean((1 - step * h) ** (2 * L))
    moments = [np.mean(h**2), np.mean(h**4) / 10]
    value = np.array([step, shared, np.max(np.real(1 / zeros)), free, *moments])
    # Sums over eigenvalues fluctuate by O(1), means by O(1/d); steps follow.
    error = 12 / len(h) * (1 + np.abs(value))
    reason = f"a spectrum of {len(h)} eigenvalues, whose means are off by some 1/d"
    return Measured(value, error, reason)


def _best_shared(h: np.ndarray, L: int) -> float:
    """Newton's method on the convex mean of (1 − ah)²ᴸ, from the left."""
    a = 0.0
    for _ in range(200):
        r = 1 - a * h
        slope = -2 * L * np.mean(h * r ** (2 * L - 1))
        bend = 2 * L * (2 * L - 1) * np.mean(h**2 * r ** (2 * L - 2))
        a -= float(slope / bend)
    return a


@functools.cache
def _spectrum(ratio: float, scale) -> np.ndarray:
    d = {"smoke": 600, "desk": 1500, "paper": 4000}[scale]
    n = round(d / ratio)
    X = np.random.default_rng([d, n]).standard_normal((d, n))
    return np.clip(np.linalg.eigvalsh(X @ X.T / n), 0, None)
