"""Training with finite steps: on an exact loss, on fresh samples, on a fixed set."""

import math
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from iclab.core import AbstractPredictor, finite_number, positive_integer, require
from iclab.tasks import AbstractTask
from iclab.training._progress import progress

ParametersT = TypeVar("ParametersT")
PredictorT = TypeVar("PredictorT", bound=AbstractPredictor)

# Steps in one compiled call. Between calls the progress bar moves and a loss that is
# not a number is noticed.
_CHUNK = 256


class TrainingResult(eqx.Module, Generic[ParametersT]):
    """What training ended with, and the loss before every step.

    Where a `record` was asked for, `records` stacks what it gave before the first step
    and then at every step of `recorded_at`.
    """

    final: ParametersT
    losses: Float[Array, " steps"]
    records: PyTree = None
    recorded_at: Int[Array, " records"] | None = None


class Diverged(ValueError):
    """Training whose loss left the finite numbers, or its limit.

    `result` keeps what was computed: the losses up to and with the bad one, the records
    so far, and as `final` the last parameters with a good loss.
    """

    def __init__(self, message: str, result: TrainingResult):
        super().__init__(message)
        self.result = result


def descend(
    loss: Callable[[ParametersT], Float[Array, ""]],
    start: ParametersT,
    *,
    steps: int,
    optimiser: optax.GradientTransformation,
    record: Callable[[ParametersT], PyTree] | None = None,
    every: int = _CHUNK,
    limit: float = math.inf,
    show_progress: bool | None = None,
) -> TrainingResult[ParametersT]:
    """Minimise `loss` from `start` with an optax optimiser; `optax.sgd` is plain GD.

    `record(parameters)` is kept every `every` steps. A loss that becomes NaN, infinite
    or larger than `limit` stops with the step at which it did: `Diverged` keeps what
    was computed until then. `show_progress` defaults to whether standard error is a
    terminal.
    """
    return _train(
        lambda parameters, step: loss(parameters),
        start,
        steps=steps,
        optimiser=optimiser,
        owner="descend",
        record=record,
        chunk=positive_integer(every, "descend", "every"),
        limit=limit,
        show_progress=show_progress,
    )


def fit(
    predictor: PredictorT,
    task: AbstractTask,
    *,
    examples: int,
    batch: int,
    steps: int,
    optimiser: optax.GradientTransformation,
    key: PRNGKeyArray,
    show_progress: bool | None = None,
) -> TrainingResult[PredictorT]:
    """Train a predictor on prompts of `examples` examples, `batch` fresh ones a step.

    The loss is the mean squared error on the query. Step t draws its prompts from
    `fold_in(key, t)` on the device.
    """
    positive_integer(examples, "fit", "examples")
    positive_integer(batch, "fit", "batch")
    # A mismatch of dimensions is found here, before anything is compiled.
    jax.eval_shape(lambda: predictor(task.sample(key, examples)))

    def loss(predictor: PredictorT, step: Array) -> Float[Array, ""]:
        prompts = task.sample_batch(jax.random.fold_in(key, step), batch, examples)
        return jnp.mean((jax.vmap(predictor)(prompts) - prompts.target) ** 2)

    return _train(
        loss,
        predictor,
        steps=steps,
        optimiser=optimiser,
        owner="fit",
        show_progress=show_progress,
    )


def fit_fresh(
    loss: Callable[[ParametersT, PRNGKeyArray], Float[Array, ""]],
    start: ParametersT,
    *,
    steps: int,
    optimiser: optax.GradientTransformation,
    key: PRNGKeyArray,
    record: Callable[[ParametersT], PyTree] | None = None,
    every: int = _CHUNK,
    limit: float = math.inf,
    show_progress: bool | None = None,
) -> TrainingResult[ParametersT]:
    """Minimise the mean of `loss(parameters, key)` over keys, a fresh one each step.

    Step t uses `fold_in(key, t)`: the loss draws its own batch. The rest as in
    `descend`.
    """
    return _train(
        lambda parameters, step: loss(parameters, jax.random.fold_in(key, step)),
        start,
        steps=steps,
        optimiser=optimiser,
        owner="fit_fresh",
        record=record,
        chunk=positive_integer(every, "fit_fresh", "every"),
        limit=limit,
        show_progress=show_progress,
    )


def fit_fixed(
    loss: Callable[[ParametersT, Any], Float[Array, ""]],
    start: ParametersT,
    data: PyTree[Array],
    *,
    batch: int,
    epochs: int,
    optimiser: optax.GradientTransformation,
    key: PRNGKeyArray,
    record: Callable[[ParametersT], PyTree] | None = None,
    every: int = 1,
    limit: float = math.inf,
    show_progress: bool | None = None,
) -> TrainingResult[ParametersT]:
    """Minimise the mean of `loss(parameters, batch)` over a fixed set of samples.

    `data` has a leading axis of samples. Every epoch goes through them once, in an
    order of its own drawn from `fold_in(key, epoch)`, in full batches: what does not
    fill the last one waits for the next epoch. `record` is kept every `every` epochs;
    `recorded_at` and `losses` count steps, ⌊samples/batch⌋ an epoch.
    """
    owner = "fit_fixed"
    positive_integer(epochs, owner, "epochs")
    positive_integer(batch, owner, "batch")
    positive_integer(every, owner, "every")
    sizes = {len(leaf) for leaf in jax.tree.leaves(data)}
    rule, found = "arrays with one leading axis of samples", f"{sorted(sizes)} samples"
    require(len(sizes) == 1, owner, "data", rule, found)
    samples = sizes.pop()
    require(batch <= samples, owner, "batch", f"at most {samples} samples", batch)
    an_epoch = samples // batch

    def items(first: Int[Array, ""]) -> Int[Array, "steps batch"]:
        epochs_of = first // an_epoch + jnp.arange(every)
        keys = jax.vmap(lambda epoch: jax.random.fold_in(key, epoch))(epochs_of)
        orders = jax.vmap(lambda one: jax.random.permutation(one, samples))(keys)
        return orders[:, : an_epoch * batch].reshape(every * an_epoch, batch)

    def loss_of(parameters: ParametersT, item: Int[Array, " batch"]):
        return loss(parameters, jax.tree.map(lambda leaf: leaf[item], data))

    return _train(
        loss_of,
        start,
        steps=epochs * an_epoch,
        optimiser=optimiser,
        owner=owner,
        items=items,
        record=record,
        chunk=every * an_epoch,
        limit=limit,
        show_progress=show_progress,
    )


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
    evaluate = lambda arrays, item: loss(eqx.combine(arrays, static))  # noqa: E731

    def one(carry, item):
        dynamic, *_ = carry
        seen = record(eqx.combine(dynamic, static))
        carry, value = _step(evaluate, optimiser, math.inf, carry, item)
        return carry, (value, seen)

    carry = (dynamic, optimiser.init(dynamic), dynamic, jnp.asarray(True))
    # One step more than asked for evaluates the last state; it is not taken.
    moves = jnp.arange(steps + 1) < steps
    (dynamic, *_), (losses, records) = jax.lax.scan(one, carry, (moves, moves))
    finite = jnp.isfinite(losses)
    taken = jnp.where(jnp.all(finite), steps, jnp.argmin(finite))
    return DescentPath(eqx.combine(dynamic, static), losses, records, taken)


def _step(loss, optimiser, limit, carry, item):
    """One step; parameters stay where they are once a loss was bad, or not `keep`."""
    dynamic, state, good, alive = carry
    keep, entry = item
    value, gradient = eqx.filter_value_and_grad(loss)(dynamic, entry)
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


def _train(
    loss: Callable[[ParametersT, Array], Float[Array, ""]],
    start: ParametersT,
    *,
    steps: int,
    optimiser: optax.GradientTransformation,
    owner: str,
    show_progress: bool | None,
    items: Callable[[Int[Array, ""]], PyTree[Array]] | None = None,
    record: Callable[[ParametersT], PyTree] | None = None,
    chunk: int = _CHUNK,
    limit: float = math.inf,
) -> TrainingResult[ParametersT]:
    """Chunks of compiled steps; step t minimises `loss(parameters, items(first)[t])`.

    `items(first)` are those of the chunk that begins at step `first`: the indices of
    the steps unless given.
    """
    positive_integer(steps, owner, "steps")
    if limit != math.inf:
        finite_number(limit, owner, "limit")
    dynamic, static = _split(owner, start)
    size = min(chunk, steps) if items is None else chunk

    def evaluate(arrays, item):
        return loss(eqx.combine(arrays, static), item)

    # One compiled shape serves every chunk: steps past the end are not taken.
    @eqx.filter_jit
    def run(carry, first):
        indices = first + jnp.arange(size)
        entries = indices if items is None else items(first)
        one = lambda carry, item: _step(evaluate, optimiser, limit, carry, item)  # noqa: E731
        return jax.lax.scan(one, carry, (indices < steps, entries))

    records, recorded_at = [], []
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
    losses = []
    note(dynamic, 0)
    with progress(owner, steps, show_progress) as advance:
        for first in range(0, steps, size):
            carry, values = run(carry, jnp.asarray(first))
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
