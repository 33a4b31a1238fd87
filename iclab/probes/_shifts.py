"""Where a model breaks: prompts unlike those before, one difference at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from iclab.core import (
    AbstractPredictor,
    Natural,
    Prompt,
    checked,
    enough_memory,
)
from iclab.probes._bootstrap import bootstrap_weights, ratio
from iclab.probes._filter import fit_filter
from iclab.probes._predictions import predictions
from iclab.probes._spectra import Moments
from iclab.tasks import AbstractTask, CovariateShift, NoisyLabels, QueryShift

SCALES = (0.25, 0.5, 1.0, 2.0, 4.0)
TILTS = (1.0, 4.0, 16.0, 64.0)
NOISES = (0.0, 0.25, 0.5, 1.0, 2.0)
# Draws for the bands of filters, of which there are many here.
_DRAWS = 100


@checked(finite=False)
@dataclass(frozen=True)
class Shift:
    """A model's error and filter as one thing about the prompts changes.

    `error` is E(ŷ − target)² / E target²; `least_squares` is that of least squares on
    the same prompts; `r2` and `filter` are those of the spectral filter, `filter[j]` at
    `eigenvalues[j]`, the 5, 25, 50, 75 and 95 % quantiles of setting j's spectrum. All
    with their intervals.
    """

    name: str
    meaning: str
    setting: Float[np.ndarray, " m"]
    error: Float[np.ndarray, " m"]
    lower: Float[np.ndarray, " m"]
    upper: Float[np.ndarray, " m"]
    least_squares: Float[np.ndarray, " m"]
    r2: Float[np.ndarray, " m"]
    r2_lower: Float[np.ndarray, " m"]
    r2_upper: Float[np.ndarray, " m"]
    eigenvalues: Float[np.ndarray, "m 5"]
    filter: Float[np.ndarray, "m 5"]
    filter_lower: Float[np.ndarray, "m 5"]
    filter_upper: Float[np.ndarray, "m 5"]


@checked(finite=False)
def shifts(
    predictor: AbstractPredictor,
    task: AbstractTask,
    *,
    context: Natural,
    lengths: Sequence[int] = (),
    prompts: Natural = 512,
    key: PRNGKeyArray | None = None,
) -> tuple[Shift, ...]:
    """Errors at other context `lengths`, and at `context` with inputs scaled and
    tilted, labels with noise, and queries of another size.
    """
    n, P = context, prompts
    product = "prompts × examples × dimension"
    longest = max([n, *lengths])
    enough_memory(P * longest * task.dimension, "prompts", product)
    if key is None:
        key = jax.random.key(0)
    for_draws, for_prompts = jax.random.split(key)
    weights = bootstrap_weights(for_draws, P)
    d = task.dimension
    identity = jnp.eye(d)
    found = []

    def measured(name, meaning, settings, batches, counts, answered):
        columns = [
            _one(batch, count, answers, weights)
            for batch, count, answers in zip(batches, counts, answered, strict=True)
        ]
        arrays = [np.array(column) for column in zip(*columns, strict=True)]
        found.append(Shift(name, meaning, np.array(settings, float), *arrays))

    def sampled(one: AbstractTask, examples: int = n) -> Prompt:
        return _sample(one, for_prompts, P, examples)

    if lengths:
        longest = sampled(task, max(lengths))
        batches = [longest] * len(lengths)
        text = "examples in the prompt"
        answered = predictions(predictor, longest, lengths).T
        measured("context", text, lengths, batches, lengths, answered)

    def varied(name, meaning, settings, tasks):
        batches = [sampled(one) for one in tasks]
        answered = [predictions(predictor, batch, [n])[:, 0] for batch in batches]
        measured(name, meaning, settings, batches, [n] * len(batches), answered)

    text = "inputs, the query too, multiplied by"
    tasks = [CovariateShift(task, scale * identity) for scale in SCALES]
    varied("scale", text, SCALES, tasks)
    if d > 1:
        text = "largest over smallest variance of the inputs"
        tasks = [CovariateShift(task, _tilt(d, ratio)) for ratio in TILTS]
        varied("tilt", text, TILTS, tasks)
    text = "standard deviation of the noise on the labels"
    tasks = [NoisyLabels(task, jnp.asarray(noise)) for noise in NOISES]
    varied("noise", text, NOISES, tasks)
    text = "standard deviation of the query's coordinates"
    tasks = [QueryShift(task, scale**2 * identity) for scale in SCALES]
    varied("query", text, SCALES, tasks)
    return tuple(found)


def _one(batch: Prompt, n: int, answers, weights):
    target = np.asarray(batch.target, float)
    spectra = Moments.of(batch, n).spectra()
    error = ratio((answers - target) ** 2, target**2, weights)
    solved = spectra.least_squares()
    baseline = ratio((solved - target) ** 2, target**2, weights)
    curve = fit_filter(spectra, answers, weights[:_DRAWS])
    places = np.quantile(np.log(spectra.present), [0.05, 0.25, 0.5, 0.75, 0.95])
    values = [
        np.interp(places, np.log(curve.eigenvalues), one)
        for one in (curve.value, curve.lower, curve.upper)
    ]
    r2 = curve.r2
    numbers = (error.value, error.lower, error.upper, baseline.value)
    return (*numbers, r2.value, r2.lower, r2.upper, np.exp(places), *values)


def _tilt(d: int, ratio: float):
    """Variances in a geometric series with mean 1 and this ratio of its ends."""
    variances = np.geomspace(1.0, ratio, d)
    return jnp.diag(jnp.asarray(np.sqrt(variances / variances.mean())))


@eqx.filter_jit
def _sample(task: AbstractTask, key: PRNGKeyArray, prompts: int, examples: int):
    return task.sample_batch(key, prompts, examples)
