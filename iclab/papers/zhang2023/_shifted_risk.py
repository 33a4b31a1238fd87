"""Exact risks of trained models under a shift, and how fast they fall."""

import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from iclab.evidence import Measured
from iclab.papers.zhang2023._simulation import (
    distribution,
    power_law,
    risk_on_moments,
    simulated_risk,
    trained_model,
)
from iclab.tasks import AbstractTask
from iclab.theory import lsa_risk, optimal_preconditioner

# Lengths (N in training, M of the test prompt) at which simulations are compared.
LENGTHS = ((2, 3), (10, 3), (10, 20), (50, 20))


def exact_risks(
    covariance: Float[Array, "d d"], test_covariance: Float[Array, "d d"], **shift
) -> np.ndarray:
    """Risks at all `LENGTHS`, trained on one covariance and tested on another.

    `shift` goes to `lsa_risk`.
    """
    risks = [
        lsa_risk(optimal_preconditioner(covariance, N), test_covariance, M, **shift)
        for N, M in LENGTHS
    ]
    return np.array(risks)


def decay_rate(spectrum: str, key: PRNGKeyArray, **shift) -> Measured:
    """Exponent in n = M = N of the risk of models after their flow, at large n.

    `shift` goes to `risk_on_moments`.
    """
    lengths = 2 ** np.array([15, 17, 19])
    keys = jax.random.split(key, len(lengths))
    risks = [
        risk_on_moments(
            trained_model(distribution(spectrum, n)),
            distribution(spectrum, n).covariance,
            n,
            key=one,
            **shift,
        )
        for n, one in zip(lengths.tolist(), keys, strict=True)
    ]
    return power_law(lengths, risks)


def sampled_risks(task: AbstractTask, spectrum: str, key, scale) -> Measured:
    """Risks at all `LENGTHS` of models after their flow, on sampled prompts."""
    pairs = [(trained_model(distribution(spectrum, N)), M) for N, M in LENGTHS]
    prompts = {"smoke": 1 << 15, "desk": 1 << 17, "paper": 1 << 20}[scale]
    return simulated_risk(task, pairs, prompts=prompts, key=key)
