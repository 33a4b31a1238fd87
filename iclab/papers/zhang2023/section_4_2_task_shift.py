"""Section 4.2, task shifts: noisy labels and any fixed weights are tolerated."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from iclab.evidence import Measured
from iclab.papers.zhang2023._shifted_risk import decay_rate, exact_risks, sampled_risks
from iclab.papers.zhang2023._simulation import distribution, shifted_task

_SPECTRUM = "geometric"


shares = {"largest_initial_scale": "the start's scale; the flow's end has none of it"}


@dataclass(frozen=True, eq=False)
class Labels:
    """Fixed weights and label noise, seen for some lengths or as the lengths grow."""

    weight: Float[Array, " d"]
    noise_std: float
    growing: bool


def cases(scale):
    """Weights far from N(0, I), with and without noise."""
    near, far = jnp.array([0.3, -0.2, 0.1]), jnp.array([30.0, 10.0, -20.0])
    found = {
        "small w, noise, short prompts": Labels(near, 1.0, growing=False),
        "small w, noise, rate in M=N": Labels(near, 1.0, growing=True),
        "large w, no noise, rate in M=N": Labels(far, 0.0, growing=True),
    }
    if scale != "smoke":
        found["large w, no noise, short prompts"] = Labels(far, 0.0, growing=False)
    return found


def predict(case: Labels):
    """Exact risks; and exponent −1, so that they vanish."""
    if case.growing:
        return -1.0
    return _risks(weight=case.weight, noise_variance=case.noise_std**2)


def measure(case: Labels, key, scale) -> Measured:
    """Models after their gradient flow, on prompts whose labels another task makes."""
    Lambda = distribution(_SPECTRUM, 2).covariance
    if case.growing:
        labels = {"weight": case.weight, "noise_std": case.noise_std}
        return decay_rate(_SPECTRUM, key, **labels)
    task = shifted_task(Lambda, weight=case.weight, noise_std=case.noise_std)
    return sampled_risks(task, _SPECTRUM, key, scale)


def decoy(case: Labels):
    """The noise left out; without noise, weights as in training; the root's rate."""
    if case.growing:
        return -0.5
    return _risks(weight=case.weight) if case.noise_std else _risks()


def _risks(**shift) -> np.ndarray:
    Lambda = distribution(_SPECTRUM, 2).covariance
    return exact_risks(Lambda, Lambda, **shift)
