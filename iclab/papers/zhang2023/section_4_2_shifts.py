"""Section 4.2, covariate shifts: inputs scaled by c get c² times the truth."""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from iclab.evidence import Claim, Measured, Printed
from iclab.papers.zhang2023._shifted_risk import LENGTHS, exact_risks
from iclab.papers.zhang2023._simulation import (
    distribution,
    shifted_task,
    simulated_risk,
    trained_model,
)
from iclab.training import trained_lsa

_SPECTRUM = "geometric"
_SCALES = np.array([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0])
# Length of the training prompts where the limit of long prompts is meant.
_LONG = 10**7


@dataclass(frozen=True)
class Limit:
    """Infinitely long prompts at all scales: the factor ŷ/⟨w, x⟩, or if it is 1."""

    only_if_right: bool


@dataclass(frozen=True)
class Simulated:
    """Short prompts with inputs scaled by c."""

    scale: float


def cases(scale):
    """The limit, which scales it tolerates, and the risk on the way there."""
    found = {
        "long prompts, factor at c = ±2, ±1, ±½": Limit(only_if_right=False),
        "long prompts, right at c = ±2, ±1, ±½": Limit(only_if_right=True),
        "short prompts, c=2": Simulated(2.0),
    }
    if scale != "smoke":
        found["short prompts, c=½"] = Simulated(0.5)
    return found


def predict(case: Limit | Simulated):
    """c², which is 1 where |c| = 1; the exact risk on inputs with covariance c²Λ."""
    match case:
        case Simulated(c):
            Lambda = distribution(_SPECTRUM, 2).covariance
            return exact_risks(Lambda, c**2 * Lambda)
        case Limit(only_if_right=True):
            return (np.abs(_SCALES) == 1).astype(int)
        case Limit():
            return _SCALES**2


def measure(case: Limit | Simulated, key, scale) -> Measured:
    """The model on the moments of an infinite prompt; or on sampled, scaled prompts."""
    if isinstance(case, Limit):
        factor, error = _limit_factors()
        if not case.only_if_right:
            return Measured(
                factor, error, f"Γ differs from Λ by order 1/N, N={_LONG:,}"
            )
        reason = "right means: 1 within the finite-size error of the factor"
        return Measured((np.abs(factor - 1) <= error).astype(int), 0, reason)
    Lambda = distribution(_SPECTRUM, 2).covariance
    task = shifted_task(Lambda, transform=case.scale * jnp.eye(3))
    pairs = [(trained_model(distribution(_SPECTRUM, N)), M) for N, M in LENGTHS]
    prompts = {"smoke": 1 << 15, "desk": 1 << 17, "paper": 1 << 20}[scale]
    return simulated_risk(task, pairs, prompts=prompts, key=key)


def decoy(case: Limit | Simulated):
    """|c| in place of c²; wrong at c = −1 too."""
    match case:
        case Simulated(c):
            Lambda = distribution(_SPECTRUM, 2).covariance
            return exact_risks(Lambda, abs(c) * Lambda)
        case Limit(only_if_right=True):
            return as_printed(case)
        case Limit():
            return np.abs(_SCALES)


def printed_cases(scale):
    """Which scales are tolerated."""
    name = "long prompts, right at c = ±2, ±1, ±½"
    return {name: cases(scale)[name]}


def as_printed(case: Limit):
    """Wrong whenever c ≠ 1."""
    return (_SCALES == 1).astype(int)


@functools.cache
def _limit_factors() -> tuple[np.ndarray, np.ndarray]:
    """ŷ/⟨w, x⟩ for one w and x at every scale, and its finite-size error."""
    Lambda = np.asarray(distribution(_SPECTRUM, 2).covariance)
    model = trained_lsa(jnp.asarray(Lambda), _LONG)
    w, x = np.array([1.0, -0.5, 2.0]), np.array([0.5, 1.0, 1.5])
    gram = _SCALES[:, None, None] ** 2 * Lambda
    query = _SCALES[:, None] * x
    count = np.full(len(_SCALES), _LONG**2)
    predict = jax.jit(jax.vmap(model.from_moments))
    answer = predict(gram, gram @ w, gram @ w @ w, query, count)
    error = (1 + np.trace(Lambda) / np.linalg.eigvalsh(Lambda)[0]) / _LONG
    error = error * np.linalg.norm(x) * np.linalg.norm(w) / abs(x @ w)
    return np.asarray(answer) / (query @ w), error * _SCALES**2


CLAIM = Claim(
    "zhang2023/section-4.2-shifts",
    cases=cases,
    predict=predict,
    measure=measure,
    decoy=decoy,
    printed=Printed(predict=as_printed, cases=printed_cases),
)
