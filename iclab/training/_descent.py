"""Gradient descent with finite steps on an exact loss."""

import math
from collections.abc import Callable
from typing import TypeVar

import optax
from jaxtyping import Array, Float, PyTree

from iclab.core import (
    Limit,
    Natural,
    checked,
)
from iclab.training._core import path, split, trained
from iclab.training._hooks import Record
from iclab.training._problem import Exact
from iclab.training._progress import Progress
from iclab.training._starts import scalar
from iclab.training._trained import Trained

ParametersT = TypeVar("ParametersT")


@checked(finite=False)
def descend(
    loss: Callable[[ParametersT], Float[Array, ""]],
    start: ParametersT,
    *,
    steps: Natural,
    optimiser: optax.GradientTransformation,
    record: Callable[[ParametersT], PyTree] | None = None,
    every: Natural = 256,
    limit: Limit = math.inf,
    show_progress: bool | None = None,
) -> Trained[ParametersT]:
    """Minimise `loss` from `start` with an optax optimiser; `optax.sgd` is plain GD.

    `start` is any pytree of arrays. `record(parameters)` is kept every `every` steps. A
    loss that becomes NaN, infinite or larger than `limit` stops with the step at which
    it did: `Diverged` keeps what was computed until then. `show_progress` defaults to a
    bar on a terminal.
    """
    split(start, "start")
    scalar(loss, start)
    return trained(
        "descend",
        Exact(loss),
        start,
        optimiser,
        steps=steps,
        hooks=[
            *([] if record is None else [Record(record, every)]),
            Progress(show_progress),
        ],
        limit=limit,
    )


@checked(finite=False)
def descent_path(
    loss: Callable[[ParametersT], Float[Array, ""]],
    start: ParametersT,
    *,
    steps: Natural,
    optimiser: optax.GradientTransformation,
    record: Callable[[ParametersT], PyTree] = lambda parameters: None,
) -> Trained[ParametersT]:
    """Minimise `loss` in one scan that remembers `record(parameters)` at every step.

    For `jit` and for `vmap` over many starts. Losses and records are those at the start
    and after each step. A descent that explodes stays where it is without a word, and
    what follows repeats: then `step` is smaller than `steps`. `descend` is for long
    runs.
    """
    scalar(loss, start)
    return path(
        loss,
        start,
        steps=steps,
        optimiser=optimiser,
        record=record,
    )
