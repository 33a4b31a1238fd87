"""Training runs behind the figures: one layer on the exact loss, encoders on tasks.

One layer is trained by Adam on the population loss itself, in float32, with the rates
of Q and w equal, as in the paper. All jobs of a figure share one dictionary, drawn from
a seed of its own that stands in the settings.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array
from matplotlib.axes import Axes

from iclab.evaluation import ridge_distance
from iclab.evidence import Scale
from iclab.models import Encoder, MultiHeadSoftmax
from iclab.papers._drawing import BLUE, VERMILION
from iclab.tasks import GaussianCoefficients, Representation
from iclab.theory import representation_infimum
from iclab.training import TrainingResult, descend, exact_gap

# 10,000 samples in batches of 256: how many steps the paper's epoch has.
EPOCH = 39

# Kinds of tokens, in words.
KINDS = {"unit": "tokens of norm 1 (theory)", "raw": "raw Gaussian tokens (paper)"}

# K, d, m, N and H of a one-layer figure.
ONE_LAYER_SIZES = (
    "dictionary_size",
    "input_dim",
    "feature_dim",
    "context_length",
    "heads",
)

# Coefficients out of domain: λ ~ N(1, 4I).
_OUT_OF_DOMAIN = GaussianCoefficients(1.0, 2.0)

# Streams of a job's key.
_START, _IN, _OUT = range(3)


def one_layer_settings(scale: Scale) -> dict[str, Any]:
    """Sizes of the one-layer figures: those of the paper, except at smoke scale."""
    K, d, m, N, tests = {
        "smoke": (30, 40, 4, 8, 1_000),
        "desk": (200, 100, 20, 30, 200),
        "paper": (200, 100, 20, 30, 200),
    }[scale]
    return _dictionary_settings(K, d, m, N, tests=tests, unit_norm=True)


def one_layer_jobs(scale: Scale, *, paper_every: int) -> dict[str, dict[str, Any]]:
    """A job for tokens of norm 1, as the theory has them, and one for raw ones.

    At `paper` scale, what is seen along training is seen every `paper_every` steps.
    """
    heads, steps, rate, every = {
        "smoke": (16, 400, 1e-2, 20),
        "desk": (64, 400, 1e-2, 10),
        "paper": (64, 200 * EPOCH, 1e-4, paper_every),
    }[scale]
    training = {"heads": heads, "steps": steps, "rate": rate, "every": every}
    common = one_layer_settings(scale) | training
    return {kind: common | {"unit_norm": kind == "unit"} for kind in KINDS}


def encoder_settings(scale: Scale) -> dict[str, Any]:
    """Sizes of the four-layer figures; everything is smaller than the paper's below
    `paper` scale.
    """
    K, d, m, N, width, hidden, samples, batch, rate = {
        "smoke": (12, 4, 2, 5, 16, 32, 640, 32, 3e-3),
        "desk": (24, 8, 3, 8, 32, 64, 1_280, 32, 1e-3),
        "paper": (200, 100, 20, 30, 256, 512, 10_000, 256, 1e-4),
    }[scale]
    return _dictionary_settings(K, d, m, N, tests=200, unit_norm=False) | {
        "layers": 4,
        "width": width,
        "hidden": hidden,
        "samples": samples,
        "batch": batch,
        "rate": rate,
    }


def _dictionary_settings(
    K: int, d: int, m: int, N: int, *, tests: int, unit_norm: bool
) -> dict[str, Any]:
    return {
        "dictionary": 0,
        "dictionary_size": K,
        "input_dim": d,
        "feature_dim": m,
        "context_length": N,
        "noise_variance": 0.01,
        "tests": tests,
        "unit_norm": unit_norm,
    }


def dictionary_of(settings: Mapping[str, Any]) -> Representation:
    """The dictionary that all jobs of a figure share."""
    return Representation.random(
        jax.random.key(settings["dictionary"], impl="rbg"),
        dictionary_size=settings["dictionary_size"],
        input_dim=settings["input_dim"],
        feature_dim=settings["feature_dim"],
        context_length=settings["context_length"],
        noise_variance=settings["noise_variance"],
        unit_norm=settings["unit_norm"],
    )


def quick_key(key: Any) -> Any:
    """The same seed for XLA's own generator, whose programs compile much faster."""
    data = np.asarray(jax.random.key_data(key)).ravel()
    return jax.random.wrap_key_data(jnp.asarray(np.tile(data, 4)[:4]), impl="rbg")


def distances(
    task: Representation, tests: int, key: Any
) -> Callable[[MultiHeadSoftmax | Encoder], tuple[Array, Array]]:
    """‖ŷ − ŷ*‖²/K over unseen tasks, in domain and out of it, each the mean of
    `tests`.
    """
    places = (task, task.with_law(_OUT_OF_DOMAIN))
    # Drawn at once: inside the recorded function they would be drawn again and again.
    labels = tuple(
        _labels(place, jax.random.fold_in(quick_key(key), stream), tests)
        for stream, place in zip((_IN, _OUT), places, strict=True)
    )
    return _Distances(task, labels)


@eqx.filter_jit
def _labels(task: Representation, key: Any, tests: int) -> Array:
    return task.sample_labels_batch(key, tests)


class _Distances(eqx.Module):
    task: Representation
    labels: tuple[Array, ...]

    def __call__(self, model: MultiHeadSoftmax | Encoder) -> tuple[Array, Array]:
        inside, outside = (
            jnp.mean(ridge_distance(model, self.task, rows)[0]) for rows in self.labels
        )
        return inside, outside


def train_one_layer(
    settings: Mapping[str, Any],
    task: Representation,
    heads: int,
    key: Any,
    record: Callable[[MultiHeadSoftmax], Any] | None = None,
) -> TrainingResult[MultiHeadSoftmax]:
    """Adam on L − L*, which has the gradient of L.

    The rate is constant; with `drop_at` in the settings, a tenth of it from that step.
    """
    start = MultiHeadSoftmax.random(
        jax.random.fold_in(quick_key(key), _START),
        heads=heads,
        input_dim=settings["input_dim"],
        dictionary_size=settings["dictionary_size"],
        dtype=jnp.float32,
    )
    return descend(
        exact_gap(task),
        start,
        steps=settings["steps"],
        optimiser=_adam(settings["rate"], settings.get("drop_at")),
        record=record,
        every=settings["every"],
    )


@functools.cache  # one object for one rate, so that equal programs compile once
def _adam(rate: float, drop_at: int | None) -> optax.GradientTransformation:
    if drop_at is None:
        return optax.adam(rate)
    return optax.adam(optax.piecewise_constant_schedule(rate, {drop_at: 0.1}))


def start_encoder(settings: Mapping[str, Any], heads: int, key: Any) -> Encoder:
    """An untrained encoder: the same weights for every number of heads."""
    return Encoder.random(
        jax.random.fold_in(quick_key(key), _START),
        input_dim=settings["input_dim"],
        layers=settings["layers"],
        heads=heads,
        width=settings["width"],
        hidden=settings["hidden"],
    )


def setting_columns(
    settings: Mapping[str, Any], task: Representation, sizes: Sequence[str]
) -> dict[str, Any]:
    """What captions tell, and L*."""
    return {
        "infimum": representation_infimum(
            task.features, task.context_length, task.noise_variance
        ),
        "sizes": [settings[name] for name in sizes],
        "rate": settings["rate"],
        "tests": settings["tests"],
    }


def inference_curves(
    axis: Axes, table: Mapping[str, Any], steps_an_epoch: int, **style: Any
) -> None:
    """Both inference losses by step, on a logarithmic axis, with epochs above."""
    for name, label, kind, color in (
        ("in_domain", "inference loss, in domain", "o-", BLUE),
        ("out_of_domain", "inference loss, out of domain", "s--", VERMILION),
    ):
        style |= {"color": color, "label": label, "markersize": 4}
        axis.plot(table["steps"], table[name], kind, **style)
    axis.set_yscale("log")
    epochs_above(axis, steps_an_epoch)


def epochs_above(axis: Axes, steps_an_epoch: int) -> None:
    """A second horizontal axis that counts epochs instead of steps."""

    def to_epochs(steps: Any) -> Any:
        return steps / steps_an_epoch

    def to_steps(epochs: Any) -> Any:
        return epochs * steps_an_epoch

    top = axis.secondary_xaxis("top", functions=(to_epochs, to_steps))
    top.set_xlabel("epochs", fontsize=8.5)
    top.tick_params(labelsize=8)


def blocks(losses: np.ndarray, every: int) -> np.ndarray:
    """Means over every `every` steps; what does not fill the last block is left out."""
    whole = losses.shape[-1] // every * every
    shape = (*losses.shape[:-1], whole // every, every)
    return losses[..., :whole].reshape(shape).mean(-1)
