"""What kind of method is it? Tests on prompts of the law, each with a null band."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from iclab.core import AbstractPredictor, Prompt, checked
from iclab.probes._bootstrap import Interval, bootstrap_weights, ratio
from iclab.probes._filter import context_of
from iclab.probes._predictions import batch_of, predictions
from iclab.probes._spectra import Sample
from iclab.tasks import AbstractTask

# Answers beyond so many typical sizes count as if they were so large: one prompt in a
# thousand must not decide.
_BEYOND = 6.0
# Round-off of float32 in a model's inputs, and what is certainly round-off.
_SINGLE, _NOTHING = 1e-7, 1e-8
# Standard deviations by which the outlier's label moves, and a move to compare with.
_OUTLIER, _NUDGE = 10.0, 0.1

Ask = Callable[[Sample], Float[np.ndarray, " prompts"]]


@checked(finite=False)
@dataclass(frozen=True)
class KindTest:
    """How far a model is from what a kind of method does.

    `violation` is E(Δŷ)² / E ŷ², and `band` what round-off and randomness of the model
    make of it. Half of the violation is how far the model stays, at least, from every
    method that passes the test.
    """

    name: str
    meaning: str
    violation: Interval
    band: float

    @property
    def broken(self) -> bool:
        """Significantly more than round-off."""
        return self.violation.lower > self.band


@checked(finite=False)
@dataclass(frozen=True)
class Extrapolation:
    """What a model does off the law: `change` is E(Δŷ)² / E ŷ² from what is exact."""

    name: str
    meaning: str
    change: Interval


MEANINGS = {
    "zero labels": "labels of zero are answered with zero",
    "label sums": "predictions add up as labels do",
    "label scale": "the prediction scales with the labels",
    "order": "the order of the examples does not matter",
    "rotation": "rotated inputs, the query too, change nothing",
    "signs": "(−x, −y) says the same as (x, y): not true of local methods",
    "query sums": "predictions add up as queries do",
}
# Which branches of the table a broken test calls for.
CALLS = {
    "zero labels": ("nonlinear", "local"),
    "label sums": ("nonlinear",),
    "label scale": ("nonlinear",),
    "order": ("order",),
    "rotation": ("matrix", "nonlinear"),
    "signs": ("local",),
    "query sums": ("local",),
}


@dataclass(frozen=True)
class Changes:
    """Changed prompts, and a model's answers to all of them."""

    samples: Mapping[str, Sample]
    scale: Float[np.ndarray, " prompts"]

    def answers(self, ask: Ask) -> dict[str, Float[np.ndarray, " prompts"]]:
        """The answers of a model or a member; without those that it refuses."""
        found = {}
        for name, one in self.samples.items():
            try:
                found[name] = ask(one)
            except ValueError:
                if name == "plain":
                    raise
        return found

    def differences(self, a: Mapping) -> dict[str, Float[np.ndarray, " prompts"]]:
        """Of every test what is 0 for a method that passes it."""
        half, at = np.sqrt(0.5), a["plain"]
        largest = np.maximum(self.scale, 1)
        terms = {
            "zero labels": ("no labels", lambda v: v),
            "label sums": (
                "both labels",
                lambda v: v - half * (at + a["other labels"]),
            ),
            "label scale": ("scaled", lambda v: (v - self.scale * at) / largest),
            "order": ("permuted", lambda v: v - at),
            "rotation": ("rotated", lambda v: v - at),
            "signs": ("signs", lambda v: v - at),
            "query sums": (
                "both queries",
                lambda v: v - half * (at + a["other query"]),
            ),
        }
        return {name: f(a[one]) for name, (one, f) in terms.items() if one in a}


def sizes_of(answers: Float[np.ndarray, " prompts"]) -> Float[np.ndarray, " prompts"]:
    """Factors that bring large answers down to so many typical sizes."""
    typical = np.median(np.abs(answers)) / 0.6745
    if typical == 0:
        return np.ones(len(answers))
    return np.minimum(1.0, _BEYOND * typical / np.maximum(np.abs(answers), 1e-300))


def changes(sample: Sample, task: AbstractTask, key: PRNGKeyArray) -> Changes:
    """Prompts of the same law that a method of some kind answers alike."""
    X, y, q = sample.examples, sample.labels, sample.query
    P, n, d = X.shape
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    half = np.sqrt(0.5)
    other = other_labels(sample, task, key)
    order = np.argsort(rng.random((P, n)), axis=1)
    sign = rng.choice([-1.0, 1.0], (P, n))
    # Another prompt's size of labels, so that scaled labels are of the law.
    size = np.linalg.norm(y, axis=1)
    scale = np.divide(np.roll(size, 1), size, out=np.ones(P), where=size > 0)
    turned = np.roll(q, 1, axis=0)
    found = {
        "plain": sample,
        "no labels": Sample(X, 0 * y, q),
        "other labels": Sample(X, other, q),
        "both labels": Sample(X, half * (y + other), q),
        "scaled": Sample(X, scale[:, None] * y, q),
        "permuted": Sample(
            np.take_along_axis(X, order[:, :, None], 1),
            np.take_along_axis(y, order, 1),
            q,
        ),
        "signs": Sample(X * sign[:, :, None], y * sign, q),
        "other query": Sample(X, y, turned),
        "both queries": Sample(X, y, half * (q + turned)),
    }
    if is_even(task) and d > 1:
        R = np.linalg.qr(rng.normal(size=(P, d, d)))[0]
        found["rotated"] = Sample(X @ R, y, np.einsum("pi,pij->pj", q, R))
    return Changes(found, scale)


def kind_tests(
    predictor: AbstractPredictor,
    prompts: Prompt,
    task: AbstractTask,
    *,
    context: int | None = None,
    key: PRNGKeyArray | None = None,
) -> tuple[KindTest, ...]:
    """Hold a model's predictions against those on other prompts of the same law.

    Labels of zero, sums of labels and of queries, labels of another size, examples in
    another order or with both signs turned, and rotated inputs where the law of
    `task` does not change under rotations.
    """
    key = jax.random.key(0) if key is None else key
    sample = Sample.of(prompts, context_of(prompts, context))
    return tested(asking(predictor), changes(sample, task, key), key)[0]


def tested(
    ask: Ask, changed: Changes, key: PRNGKeyArray
) -> tuple[tuple[KindTest, ...], dict[str, Float[np.ndarray, " prompts"]]]:
    """All tests, and the answers that they used."""
    plain = changed.samples["plain"]
    answers = changed.answers(ask)
    sizes = sizes_of(answers["plain"])
    weights = bootstrap_weights(key, len(sizes))
    power = (sizes * answers["plain"]) ** 2
    rng = np.random.default_rng(0)
    shaken = Sample(
        *(
            a * (1 + _SINGLE * rng.normal(size=a.shape))
            for a in (plain.examples, plain.labels, plain.query)
        )
    )
    total = max(float(np.sum(power)), 1e-300)
    off = [
        np.sum((sizes * (ask(one) - answers["plain"])) ** 2) for one in (plain, shaken)
    ]
    band = float(4 * off[0] + 10 * off[1]) / total + _NOTHING
    found = [
        KindTest(name, MEANINGS[name], ratio((sizes * gap) ** 2, power, weights), band)
        for name, gap in changed.differences(answers).items()
    ]
    return tuple(found), answers


def extrapolations(
    predictor: AbstractPredictor,
    prompts: Prompt,
    *,
    context: int | None = None,
    key: PRNGKeyArray | None = None,
) -> tuple[Extrapolation, ...]:
    """Off the law: doubled labels, doubled inputs, and one label as an outlier."""
    key = jax.random.key(0) if key is None else key
    plain = Sample.of(prompts, context_of(prompts, context))
    X, y, q = plain.examples, plain.labels, plain.query
    ask, (P, n) = asking(predictor), y.shape
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    hit = np.zeros((P, n))
    hit[np.arange(P), rng.integers(n, size=P)] = np.std(y)
    first = ask(plain)
    sizes = sizes_of(first)
    weights, power = bootstrap_weights(key, P), (sizes * first) ** 2
    moved = ask(Sample(X, y + _OUTLIER * hit, q)) - first
    small = (ask(Sample(X, y + _NUDGE * hit, q)) - first) * (_OUTLIER / _NUDGE)
    double = ask(Sample(X, 2 * y, q)) - 2 * first
    inputs = ask(Sample(2 * X, y, 2 * q)) - first
    of = lambda gap: ratio((sizes * gap) ** 2, power, weights)  # noqa: E731
    linear = ratio(sizes**2 * moved * small, (sizes * small) ** 2, weights)
    return (
        Extrapolation("doubled labels", "twice the prediction but for", of(double)),
        Extrapolation("doubled inputs", "the prediction changes by", of(inputs)),
        Extrapolation("outlier", "one label 10 σ off changes it by", of(moved)),
        Extrapolation("outlier, linearly", "over what a small move promises:", linear),
    )


def locality(ask: Ask, sample: Sample, other: Float[np.ndarray, "prompts n"]) -> float:
    """How much other labels of the far half change, as a share of near and far."""
    n = sample.labels.shape[1]
    rank = np.argsort(np.argsort(sample.distances, axis=1), axis=1)
    first = ask(sample)
    sizes = sizes_of(first)
    moved = []
    for chosen in (rank >= n - n // 2, rank < n // 2):
        y = np.where(chosen, other, sample.labels)
        gap = ask(Sample(sample.examples, y, sample.query)) - first
        moved.append(float(np.sum((sizes * gap) ** 2)))
    return moved[0] / max(sum(moved), 1e-300)


def asking(predictor: AbstractPredictor) -> Ask:
    """A predictor as a function of samples."""

    def ask(sample: Sample) -> Float[np.ndarray, " prompts"]:
        X, y, q = sample.examples, sample.labels, sample.query
        P, n = y.shape
        batch = batch_of(X, y, q, np.zeros(P), np.full(P, n))
        return predictions(predictor, batch, [n])[:, 0]

    return ask


def other_labels(
    sample: Sample, task: AbstractTask, key: PRNGKeyArray
) -> Float[np.ndarray, "prompts n"]:
    """Labels for the same inputs by the weights of other prompts, with fresh noise."""
    P, n = sample.labels.shape
    d = sample.query.shape[1]
    batch = _sampled(task, key, P, max(n, 4 * d))
    X, y = np.asarray(batch.examples), np.asarray(batch.labels)
    w = np.matmul(np.linalg.pinv(X), y[:, :, None])
    noise = float(np.asarray(getattr(task, "noise_std", 0.0)))
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    clean = np.matmul(sample.examples, w)[:, :, 0]
    return clean + noise * rng.normal(size=clean.shape)


@eqx.filter_jit
def _sampled(task: AbstractTask, key: PRNGKeyArray, prompts: int, examples: int):
    return task.sample_batch(key, prompts, examples)


def is_even(task: AbstractTask) -> bool:
    """Whether rotated inputs have the same law, as far as it is known."""
    covariance = getattr(task, "covariance", None)
    if covariance is None:
        return False
    weights = np.asarray(getattr(task, "weight_covariance", np.eye(task.dimension)))
    identity = np.eye(task.dimension)
    mean = np.asarray(getattr(task, "weight_mean", 0.0))
    even = all(
        np.allclose(M, np.trace(M) / len(M) * identity, atol=1e-9)
        for M in (np.asarray(covariance), weights)
    )
    return even and not np.any(mean)
