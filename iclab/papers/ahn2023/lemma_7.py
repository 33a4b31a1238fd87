"""Lemma 7, (20), (21): the components of the loss for inputs of unequal variances."""

import functools

import jax
import numpy as np

from iclab.evidence import Measured
from iclab.papers.ahn2023._component_minima import (
    COMPONENT,
    Component,
    measured_component,
    predicted_component,
)
from iclab.theory import ahn_optimum, gamma_matrix

labels = COMPONENT


def cases(scale):
    """Each coordinate of three, few and many examples."""
    variances = (1.0, 0.3, 0.1)
    lengths = {"smoke": (2,), "desk": (2, 20), "paper": (1, 2, 20, 1000)}[scale]
    return {
        f"Λ=diag{variances}, n={n}, j={j + 1}": Component(variances, n, j)
        for n in lengths
        for j in range(3)
    }


def predict(case: Component):
    """λ_j; (n+1)/n λ_j² + λ_j/n Σλ = λ_jΓ_jj; and X_j = b a_jᵀ with entry −1/Γ_jj."""
    variances, j = np.array(case.variances), case.j
    # X_j = b a_jᵀ does not depend on γ, another one for every coordinate.
    scale = (1.0, -2.5, 0.4)[j]
    found = _theory(np.diag(variances), scale, samples=case.samples)
    Gamma, P, Q = map(np.asarray, found)
    mean = variances[j]
    return predicted_component(mean, mean * Gamma[j, j], P[-1, -1] * Q[j, j])


def measure(case: Component) -> Measured:
    """Moments by quadrature and the minimiser that they give."""
    return measured_component(case)


def decoy(case: Component):
    """Γ_jj = λ_j + Σλ/n: the fourth power counted as two squares."""
    variance, n = case.variances[case.j], case.samples
    entry = variance + sum(case.variances) / n
    return predicted_component(variance, variance * entry, -1 / entry)


@functools.partial(jax.jit, static_argnames="samples")
def _theory(covariance, scale, samples):
    """Γ, and the weights (P, Q) of Theorem 1 with γ = `scale`."""
    return gamma_matrix(covariance, samples), *ahn_optimum(covariance, samples, scale)
