"""Second result: other covariances precondition the step by Σ⁻¹, and keep its size."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured
from iclab.tasks import LinearRegression
from mahankali2023._best_layer import best_layer, step_coefficients
from mahankali2023._steps import one_step


@dataclass(frozen=True)
class Case:
    """A covariance of two inputs, with the correlation `slant`."""

    ratio: float
    slant: float
    examples: int
    noise_variance: float

    @property
    def covariance(self) -> np.ndarray:
        """Σ."""
        off = self.slant * self.ratio**0.5
        return np.array([[1.0, off], [off, self.ratio]])


def cases(scale) -> dict[str, Case]:
    """Correlated inputs of unequal variance."""
    found = {"n = 6, σ² = 1/2": Case(0.5, 0.4, 6, 0.5)}
    if scale != "smoke":
        found["n = 10, σ² = 0"] = Case(0.25, -0.3, 10, 0.0)
    return found


def predict(case: Case):
    """ηΣ⁻¹ with η = 1/(n + d + 1 + σ²)."""
    eta = one_step(2, case.examples, case.noise_variance)
    return step_coefficients(case.examples * eta * np.linalg.inv(case.covariance))


def measure(case: Case, key, scale) -> Measured:
    """Search all weights of a layer on prompts with weights N(0, Σ⁻¹)."""
    Sigma = jnp.asarray(case.covariance)
    task = LinearRegression(
        Sigma,
        weight_covariance=jnp.linalg.inv(Sigma),
        noise_std=case.noise_variance**0.5,
    )
    return best_layer(task, case.examples, key, scale)


def decoy(case: Case):
    """The preconditioner of weights N(0, I), by which inputs are whitened in part."""
    Sigma, n = case.covariance, case.examples
    trace = (np.trace(Sigma) + case.noise_variance) / n
    return step_coefficients(np.linalg.inv((1 + 1 / n) * Sigma + trace * np.eye(2)))
