"""Lemma 5.3: u₋₁U₁₁ = Γ⁻¹ at every global minimum of ℓ̃."""

import numpy as np

from iclab.evidence import Measured
from iclab.papers.zhang2023._fixed_covariance import Setting, settings
from iclab.papers.zhang2023._loss_landscape import Minimum, descend
from iclab.theory import optimal_preconditioner

# The lowest ends of twice as many descents.
_KEPT = 3

_PARTS = ("largest singular value", "smallest singular value", "entry (1, 2)")
labels = [f"{part}, minimum {i + 1}" for i in range(_KEPT) for part in _PARTS]


def cases(scale):
    """Every spectrum and length in three dimensions."""
    return {
        name: setting
        for name, setting in settings(scale).items()
        if len(setting.covariance) == 3
    }


def predict(case: Setting):
    """Three entries of Γ⁻¹, the same whatever the minimum."""
    inverse = optimal_preconditioner(case.covariance, case.context_length)
    return np.tile(_summary(np.asarray(inverse)), _KEPT)


def measure(case: Setting) -> Measured:
    """Descend from random starts, balanced or not, over U₁₁ and u₋₁."""
    d = len(case.covariance)
    free = np.zeros((d + 1, d + 1))
    free[:d, :d] = free[d, d] = 1
    starts = np.random.default_rng([d, 4]).standard_normal((2 * _KEPT, d + 1, d + 1))
    ends = [
        descend(start, free, case.covariance, case.context_length) for start in starts
    ]
    found = sorted(ends, key=lambda one: one.loss)[:_KEPT]
    value = np.concatenate([_summary(one.U[d, d] * one.U[:d, :d]) for one in found])
    error = max(_product_error(one) for one in found)
    return Measured(value, error, "gradient left over the loss's smallest curvature")


def decoy(case: Setting):
    """Λ⁻¹, what the model would need if prompts were infinitely long."""
    return np.tile(_summary(np.linalg.inv(np.asarray(case.covariance))), _KEPT)


def _product_error(found: Minimum) -> float:
    """How far u₋₁U₁₁ may be off, round-off in the gradient included."""
    size = float(np.linalg.norm(found.U))
    slope = found.slope + 100 * np.finfo(float).eps * (1 + size) ** 3
    return slope / found.curvature * 2 * size


def _summary(product: np.ndarray) -> np.ndarray:
    """Largest and smallest singular values, and an entry off the diagonal."""
    singular = np.linalg.svd(product, compute_uv=False)
    return np.array([singular[0], singular[-1], product[0, 1]])
