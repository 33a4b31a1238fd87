"""Lemma A.1: on u₁₂ = u₂₁ = 0 the loss is ℓ̃ of (5.5) plus tr(Λ)/2."""

import numpy as np

from iclab.evidence import Measured, Printed, rounded
from iclab.papers.zhang2023._fixed_covariance import Setting, settings
from iclab.papers.zhang2023._loss_landscape import population_gradient
from iclab.theory import gamma_matrix

# Five-point differences: the derivative of a quartic, exactly.
_NODES, _COEFFICIENTS = np.array([1, -1, 2, -2]), np.array([8, -8, -1, 1]) / 12

cases = settings
labels = [f"{what}, weights {i}" for what in ("loss", "slope") for i in range(1, 5)]


def predict(case: Setting):
    """ℓ̃ + tr(Λ)/2, and the slope of ℓ̃ along a direction in U₁₁ and u₋₁."""
    constant = np.trace(case.covariance) / 2
    loss = _reduced_loss(case, _weights(case))
    return np.concatenate([loss + constant, _slopes(case)])


def measure(case: Setting) -> Measured:
    """The loss over all weights; slopes by automatic differentiation in all of them."""
    U = _weights(case)
    loss, gradient = population_gradient(U, case.covariance, case.context_length)
    slopes = np.sum(gradient * _directions(case), axis=(1, 2))
    return rounded(
        np.concatenate([loss, slopes]), 20.0 * len(U[0]), _size(loss, slopes)
    )


def decoy(case: Setting):
    """The constant without its ½."""
    constant = np.trace(case.covariance)
    loss = _reduced_loss(case, _weights(case))
    return np.concatenate([loss + constant, _slopes(case)])


def difference_as_printed(case: Setting):
    """L and ℓ̃ differ by a constant, so entries that ℓ̃ lacks leave L as it is."""
    return np.zeros(4)


def difference(case: Setting) -> Measured:
    """How the loss changes when u₁₂ and u₂₁ become nonzero and U₁₁ and u₋₁ stay."""
    inside, outside = _weights(case), _weights(case)
    outside[:, :-1, -1] = _directions(case)[:, :-1, -1]
    outside[:, -1, :-1] = _directions(case)[:, -1, :-1]
    both = np.concatenate([inside, outside])
    loss, _ = population_gradient(both, case.covariance, case.context_length)
    return rounded(loss[4:] - loss[:4], 20.0 * len(inside[0]), _size(loss))


printed = Printed(predict=difference_as_printed, measure=difference, nearby=True)


def _weights(case: Setting) -> np.ndarray:
    """Four random matrices U with u₁₂ = u₂₁ = 0."""
    d = len(case.covariance)
    U = np.random.default_rng([d, 1]).standard_normal((4, d + 1, d + 1))
    U[:, :d, d] = U[:, d, :d] = 0
    return U


def _directions(case: Setting) -> np.ndarray:
    """A random direction for each, through all four blocks."""
    d = len(case.covariance)
    return np.random.default_rng([d, 2]).standard_normal((4, d + 1, d + 1))


def _reduced_loss(case: Setting, U: np.ndarray) -> np.ndarray:
    """ℓ̃ = tr[½u₋₁²ΓΛU₁₁ΛU₁₁ᵀ − u₋₁Λ²U₁₁ᵀ]: it never looks at u₁₂ and u₂₁."""
    Lambda = np.asarray(case.covariance)
    Gamma = np.asarray(gamma_matrix(case.covariance, case.context_length))
    U11, u = U[:, :-1, :-1], U[:, -1, -1]
    quadratic = np.sum((Gamma @ Lambda @ U11 @ Lambda) * U11, axis=(1, 2))
    return u**2 * quadratic / 2 - u * np.sum(Lambda @ Lambda * U11, axis=(1, 2))


def _slopes(case: Setting) -> np.ndarray:
    U, V = _weights(case), _directions(case)
    values = [_reduced_loss(case, U + shift * V) for shift in _NODES]
    return _COEFFICIENTS @ np.stack(values)


def _size(*values) -> float:
    return 1 + max(float(np.max(np.abs(some))) for some in values)
