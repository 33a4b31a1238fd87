"""Gradient descent with finite steps on an exact loss."""

import math
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PyTree

from iclab.core import finite_number, positive_integer, require
from iclab.training._diverged import Diverged
from iclab.training._progress import progress

ParametersT = TypeVar("ParametersT")


class TrainingResult(eqx.Module, Generic[ParametersT]):
    """What training ended with, and the loss before every step.

    Where a `record` was asked for, `records` stacks what it gave before the first step
    and then at every step of `recorded_at`.
    """

    final: ParametersT
    losses: Float[Array, " steps"]
    records: PyTree = None
    recorded_at: Int[Array, " records"] | None = None


def descend(
    loss: Callable[[ParametersT], Float[Array, ""]],
    start: ParametersT,
    *,
    steps: int,
    optimiser: optax.GradientTransformation,
    record: Callable[[ParametersT], PyTree] | None = None,
    every: int = 256,
    limit: float = math.inf,
    show_progress: bool | None = None,
) -> TrainingResult[ParametersT]:
    """Minimise `loss` from `start` with an optax optimiser; `optax.sgd` is plain GD.

    `record(parameters)` is kept every `every` steps; between them the progress bar
    moves, and signals are heard. A loss that becomes NaN, infinite or larger than
    `limit` stops with the step at which it did: `Diverged` keeps what was computed
    until then. `show_progress` defaults to whether standard error is a terminal.
    """
    owner = "descend"
    positive_integer(steps, owner, "steps")
    size = min(positive_integer(every, owner, "every"), steps)
    if limit != math.inf:
        finite_number(limit, owner, "limit")
    dynamic, static = _split(owner, start)
    losses, records, recorded_at = [], [], []
    look = None
    if record is not None:
        look = eqx.filter_jit(lambda arrays: record(eqx.combine(arrays, static)))

    def note(arrays: ParametersT, step: int) -> None:
        if look is not None:
            records.append(look(arrays))
            recorded_at.append(step)

    def result(arrays: ParametersT) -> TrainingResult[ParametersT]:
        final, values = eqx.combine(arrays, static), jnp.concatenate(losses)
        if not records:
            return TrainingResult(final, values)
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *records)
        return TrainingResult(final, values, stacked, jnp.array(recorded_at))

    carry = (dynamic, optimiser.init(dynamic), dynamic, jnp.asarray(True))
    note(dynamic, 0)
    with progress(owner, steps, show_progress) as advance:
        for first in range(0, steps, size):
            # One compiled shape serves every chunk: steps past the end are not taken.
            keep = first + np.arange(size) < steps
            carry, values = _chunk(loss, static, optimiser, limit, carry, keep)
            values = values[: steps - first]
            fine = jnp.isfinite(values) & (values <= limit)
            if not bool(jnp.all(fine)):
                bad = int(jnp.argmin(fine))
                losses.append(values[: bad + 1])
                rule = "finite" if limit == math.inf else f"at most {limit:g}"
                raise Diverged(
                    f"{owner}: `loss` must be {rule} (try a smaller learning rate),"
                    f" got {float(values[bad])} at step {first + bad}",
                    result(carry[2]),
                )
            losses.append(values)
            advance(len(values), f"loss {float(values[-1]):.4g}")
            note(carry[0], first + len(values))
    return result(carry[0])


class DescentPath(eqx.Module, Generic[ParametersT]):
    """Every step of a descent: losses and records at the start and after each step.

    `taken` steps were taken; if that is fewer than asked for, the loss left the finite
    numbers there, and what follows repeats.
    """

    final: ParametersT
    losses: Float[Array, " states"]
    records: PyTree
    taken: Int[Array, ""]


def descent_path(
    loss: Callable[[ParametersT], Float[Array, ""]],
    start: ParametersT,
    *,
    steps: int,
    optimiser: optax.GradientTransformation,
    record: Callable[[ParametersT], PyTree] = lambda parameters: None,
) -> DescentPath[ParametersT]:
    """Minimise `loss` in one scan that remembers `record(parameters)` at every step.

    For `jit` and for `vmap` over many starts, where every descent that explodes stays
    where it is without a word: look at `taken`. `descend` is for long runs.
    """
    positive_integer(steps, "descent_path", "steps")
    dynamic, static = _split("descent_path", start)
    evaluate = lambda arrays: loss(eqx.combine(arrays, static))  # noqa: E731

    def one(carry, keep):
        dynamic, *_ = carry
        seen = record(eqx.combine(dynamic, static))
        carry, value = _step(evaluate, optimiser, math.inf, carry, keep)
        return carry, (value, seen)

    carry = (dynamic, optimiser.init(dynamic), dynamic, jnp.asarray(True))
    # One step more than asked for evaluates the last state; it is not taken.
    moves = jnp.arange(steps + 1) < steps
    (dynamic, *_), (losses, records) = jax.lax.scan(one, carry, moves)
    finite = jnp.isfinite(losses)
    taken = jnp.where(jnp.all(finite), steps, jnp.argmin(finite))
    return DescentPath(eqx.combine(dynamic, static), losses, records, taken)


@eqx.filter_jit
def _chunk(loss, static, optimiser, limit, carry, keep):
    """As many steps as `keep` is long. A loss that is a Module brings its arrays as
    arguments, and equal ones compile once.
    """
    evaluate = lambda arrays: loss(eqx.combine(arrays, static))  # noqa: E731
    one = lambda carry, keep: _step(evaluate, optimiser, limit, carry, keep)  # noqa: E731
    return jax.lax.scan(one, carry, keep)


def _step(loss, optimiser, limit, carry, keep):
    """One step; parameters stay where they are once a loss was bad, or not `keep`."""
    dynamic, state, good, alive = carry
    value, gradient = eqx.filter_value_and_grad(loss)(dynamic)
    # Whatever follows a bad loss is not looked at.
    fine = alive & jnp.isfinite(value) & (value <= limit)
    updates, new_state = optimiser.update(gradient, state, dynamic)
    moved = eqx.apply_updates(dynamic, updates)
    carry = (
        _choose(fine & keep, moved, dynamic),
        _choose(fine & keep, new_state, state),
        _choose(fine, dynamic, good),
        fine | (alive & ~keep),
    )
    return carry, value


def _choose(condition: Array, new: PyTree, old: PyTree) -> PyTree:
    pick = lambda a, b: jnp.where(condition, a, b) if eqx.is_array(a) else b  # noqa: E731
    return jax.tree.map(pick, new, old)


def _split(owner: str, start: Any) -> tuple[Any, Any]:
    """What is trained of `start`, and the rest."""
    dynamic, static = eqx.partition(start, eqx.is_inexact_array)
    trained = bool(jax.tree.leaves(dynamic))
    rule = "a pytree with arrays of numbers to train"
    require(trained, owner, "start", rule, "none")
    return dynamic, static
