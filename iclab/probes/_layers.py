"""Layer by layer: what can be read off a model's stream, and what method that is."""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from iclab.core import AbstractPredictor, Deep, Prompt, checked, require
from iclab.probes._bootstrap import Interval, bootstrap_weights, ratio
from iclab.probes._filter import Filter, context_of, fit_filter
from iclab.probes._predictions import by_chunks, shortened
from iclab.probes._spectra import Moments, Spectra
from iclab.probes._verdict import Verdict, judge
from iclab.tasks import AbstractTask

# Penalties of the read-out, as shares of a feature's power.
_PENALTIES = (1e-10, 1e-8, 1e-6, 1e-4, 1e-2)


@checked(finite=False)
@dataclass(frozen=True)
class Layer:
    """What is known after `blocks` blocks.

    `error` is E(read-out − target)² / E target² of the best linear read-out of the
    stream at the query, on prompts that it was not fitted to, and `filter` is that of
    this read-out. `own_error` is the same of the model's own read-out, taken early.
    `verdict` is that of the read-out as a method of its own.
    """

    blocks: int
    error: Interval
    own_error: Interval
    filter: Filter
    verdict: Verdict | None


@checked(finite=False)
@dataclass(frozen=True)
class Layers:
    """All layers, from the embedding on."""

    layers: tuple[Layer, ...]


@checked(finite=False)
def layers(
    predictor: AbstractPredictor,
    prompts: Prompt,
    *,
    context: int | None = None,
    task: AbstractTask | None = None,
    key: PRNGKeyArray | None = None,
) -> Layers:
    """Read every layer's stream with the linear map that predicts the target best.

    The map is fitted on half of the prompts, its penalty chosen on a quarter of those;
    everything is then measured on the other half. Needs a predictor with
    `streams` and `predictions_by_depth` (`iclab.core.Deep`). With the `task` of the
    prompts every read-out gets a verdict.
    """
    name = type(predictor).__name__
    rule = "one that shows its layers (`streams`, `predictions_by_depth`)"
    require(isinstance(predictor, Deep), "predictor", rule, name)
    n = context_of(prompts, context)
    found = by_chunks(_inside, predictor, shortened(prompts, n))
    own, streams = found[:, :, 0], found[:, :, 1:]
    half = len(own) // 2
    target = np.asarray(prompts.target, float)
    spectra = Moments.of(prompts, n).spectra()
    test = Spectra(spectra.eigenvalues[half:], spectra.parts[half:])
    weights = bootstrap_weights(
        jax.random.key(0) if key is None else key, len(own) - half
    )
    power = target[half:] ** 2
    every = []
    rest = jax.tree.map(lambda leaf: leaf[half:], prompts)
    for blocks in range(own.shape[1]):
        linear, constant = _read_out(streams[:, blocks], target, half)
        answers = streams[half:, blocks] @ linear + constant
        verdict = None
        if task is not None:
            parts = (jnp.asarray(one) for one in (blocks, linear, constant))
            shown = _ReadOut(predictor, *parts)
            verdict = judge(shown, rest, context=n, task=task, key=key)
        every.append(
            Layer(
                blocks,
                ratio((answers - target[half:]) ** 2, power, weights),
                ratio((own[half:, blocks] - target[half:]) ** 2, power, weights),
                fit_filter(test, answers, weights),
                verdict,
            )
        )
    return Layers(tuple(every))


class _ReadOut(AbstractPredictor):
    """An affine map of a model's stream after some blocks."""

    model: Any
    blocks: Int[Array, ""]
    linear: Float[Array, " w"]
    constant: Float[Array, ""]

    def __call__(self, prompt: Prompt) -> Float[Array, ""]:
        stream = jnp.take(self.model.streams(prompt), self.blocks, axis=0)
        return stream @ self.linear + self.constant


@eqx.filter_jit
def _inside(predictor: Any, prompts: Prompt) -> Float[Array, "chunks size states w"]:
    """Own prediction, then the stream, of every state."""

    def one(prompt: Prompt) -> Float[Array, "states w"]:
        own = predictor.predictions_by_depth(prompt)[:, None]
        return jnp.concatenate([own, predictor.streams(prompt).astype(own.dtype)], 1)

    return jax.lax.map(jax.vmap(one), prompts)


def _read_out(
    stream: Float[np.ndarray, "prompts w"],
    target: Float[np.ndarray, " prompts"],
    half: int,
) -> tuple[Float[np.ndarray, " w"], float]:
    """The best affine map from the streams of the first half to the target."""
    inner = half * 3 // 4
    centre = stream[:half].mean(axis=0)
    spread = stream[:half].std(axis=0)
    # What does not vary is no feature: dividing it by its round-off would make it one.
    kept = spread > 1e-7 * (np.abs(centre) + spread).max(initial=0)
    features = (stream[:, kept] - centre[kept]) / spread[kept]
    features = np.column_stack([features, np.ones(len(features))])

    def fitted(rows: slice, penalty: float):
        X, y = features[rows], target[rows]
        system = X.T @ X / len(X) + penalty * np.eye(X.shape[1])
        return np.linalg.solve(system, X.T @ y / len(X))

    def judged(penalty: float) -> float:
        theta = fitted(slice(inner), penalty)
        return float(np.mean((features[inner:half] @ theta - target[inner:half]) ** 2))

    theta = fitted(slice(half), min(_PENALTIES, key=judged))
    linear = np.zeros(stream.shape[1])
    linear[kept] = theta[:-1] / spread[kept]
    return linear, float(theta[-1] - centre @ linear)
