"""Training runs behind the figures: on sampled tasks, one layer on the exact loss too.

One layer is trained by Adam in float32, with the rates of Q and w equal, as in the
paper: on sampled tasks, as Section 4 has it, and on the population loss itself. All
jobs of a figure share one dictionary, drawn from a seed of its own that stands in the
settings.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int
from matplotlib.axes import Axes

from iclab.core import require
from iclab.evaluation import ridge_distance
from iclab.evidence import setting
from iclab.models import Encoder, MultiHeadSoftmax
from iclab.papers import _drawing as drawing
from iclab.papers._training_runs import quick_key, shared_key
from iclab.tasks import GaussianCoefficients, Representation
from iclab.theory import representation_infimum
from iclab.training import (
    AbstractProblem,
    Curriculum,
    FixedSet,
    OverRepresentation,
    Recorder,
    Stage,
    Trained,
    descend,
    exact_gap,
    fit,
)

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
_TRAINING, _ORDER = 10, 11


@dataclass(frozen=True)
class Layer:
    """Sizes of the one-layer figures: those of the paper, except at smoke scale."""

    dictionary_size: int = setting("Tokens in the dictionary, K.", 200, smoke=30)
    input_dim: int = setting("Dimension d of the tokens.", 100, smoke=40)
    feature_dim: int = setting("Dimension m of their features.", 20, smoke=4)
    context_length: int = setting("Labelled tokens in a prompt, N.", 30, smoke=8)
    noise_variance: float = setting("Variance τ of the label noise.", 0.01)
    tests: int = setting("Unseen tasks of each kind.", 200, smoke=1_000)
    dictionary: int = setting("Seed of the dictionary.", 0, least=0)

    def __post_init__(self):
        N, K = self.context_length, self.dictionary_size
        require(K >= N, "context_length", f"at most `dictionary_size` = {K}", N)


@dataclass(frozen=True)
class TrainedLayer(Layer):
    """Sizes of one layer, and how it is trained."""

    heads: int = setting("Heads H of the layer.", 64, smoke=16)
    steps: int = setting("Steps of Adam.", 400, paper=200 * EPOCH)
    rate: float = setting("Rate of Adam.", 1e-2, paper=1e-4)
    every: int = setting(
        "Steps between two looks at the model.", 10, smoke=20, paper=EPOCH
    )


@dataclass(frozen=True)
class FourLayers(Layer):
    """Sizes of the four-layer figures; smaller than the paper's below `paper` scale."""

    dictionary_size: int = setting(
        "Tokens in the dictionary, K.", 24, smoke=12, paper=200
    )
    input_dim: int = setting("Dimension d of the tokens.", 8, smoke=4, paper=100)
    feature_dim: int = setting("Dimension m of their features.", 3, smoke=2, paper=20)
    context_length: int = setting(
        "Labelled tokens in a prompt, N.", 8, smoke=5, paper=30
    )
    tests: int = setting("Unseen tasks of each kind.", 200)
    width: int = setting("Width of the layers.", 32, smoke=16, paper=256)
    hidden: int = setting("Width inside their networks.", 64, smoke=32, paper=512)
    samples: int = setting("Tasks to train on.", 1_280, smoke=640, paper=10_000)
    batch: int = setting("Tasks at every step.", 32, paper=256)
    rate: float = setting("Rate of Adam.", 1e-3, smoke=3e-3, paper=1e-4)

    def __post_init__(self):
        super().__post_init__()
        rule = f"at least `batch` = {self.batch}"
        few = self.samples < self.batch
        require(not few, "samples", rule, self.samples)


def one_layer_jobs(settings: TrainedLayer) -> dict[str, dict[str, Any]]:
    """A job for tokens of norm 1, as the theory has them, and one for raw ones."""
    common = dataclasses.asdict(settings)
    return {kind: common | {"unit_norm": kind == "unit"} for kind in KINDS}


def four_layer_job(settings: FourLayers) -> dict[str, Any]:
    """What a job needs to train four layers on raw tokens."""
    names = [field.name for field in dataclasses.fields(FourLayers)]
    sizes = {name: getattr(settings, name) for name in names}
    return sizes | {"unit_norm": False, "layers": 4}


def dictionary_of(settings: Mapping[str, Any]) -> Representation:
    """The dictionary that all jobs of a figure share, another one for every seed."""
    key = jax.random.key(settings["dictionary"], impl="rbg")
    return Representation.random(
        shared_key(key, settings.get("seed", 0)),
        dictionary_size=settings["dictionary_size"],
        input_dim=settings["input_dim"],
        feature_dim=settings["feature_dim"],
        context_length=settings["context_length"],
        noise_variance=settings["noise_variance"],
        unit_norm=settings["unit_norm"],
    )


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
) -> Trained[MultiHeadSoftmax]:
    """Adam with a constant rate on L − L*, which has the gradient of L."""
    return descend(
        exact_gap(task),
        _start(settings, heads, key),
        steps=settings["steps"],
        optimiser=_adam(settings["rate"]),
        record=record,
        every=settings["every"],
    )


def train_on_tasks(
    settings: Mapping[str, Any],
    task: Representation,
    heads: int,
    key: Any,
    record: Callable[[MultiHeadSoftmax], Any],
    *,
    tasks: Any,
) -> Trained[MultiHeadSoftmax]:
    """Adam with a constant rate on a fixed set of tasks, drawn from the key `tasks`."""
    return fit(
        fixed_tasks(settings, task, tasks, settings["steps"]),
        _start(settings, heads, key),
        _adam(settings["rate"]),
        steps=settings["steps"],
        batch=settings["batch"],
        key=tasks,  # of no effect: what each step sees is drawn beforehand
        hooks=[Recorder(record, settings["every"])],
        precision="float32",
    )


class _Ordered(AbstractProblem):
    """A fixed set, of which `order` says what each step sees."""

    curriculum: Curriculum
    data: FixedSet
    order: Int[Array, "steps batch"]

    def sample(self, key: Any, stage: Stage) -> Float[Array, " K"]:
        return self.data.sample(key, stage)

    def batch(
        self, key: Any, step: Int[Array, ""], size: int, stage: Stage
    ) -> Float[Array, "batch K"]:
        return self.data.samples[self.order[step]]

    def loss(
        self, model: Any, samples: Float[Array, "batch K"], stage: Stage
    ) -> Float[Array, ""]:
        return self.data.loss(model, samples, stage)


def fixed_tasks(
    settings: Mapping[str, Any], task: Representation, key: Any, steps: int
) -> AbstractProblem:
    """Sampled tasks, seen once an epoch in full batches, in an order of its own.

    The key alone decides, and a longer run begins like a shorter one. Orders are drawn
    beforehand: sorting ten thousand numbers takes longer than a step of forty heads.
    """
    count, batch = settings["samples"], settings["batch"]
    training = jax.random.fold_in(quick_key(key), _TRAINING)
    data = FixedSet(OverRepresentation(task), count, key=training)
    seed = jax.random.key_data(jax.random.fold_in(key, _ORDER))
    random, an_epoch = np.random.default_rng(np.asarray(seed).tolist()), count // batch
    epochs = -(-steps // an_epoch)
    orders = [random.permutation(count)[: an_epoch * batch] for _ in range(epochs)]
    order = np.concatenate(orders).reshape(-1, batch)[:steps]
    return _Ordered(data.curriculum, data, jnp.asarray(order, jnp.int32))


def _start(settings: Mapping[str, Any], heads: int, key: Any) -> MultiHeadSoftmax:
    return MultiHeadSoftmax.random(
        jax.random.fold_in(quick_key(key), _START),
        heads=heads,
        input_dim=settings["input_dim"],
        dictionary_size=settings["dictionary_size"],
        dtype=jnp.float32,
    )


@functools.cache  # one object for one rate, so that equal programs compile once
def _adam(rate: float) -> optax.GradientTransformation:
    return optax.adam(rate)


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
        "noise_variance": settings["noise_variance"],
    }


def inference_curves(
    axis: Axes, table: Mapping[str, Any], steps_an_epoch: int, **style: Any
) -> None:
    """Both inference losses by step, on a logarithmic axis, with epochs above."""
    for name, label, kind, color in (
        ("in_domain", "inference loss, in domain", "o-", drawing.BLUE),
        ("out_of_domain", "inference loss, out of domain", "s--", drawing.VERMILION),
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
