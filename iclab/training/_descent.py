"""Gradient descent with finite steps on an exact loss."""

import math
from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from iclab.core import Limit, Natural, checked
from iclab.training._core import TrainingRun, split, stepped
from iclab.training._hooks import Recorder
from iclab.training._plan import AnyOptimiser, transformation
from iclab.training._problem import Exact
from iclab.training._progress import ShowProgress
from iclab.training._starts import scalar
from iclab.training._trained import Trained

ParametersT = TypeVar("ParametersT")


@checked(finite=False)
def descend(
    loss: Callable[[ParametersT], Float[Array, ""]],
    start: ParametersT,
    *,
    steps: Natural,
    optimiser: AnyOptimiser,
    record: Callable[[ParametersT], PyTree] | None = None,
    every: Natural = 256,
    limit: Limit = math.inf,
    show_progress: bool | None = None,
) -> Trained[ParametersT]:
    """Minimise `loss` from `start` with an optimiser; `optax.sgd` is plain GD.

    `start` is any pytree of arrays. `record(parameters)` is kept every `every` steps. A
    loss that becomes NaN, infinite or larger than `limit` stops with the step at which
    it did: `Diverged` keeps what was computed until then. `show_progress` defaults to a
    bar on a terminal.
    """
    split(start, "start")
    scalar(loss, start)
    hooks = [] if record is None else [Recorder(record, every)]
    return TrainingRun(
        "descend",
        Exact(loss),
        start,
        optimiser,
        steps=steps,
        hooks=[*hooks, ShowProgress(show_progress)],
        limit=limit,
    ).run()


@checked(finite=False)
def descent_path(
    loss: Callable[[ParametersT], Float[Array, ""]],
    start: ParametersT,
    *,
    steps: Natural,
    optimiser: AnyOptimiser,
    record: Callable[[ParametersT], PyTree] = lambda parameters: None,
) -> Trained[ParametersT]:
    """Minimise `loss` in one scan that remembers `record(parameters)` at every step.

    For `jit` and for `vmap` over many starts. Losses and records are those at the start
    and after each step. A descent that explodes stays where it is without a word, and
    what follows repeats: then `step` is smaller than `steps`. `descend` is for long
    runs.
    """
    scalar(loss, start)
    dynamic, static = split(start, "start")
    rule = transformation(optimiser, steps)
    evaluate = lambda arrays: loss(eqx.combine(arrays, static))  # noqa: E731

    def one(carry, moves):
        seen = record(eqx.combine(carry[0], static))
        carry, fine, value, _ = stepped(evaluate, rule, math.inf, carry, moves)
        return carry, (value, seen, fine)

    carry = (dynamic, rule.init(dynamic), dynamic)
    # One step more than asked for evaluates the last state; it is not taken.
    moves = jnp.arange(steps + 1) < steps
    (dynamic, *_), (losses, records, fine) = jax.lax.scan(one, carry, moves)
    taken = jnp.where(jnp.all(fine), steps, jnp.argmin(fine))
    end, times = eqx.combine(dynamic, static), jnp.arange(steps + 1)
    return Trained(end, losses, taken, records=records, recorded_at=times)
