"""What trained GPT-2 models compute, seen as a filter: flow that is stopped early.

A spectral filter explains nearly all that the shipped models answer: they are nearly
linear in the labels and blind to rotations. On prompts with little more examples than
inputs the filter is not that of least squares, since it gives small eigenvalues up, nor
that of ridge regression: one number, the time of gradient flow, describes most of it.
The flow is a description, not the method: `iclab probe` finds that the order of the
examples matters (1 %), and sweeps of normalised LMS through them as near or nearer.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize_scalar

from iclab.core import Prompt
from iclab.evidence import Measured
from iclab.models import shipped
from iclab.probes import spectral_filter
from iclab.tasks import LinearRegression

_DIMENSION, _EXAMPLES = 5, 8
# Searched for the best time of the flow and the best penalty, as powers of e.
_RANGE = (-9.0, 6.0)

relation = "<="


def cases(scale) -> dict[str, str]:
    """Models trained on x ~ N(0, I) with 10, 18 and 26 examples."""
    lengths = (10,) if scale == "smoke" else (10, 18, 26)
    return {f"gpt2-fixed-{n}, {_EXAMPLES} examples": f"gpt2-fixed-{n}" for n in lengths}


def predict(case: str):
    """At most a twentieth of E ŷ² is beyond filters.

    Of the part of the difference to least squares that a filter explains, the best
    flow misses at most a third, and less than the best ridge regression does. The
    bounds were chosen after seeing results of these models.
    """
    return np.array([0.05, 1 / 3, 0.0])


def decoy(case: str):
    """A model that is a filter to a thousandth, and fits no flow better."""
    return np.array([0.001, 1 / 3, -1.0])


@dataclass(frozen=True)
class Answers:
    """Predictions of a model, and what a filter h makes of the same prompts: parts·h.

    `parts` are ⟨u, x_q⟩⟨u, c⟩/λ for the eigenvectors u and eigenvalues λ of S.
    """

    predictions: np.ndarray
    eigenvalues: np.ndarray
    parts: np.ndarray

    def distance(self, h: np.ndarray) -> float:
        """Mean squared distance to the filter with values h, over E ŷ²."""
        gaps = self.predictions - np.sum(h * self.parts, axis=1)
        return float(np.mean(gaps**2) / np.mean(self.predictions**2))

    def least_distance(self, filter_of) -> tuple[float, float]:
        """That of the best of a family with one number, and the number."""
        found = minimize_scalar(
            lambda power: self.distance(filter_of(np.exp(power))),
            bounds=_RANGE,
            method="bounded",
        )
        return float(found.fun), float(np.exp(found.x))


def measure(case: str, key, scale) -> Measured:
    """The model on prompts: its filter, and flow and ridge with their best number."""
    count = {"smoke": 1024, "desk": 4096, "paper": 16384}[scale]
    task = LinearRegression(jnp.eye(_DIMENSION))
    draw = jax.vmap(lambda one: task.sample(one, _EXAMPLES))
    prompts = draw(jax.random.split(key, count))
    model = shipped(case)
    unexplained = 1 - spectral_filter(model, prompts).r2.value
    answers = _answers(model, prompts)
    h = answers.eigenvalues
    flow, time = answers.least_distance(lambda t: 1 - np.exp(-t * h))
    ridge, _ = answers.least_distance(lambda tau: h / (h + tau))
    difference = answers.distance(np.ones_like(h)) - unexplained
    missed = np.array([flow - unexplained, flow - ridge]) / difference
    reason = (
        f"fixed weights on {count:,} prompts; flow of time {time:.3g}, {flow:.2%} away,"
        f" ridge {ridge:.2%}, least squares {difference + unexplained:.2%}"
    )
    return Measured(np.array([unexplained, *missed]), 0.0, reason)


def _answers(model, prompts: Prompt) -> Answers:
    X, y, query = map(np.asarray, (prompts.examples, prompts.labels, prompts.query))
    S = np.einsum("pni,pnj->pij", X, X) / _EXAMPLES
    eigenvalues, basis = np.linalg.eigh(S)
    c = np.einsum("pni,pn->pi", X, y) / _EXAMPLES
    along = np.einsum("pij,pi->pj", basis, query) * np.einsum("pij,pi->pj", basis, c)
    predictions = jax.jit(jax.vmap(model))(prompts)
    return Answers(np.asarray(predictions), eigenvalues, along / eigenvalues)
