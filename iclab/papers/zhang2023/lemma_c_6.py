"""Lemma C.6: u₋₁ stays positive, by a proof whose key identity needs another square."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from iclab.evidence import Measured, Printed
from iclab.papers.zhang2023._random_covariance import (
    Setting,
    drawn_diagonals,
    sample_mean,
    settings,
    trajectory,
)
from iclab.theory import lsa_loss_random_covariance
from iclab.training import lsa_gradient_flow

cases = settings


def predict(case: Setting):
    """E tr(Λ_τ²ΘΘᵀ) = E‖Λ_τΘ‖_F², and u₋₁ > 0 at every step of two flows.

    The first has σ as (C.10) wants it; the second has the larger σ that the corrected
    identity allows, and its loss starts below the value at u₋₁ = 0.
    """
    return np.stack([_mean_square(case), 1, 1, 1])


def as_printed(case: Setting):
    """E tr(Λ_τ²ΘΘᵀ) = ‖E Λ_τΘ‖_F², as the proof says."""
    return np.stack([_square_of_mean(case), 1, 1, 1])


def printed_cases(scale):
    """Exponential(1): E λ² = 2 and (E λ)² = 1, so the sides differ by a factor 2."""
    name = "d=5, Exponential(1), N=10"
    return {name: settings(scale)[name]}


printed = Printed(predict=as_printed, cases=printed_cases, nearby=True)


def decoy(case: Setting):
    """Half of the variance of Λ_τ forgotten; the printed identity forgets all of it."""
    halfway = (_mean_square(case) + _square_of_mean(case)) / 2
    return np.stack([halfway, 1, 1, 1])


def measure(case: Setting, key) -> Measured:
    """Draw covariances for the identity, and follow both flows for the sign."""
    diagonals, Theta = drawn_diagonals(case.task.laws, key), np.asarray(case.theta)
    traces = diagonals**2 @ np.diag(Theta @ Theta.T)
    moments, N = case.moments, case.context_length
    start = _wide_start(case)
    wide = lsa_gradient_flow(case.task, N, *start).records[1]
    below = lsa_loss_random_covariance(*start, moments, N) < jnp.sum(moments[0]) / 2
    signs = [np.mean(np.asarray(u) > 0) for u in (trajectory(case).u_last, wide)]
    mean, error, reason = sample_mean(traces, "covariances")
    value = np.stack([mean, *signs, float(below)])
    return Measured(value, np.stack([error, 0, 0, 0]), f"{reason}; signs are certain")


def numbers(results, printed):
    """Both sides of the printed identity."""
    (slip,) = printed.values()
    return {"left": slip.measured[0], "right": slip.predicted[0]}


def _wide_start(case: Setting) -> tuple[Array, float]:
    """0.95 of the largest σ for which 2E‖Λ_τΘ‖_F² > √dσ² E‖Γ_τ‖‖Λ_τ‖_F²."""
    norm = np.sqrt(len(case.theta)) * (case.gamma_norm + case.gamma_norm_error)
    sigma = 0.95 * float(np.sqrt(2 * _mean_square(case) / norm))
    return sigma * case.theta @ case.theta.T, sigma


def _mean_square(case: Setting) -> float:
    second, Theta = np.asarray(case.moments[1]), np.asarray(case.theta)
    return float(np.sum(second[:, None] * Theta**2))


def _square_of_mean(case: Setting) -> float:
    return float(np.linalg.norm(np.asarray(case.moments[0])[:, None] * case.theta) ** 2)
