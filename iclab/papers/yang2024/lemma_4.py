"""Lemma 4, (32), and (24) = (25): regression on noisy features is ridge regression.

The noise that is averaged over has to be fresh. The label's own noise, which has the
same letter in Lemma 4, gives another mean and another minimiser: the true λ itself.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured, Printed, rounded
from iclab.theory import ridge_coefficients


@dataclass(frozen=True, eq=False)
class Case:
    """Features of N shown tokens, τ, the true λ, and coefficients to be judged."""

    features: np.ndarray
    noise_variance: float
    truth: np.ndarray
    judged: np.ndarray

    @property
    def labels(self) -> np.ndarray:
        """Labels with some noise, the same whenever it is asked for."""
        noise = np.cos(3.0 * np.arange(self.features.size)).reshape(self.features.shape)
        return (self.features + self.noise_variance**0.5 * noise) @ self.truth


def cases(scale) -> dict[str, Case]:
    """Fewer features than labels, and more; the true λ is among the judged ones."""
    random, found = np.random.default_rng(20), {}
    for N, m, tau in ((3, 2, 0.5), (2, 4, 0.1)):
        truth = random.standard_normal(m)
        judged = np.stack([truth, *random.standard_normal((2, m))])
        features = random.standard_normal((N, m))
        found[f"N={N}, m={m}, τ={tau:g}"] = Case(features, tau, truth, judged)
    return found


def predict(case: Case):
    """1/2N Σ(y_i − λᵀf(v_i))² + τ/2 ‖λ‖² at three λ, and the minimiser of it."""
    return _ridge(case, len(case.features) * case.noise_variance)


def decoy(case: Case):
    """The penalty mτ/2N of (20) in the place of τ/2."""
    return _ridge(case, len(case.truth) * case.noise_variance)


def as_printed(case: Case):
    """The right side of (32), averaged over the noise in its labels: at three λ, and
    the minimiser.
    """
    N, m = case.features.shape
    tau, far = case.noise_variance, case.truth - case.judged
    clean = np.mean((far @ case.features.T) ** 2, axis=1) / 2
    both = np.sum(case.truth**2) + np.sum(case.judged**2, axis=1)
    gram = case.features.T @ case.features
    least = np.linalg.solve(gram + N * tau * np.eye(m), gram @ case.truth)
    return np.concatenate([clean + tau / 2 * both, least])


def measure(case: Case) -> Measured:
    """Mean over fresh noise at points with its covariance, and least squares there."""
    noisy = _noisy_features(case)
    return _regression(case, noisy, np.broadcast_to(case.labels, noisy.shape[:2]))


def measure_own(case: Case) -> Measured:
    """The same with the noise of the labels."""
    noisy = _noisy_features(case)
    return _regression(case, noisy, noisy @ case.truth)


printed = Printed(predict=as_printed, measure=measure_own, nearby=True)


def _noisy_features(case: Case) -> np.ndarray:
    """f(v_i) + ε_i for every ε on an axis; the squares are quadratic in ε, so that
    they have their Gaussian mean.
    """
    size = case.features.size
    axes = np.sqrt(size * case.noise_variance) * np.eye(size)
    noise = np.concatenate([axes, -axes]).reshape(-1, *case.features.shape)
    return case.features + noise


def _regression(case: Case, noisy: np.ndarray, labels: np.ndarray) -> Measured:
    squares = (labels[..., None] - noisy @ case.judged.T) ** 2
    rows = noisy.reshape(-1, noisy.shape[-1])
    least, *_ = np.linalg.lstsq(rows, labels.ravel())
    value = np.concatenate([np.mean(squares, axis=(0, 1)) / 2, least])
    singular = np.linalg.svd(rows, compute_uv=False)
    return rounded(value, len(rows) * singular[0] / singular[-1], np.max(squares))


def _ridge(case: Case, penalty: float) -> np.ndarray:
    N = len(case.features)
    errors = case.labels - case.judged @ case.features.T
    size = penalty / N * np.sum(case.judged**2, axis=1)
    least = _coefficients(case.features, case.labels, jnp.asarray(penalty))
    return np.concatenate([(np.mean(errors**2, axis=1) + size) / 2, np.asarray(least)])


_coefficients = jax.jit(ridge_coefficients)
