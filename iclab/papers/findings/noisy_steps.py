"""The best steps on noisy labels: free ones, one shared by all loops, and any filter.

What k steps lose on noisy labels is an integral over the mean spectrum. For one input
and for two it is known outright, and searches from many starts find no less than
`optimal_steps`, `looped_optimum` and `optimal_filter` say. Where the best filter has
complex zeros, layers with real steps stay above it.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from iclab.evidence import Measured
from iclab.papers.findings._spectra import spectrum
from iclab.theory import looped_optimum, optimal_filter, optimal_steps

# Searches from steps at random, and what they leave of a minimum, relative to it.
_STARTS, _LEFT = 12, 1e-9


@dataclass(frozen=True)
class Case:
    """d inputs, n examples, k steps; noise of variance σ², w ~ N(0, vΣ⁻¹)."""

    dimension: int
    samples: int
    steps: int
    noise: float
    signal: float = 1.0

    def __str__(self) -> str:
        sizes = f"d={self.dimension}, n={self.samples}, k={self.steps}"
        return f"{sizes}, σ²={self.noise:g}, v={self.signal:g}"

    @property
    def variances(self) -> dict[str, float]:
        """The noise's and the signal's."""
        return {"noise_variance": self.noise, "signal_variance": self.signal}

    def parts(self, steps: np.ndarray) -> np.ndarray:
        """Roots of the terms of the loss: what is left of labels, what noise adds."""
        h, chances = spectrum(self.dimension, self.samples)
        left, filter_ = np.ones_like(h), np.zeros_like(h)
        for step in steps:
            left, filter_ = left * (1 - step * h), filter_ + step * left
        signal = np.sqrt(self.dimension * self.signal * chances) * left
        share = self.dimension * self.noise / self.samples
        return np.concatenate([signal, np.sqrt(share * chances * h) * filter_])


def cases(scale) -> dict[str, Case]:
    """Little noise and much, real zeros and complex ones."""
    found = [Case(1, 6, 2, 0.3), Case(2, 8, 3, 4.0, 2.0)]
    if scale != "smoke":
        found += [Case(2, 20, 4, 0.5), Case(1, 10, 3, 10.0), Case(2, 5, 2, 1.0, 0.5)]
    return {str(case): case for case in found}


def predict(case: Case):
    """Least losses: of free steps, of one step in a loop, of any filter; that step."""
    sizes = case.dimension, case.samples, case.steps
    _, free = optimal_steps(*sizes, **case.variances)
    shared, looped = looped_optimum(*sizes, **case.variances)
    _, least = optimal_filter(*sizes, **case.variances)
    return np.array([free, looped, least, shared])


def decoy(case: Case):
    """What the steps that are best without noise lose on these labels."""
    steps, _ = optimal_steps(case.dimension, case.samples, case.steps)
    shared, _ = looped_optimum(case.dimension, case.samples, case.steps)
    free = np.sum(case.parts(np.asarray(steps)) ** 2)
    looped = np.sum(case.parts(np.full(case.steps, shared)) ** 2)
    return np.array([free, looped, free, shared])


def measure(case: Case) -> Measured:
    """The least that searches over steps find, and least squares over filters."""
    random, k = np.random.default_rng(case.steps), case.steps

    def least(parts, count: int) -> tuple[float, np.ndarray]:
        starts = np.exp(random.normal(-0.5, 0.7, (_STARTS, count)))
        found = [
            least_squares(parts, one, xtol=1e-13, ftol=1e-15, gtol=1e-13)
            for one in starts
        ]
        best = min(found, key=lambda one: one.cost)
        return 2 * float(best.cost), best.x

    free, _ = least(case.parts, k)
    looped, shared = least(lambda one: case.parts(np.repeat(one, k)), 1)
    value = np.array([free, looped, _least_of_filters(case), shared[0]])
    # Where a loss is known to ε, the place of its minimum is to √ε.
    error = np.array([_LEFT, _LEFT, _LEFT, 10 * np.sqrt(_LEFT)]) * value
    reason = f"{_STARTS} searches each, which end within {_LEFT:g} of a minimum"
    return Measured(value, error, reason)


def _least_of_filters(case: Case) -> float:
    """Over all polynomials g of degree k − 1: least squares in their coefficients."""
    h, chances = spectrum(case.dimension, case.samples)
    powers = h[:, None] ** np.arange(case.steps)
    signal = np.sqrt(case.dimension * case.signal * chances)
    noise = np.sqrt(case.dimension * case.noise / case.samples * chances * h)
    columns = np.concatenate(
        [signal[:, None] * h[:, None] * powers, noise[:, None] * powers]
    )
    target = np.concatenate([signal, np.zeros_like(noise)])
    size = np.linalg.norm(columns, axis=0)
    found, *_ = np.linalg.lstsq(columns / size, target, rcond=None)
    return float(np.sum((target - columns / size @ found) ** 2))
