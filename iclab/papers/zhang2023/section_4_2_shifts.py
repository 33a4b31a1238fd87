"""Section 4.2, covariate shifts: inputs scaled by c get c² times the truth."""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured
from iclab.papers.zhang2023._shifted_risk import LENGTHS, exact_risks, sampled_risks
from iclab.papers.zhang2023._simulation import distribution, shifted_task
from iclab.training import trained_lsa

_SPECTRUM = "geometric"
_SCALES = np.array([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0])
# Length of the training prompts where the limit of long prompts is meant.
_LONG = 10**7


@dataclass(frozen=True)
class Limit:
    """Infinitely long prompts at all scales: the factor ŷ/⟨w, x⟩, or if ŷ is right."""

    only_if_right: bool


@dataclass(frozen=True)
class Simulated:
    """Short prompts with inputs scaled by c."""

    scale: float


def cases(scale):
    """The limit, which scales it tolerates, and the risk on the way there."""
    found = {
        "long prompts, factor at c = ±2, ±1, ±½": Limit(only_if_right=False),
        "long prompts, right at c = ±2, ±1, ±½, 0": Limit(only_if_right=True),
        "short prompts, c=2": Simulated(2.0),
    }
    if scale != "smoke":
        found["short prompts, c=½"] = Simulated(0.5)
    return found


def predict(case: Limit | Simulated):
    """c², right where c² = 1 and where all is 0; the exact risk at covariance c²Λ."""
    match case:
        case Simulated(c):
            Lambda = distribution(_SPECTRUM, 2).covariance
            return exact_risks(Lambda, c**2 * Lambda)
        case Limit(only_if_right=True):
            return np.isin(_SCALES, (-1, 0, 1)).astype(int)
        case Limit():
            return _SCALES[_SCALES != 0] ** 2


def measure(case: Limit | Simulated, key, scale) -> Measured:
    """The model on the moments of an infinite prompt; or on sampled, scaled prompts."""
    if isinstance(case, Limit):
        answer, truth, error = _limit_answers()
        if not case.only_if_right:
            some = truth != 0
            reason = f"Γ differs from Λ by order 1/N, N={_LONG:,}"
            size = np.abs(truth[some])
            return Measured(answer[some] / truth[some], error[some] / size, reason)
        reason = "right means: equal within the finite-size error of the prediction"
        return Measured((np.abs(answer - truth) <= error).astype(int), 0, reason)
    Lambda = distribution(_SPECTRUM, 2).covariance
    task = shifted_task(Lambda, transform=case.scale * jnp.eye(3))
    return sampled_risks(task, _SPECTRUM, key, scale)


def decoy(case: Limit | Simulated):
    """|c| in place of c²; right at c = 1 alone."""
    match case:
        case Simulated(c):
            Lambda = distribution(_SPECTRUM, 2).covariance
            return exact_risks(Lambda, abs(c) * Lambda)
        case Limit(only_if_right=True):
            return (_SCALES == 1).astype(int)
        case Limit():
            return np.abs(_SCALES[_SCALES != 0])


def labels(case: Limit | Simulated):
    """Scales c, or lengths in training and at test."""
    if isinstance(case, Simulated):
        return [f"N = {N}, M = {M}" for N, M in LENGTHS]
    scales = _SCALES if case.only_if_right else _SCALES[_SCALES != 0]
    return [f"c = {c:g}" for c in scales]


@functools.cache
def _limit_answers() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """ŷ and ⟨w, x⟩ for one w and x at every scale, and ŷ's finite-size error."""
    Lambda = np.asarray(distribution(_SPECTRUM, 2).covariance)
    model = trained_lsa(jnp.asarray(Lambda), _LONG)
    w, x = np.array([1.0, -0.5, 2.0]), np.array([0.5, 1.0, 1.5])
    gram = _SCALES[:, None, None] ** 2 * Lambda
    query = _SCALES[:, None] * x
    count = np.full(len(_SCALES), _LONG**2)
    predict = jax.jit(jax.vmap(model.from_moments))
    answer = predict(gram, gram @ w, gram @ w @ w, query, count)
    error = (1 + np.trace(Lambda) / np.linalg.eigvalsh(Lambda)[0]) / _LONG
    error = error * np.linalg.norm(x) * np.linalg.norm(w)
    return np.asarray(answer), query @ w, error * np.abs(_SCALES) ** 3
