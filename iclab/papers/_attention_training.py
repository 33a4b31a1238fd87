"""`iclab train attention`: attention of any kind, trained on linear regression."""

import contextlib
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp

from iclab.core import Natural, read, require
from iclab.models import Attention
from iclab.tasks import Exponential, LinearRegression, RandomCovariance
from iclab.training import InContext, Plan

# The stream of a run's seed that is not samples.
_INITIALISATION = 0x1217


@dataclass(frozen=True)
class Settings:
    """A training run: what `models.Attention.random` takes, prompts, and the plan."""

    activation: str = "softmax"
    heads: int = 1
    layers: int = 1
    loops: int | None = None
    weights: Literal["separate", "merged", "sparse"] = "separate"
    key_width: int | None = None
    hidden: int | None = None
    divisor: str | None = None
    query: Literal["absent", "masked", "key"] = "absent"
    residual: bool = True
    covariance: Literal["fixed", "random"] = "fixed"
    context: int = 20
    dimension: int = 5
    steps: int = 4000
    batch: int = 1024
    redraw_every: int = 1
    method: Literal["adam", "adamw", "sgd"] = "adam"
    learning_rate: float = 1e-2
    schedule: Literal["constant", "linear", "cosine", "halving"] = "cosine"
    halve_every: int | None = None
    warmup: int = 0
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = 0.0
    momentum: float = 0.0
    clip: float | None = None
    clip_by: Literal["whole", "matrix"] = "whole"
    start_scale: float = 1.0
    precision: Literal["float32", "float64", "bfloat16"] = "float32"
    seed: int = 0


def build(settings: Settings) -> tuple[InContext, Attention, Plan]:
    """Problem, model at its start, and plan of a run."""
    context = read(settings.context, Natural, "context")
    d = read(settings.dimension, Natural, "dimension")
    kind = Literal["fixed", "random"]
    if read(settings.covariance, kind, "covariance") == "fixed":
        task = LinearRegression(jnp.eye(d))
    else:
        task = RandomCovariance((Exponential(),) * d)
    names = ("activation", "heads", "layers", "loops", "weights", "key_width", "hidden")
    model = Attention.random(
        jax.random.fold_in(jax.random.key(settings.seed), _INITIALISATION),
        dimension=d,
        divisor=_divisor(settings.divisor),
        query=settings.query,
        residual=settings.residual,
        **{name: getattr(settings, name) for name in names},
    )
    return InContext(task, context + 1, positions="final"), model, Plan.of(settings)


def _divisor(word: str | None) -> Any:
    if word in (None, "n", "root"):
        return word
    with contextlib.suppress(ValueError):
        return float(word)
    return require(False, "divisor", "n, root or a number", repr(word))
