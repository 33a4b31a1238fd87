"""After Theorem 4.2: what the risk owes to short prompts falls as 1/M + 1/N²."""

from dataclasses import dataclass
from typing import Literal

import jax
import numpy as np

from iclab.evidence import Measured
from iclab.papers.zhang2023._simulation import (
    distribution,
    power_law,
    risk_on_moments,
    trained_model,
)

# A length that is as good as infinite for the other's term.
_LONG = {"N": 10**9, "M": 10**15}
_LENGTHS = {"N": 2 ** np.array([12, 14, 16]), "M": 2 ** np.array([6, 8, 10])}


@dataclass(frozen=True)
class Rate:
    """The exponent in one length, the other as good as infinite."""

    spectrum: str
    grows: Literal["N", "M"]


def cases(scale):
    """Both lengths, for a covariance near I and one far from it."""
    return {
        f"{spectrum} spectrum, exponent in {grows}": Rate(spectrum, grows)
        for spectrum in ("geometric", "one tiny")
        for grows in ("N", "M")
    }


def predict(case: Rate):
    """−2 in N, −1 in M."""
    return {"N": -2.0, "M": -1.0}[case.grows]


def measure(case: Rate, key) -> Measured:
    """Models after their flow, on the moments of sampled prompts."""
    lengths = _LENGTHS[case.grows]
    keys = jax.random.split(key, len(lengths))
    risks = []
    for length, one in zip(lengths.tolist(), keys, strict=True):
        both = _LONG | {case.grows: length}
        setting = distribution(case.spectrum, both["N"])
        model = trained_model(setting)
        risks.append(risk_on_moments(model, setting.covariance, both["M"], key=one))
    return power_law(lengths, risks)


def decoy(case: Rate):
    """Halfway between the two."""
    return -1.5
