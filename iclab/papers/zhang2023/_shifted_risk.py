"""Exact risks of trained models under a shift, and how fast they fall."""

import numpy as np
from jaxtyping import Array, Float

from iclab.evidence import Measured, slope
from iclab.papers.zhang2023._simulation import (
    distribution,
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


def decay_rate(covariance: Float[Array, "d d"], **shift) -> Measured:
    """Slope of log risk against log n for M = N = n, at large n."""
    lengths = 2 ** np.arange(10, 19)
    risks = [
        float(lsa_risk(optimal_preconditioner(covariance, n), covariance, n, **shift))
        for n in lengths.tolist()
    ]
    x, y = np.log(lengths), np.log(risks)
    middle = len(x) // 2
    early, _ = slope(x[: middle + 1], y[: middle + 1])
    late, _ = slope(x[middle:], y[middle:])
    # What is left of the next order in 1/n is smaller than what went away meanwhile.
    return Measured(late, abs(late - early), "change of the slope from early to late n")


def sampled_risks(task: AbstractTask, spectrum: str, key, scale) -> Measured:
    """Risks at all `LENGTHS` of models after their flow, on sampled prompts."""
    pairs = [(trained_model(distribution(spectrum, N)), M) for N, M in LENGTHS]
    prompts = {"smoke": 1 << 15, "desk": 1 << 17, "paper": 1 << 20}[scale]
    return simulated_risk(task, pairs, prompts=prompts, key=key)
