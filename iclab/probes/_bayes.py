"""The Bayes rule of a task, where it is known."""

import numpy as np
from jaxtyping import Float

from iclab.probes._spectra import Moments
from iclab.tasks import AbstractTask, LinearRegression, RandomCovariance


def bayes_predictions(
    task: AbstractTask, moments: Moments
) -> Float[np.ndarray, " prompts"] | None:
    r"""Posterior mean
    $x_q^\top\Omega^{1/2}(\tilde S+\tfrac{\sigma^2}nI)^+\Omega^{1/2}c$
    with S̃ = Ω^{½}SΩ^{½}, for linear labels with w ~ N(0, Ω) and noise σ; None for
    other tasks, and for weights that are always the same.
    """
    if isinstance(task, LinearRegression):
        prior = np.asarray(task.weight_covariance, float)
    elif isinstance(task, RandomCovariance):
        prior = np.eye(task.dimension)
    else:
        return None
    values, vectors = np.linalg.eigh(prior)
    if values[-1] <= 0 or np.any(np.asarray(getattr(task, "weight_mean", 0.0))):
        return None
    spectra = moments.under(vectors * np.sqrt(np.clip(values, 0, None))).spectra()
    lam, noise = spectra.eigenvalues, float(task.noise_std) ** 2 / moments.count
    present = lam > 0
    h = np.where(present, lam / np.where(present, lam + noise, 1.0), 0.0)
    return spectra.predictions(h)
