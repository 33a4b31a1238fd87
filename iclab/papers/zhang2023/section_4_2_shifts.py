"""Section 4.2, covariate shifts: inputs scaled by c get c² times the truth."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from iclab.algorithms import LeastSquares
from iclab.core import Prompt
from iclab.evidence import Measured, rounded
from iclab.papers.zhang2023._shifted_risk import LENGTHS, exact_risks, sampled_risks
from iclab.papers.zhang2023._simulation import (
    distribution,
    preconditioner_error,
    shifted_task,
    trained_model,
)
from iclab.tasks import LinearRegression

_SPECTRUM = "geometric"
_SCALES = np.array([-2.0, -0.5, 0.5, 1.0, 2.0])
# Length of the training prompts where the limit of long prompts is meant.
_LONG = 10**7


shares = {"largest_initial_scale": "the start's scale; the flow's end has none of it"}


@dataclass(frozen=True)
class Limit:
    """Infinitely long prompts at all scales: the factor ŷ/⟨w, x⟩."""


@dataclass(frozen=True)
class LeastSquaresFit:
    """Least squares on prompts of this many examples, at all scales."""

    examples: int


@dataclass(frozen=True)
class Simulated:
    """Short prompts with inputs scaled by c."""

    scale: float


def cases(scale):
    """The limit, least squares, and the risk on the way to the limit."""
    found = {
        "long prompts, factor": Limit(),
        "least squares, M = 5, factor": LeastSquaresFit(5),
        "short prompts, c=2": Simulated(2.0),
    }
    if scale != "smoke":
        found["short prompts, c=½"] = Simulated(0.5)
    return found


def predict(case: Limit | LeastSquaresFit | Simulated):
    """c²; for least squares 1; the exact risk at covariance c²Λ."""
    match case:
        case Simulated(c):
            Lambda = distribution(_SPECTRUM, 2).covariance
            return exact_risks(Lambda, c**2 * Lambda)
        case LeastSquaresFit():
            return np.ones(len(_SCALES))
        case Limit():
            return _SCALES**2


def measure(case: Limit | LeastSquaresFit | Simulated, key, scale) -> Measured:
    """The model on moments of an infinite prompt; both on sampled, scaled prompts."""
    match case:
        case Limit():
            return _limit_factors()
        case LeastSquaresFit(M):
            return _least_squares_factors(M, key)
        case Simulated(c):
            Lambda = distribution(_SPECTRUM, 2).covariance
            task = shifted_task(Lambda, transform=c * jnp.eye(3))
            return sampled_risks(task, _SPECTRUM, key, scale)


def decoy(case: Limit | LeastSquaresFit | Simulated):
    """|c| in place of c², for the model and for least squares."""
    if isinstance(case, Simulated):
        Lambda = distribution(_SPECTRUM, 2).covariance
        return exact_risks(Lambda, abs(case.scale) * Lambda)
    return np.abs(_SCALES)


def labels(case: Limit | LeastSquaresFit | Simulated):
    """Scales c, or lengths in training and at test."""
    if isinstance(case, Simulated):
        return [f"N = {N}, M = {M}" for N, M in LENGTHS]
    return [f"c = {c:g}" for c in _SCALES]


def _limit_factors() -> Measured:
    """ŷ/⟨w, x⟩ for one w and x at every scale."""
    setting = distribution(_SPECTRUM, _LONG)
    Lambda, model = np.asarray(setting.covariance), trained_model(setting)
    w, x = np.array([1.0, -0.5, 2.0]), np.array([0.5, 1.0, 1.5])
    gram = _SCALES[:, None, None] ** 2 * Lambda
    query = _SCALES[:, None] * x
    count = np.full(len(_SCALES), _LONG**2)
    of_moments = jax.jit(jax.vmap(model.from_moments))
    answer = of_moments(gram, gram @ w, gram @ w @ w, query, count)
    error = preconditioner_error(setting) * np.linalg.norm(Lambda, 2)
    error += (1 + np.trace(Lambda) / np.linalg.eigvalsh(Lambda)[0]) / _LONG
    error = error * np.linalg.norm(x) * np.linalg.norm(w) / (x @ w) * _SCALES**2
    reason = f"Γ differs from Λ by order 1/N, N={_LONG:,}; where the flow stopped"
    return Measured(np.asarray(answer) / (query @ w), error, reason)


def _least_squares_factors(examples: int, key) -> Measured:
    """Prediction over truth of least squares on one prompt, its inputs scaled."""
    task = LinearRegression(distribution(_SPECTRUM, 2).covariance)
    prompt = task.sample(key, examples)
    scaled = [
        Prompt(c * prompt.examples, c * prompt.labels, c * prompt.query)
        for c in _SCALES
    ]
    answers = [float(LeastSquares()(one)) for one in scaled]
    truth = _SCALES * float(prompt.target)
    condition = np.linalg.cond(np.asarray(prompt.examples)) ** 2
    size = float(jnp.linalg.norm(prompt.query) * jnp.linalg.norm(prompt.labels))
    return rounded(answers / truth, condition * size / abs(float(prompt.target)), 1.0)
