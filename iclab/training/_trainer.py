"""Training on samples: long runs that may be stopped, killed and continued."""

import contextlib
import dataclasses
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float, Int, PyTree

from iclab.core import positive_integer, require
from iclab.training._diverged import Diverged
from iclab.training._plan import Plan, described
from iclab.training._problem import AbstractProblem
from iclab.training._processes import agreed
from iclab.training._progress import progress
from iclab.training._run_folder import RunFolder

ModelT = TypeVar("ModelT", bound=eqx.Module)

# Steps that one compiled call may take, and how long it should last. Between calls the
# progress bar moves and signals are heard. How steps are divided into calls does not
# change a bit of what they compute: the number of steps is an argument of the program.
_LONGEST_CALL, _CALL_SECONDS = 256, 0.5


class TrainedModel(eqx.Module, Generic[ModelT]):
    """A model after `step` steps, and the losses of the steps taken by this call.

    `stopped_by` is the name of the signal that ended the run early, if one did. Where a
    `record` was asked for, `records` stacks what it gave at the steps `recorded_at`.
    """

    model: ModelT
    step: int
    losses: Float[np.ndarray, " steps"]
    stopped_by: str | None = None
    records: PyTree = None
    recorded_at: Int[np.ndarray, " records"] | None = None


def train(
    problem: AbstractProblem,
    model: ModelT,
    plan: Plan,
    *,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    checkpoint_every: int = 1000,
    log_every: int = 100,
    record: Callable[[ModelT], PyTree] | None = None,
    report: Callable[[Mapping[str, Any]], None] | None = None,
    tensorboard: bool = False,
    show_progress: bool | None = None,
) -> TrainedModel[ModelT]:
    """Train `model` on samples of `problem`, `plan.batch` of them a step.

    Step t draws its samples on the device from the key of `plan.seed` and t: fresh
    ones, or those of a `FixedSet`. They are divided among all devices of all processes
    (see `join_processes`), which changes losses by rounding only.

    With a folder `out`, the whole state goes to `out/checkpoints` every
    `checkpoint_every` steps, at the end, and on SIGINT or SIGTERM, after which training
    stops; `resume=True` continues from the last whole checkpoint, to the same bits as
    if nothing had happened. Means over `log_every` steps go to `out/metrics.jsonl`, to
    TensorBoard on request, and to `report`; `record(model)` is kept where this call
    begins and with every such line.

    A loss or gradient that is not finite raises `Diverged`; the checkpoints before it
    stay.
    """
    positive_integer(checkpoint_every, "train", "checkpoint_every")
    positive_integer(log_every, "train", "log_every")
    devices = jax.device_count()
    rule = f"a multiple of the number of devices, {devices}"
    require(plan.batch % devices == 0, "train", "batch", rule, plan.batch)
    parameters, static = eqx.partition(
        _cast(model, _precision(plan)), eqx.is_inexact_array
    )
    trained = bool(jax.tree.leaves(parameters))
    require(trained, "train", "model", "a model with arrays to train", "none")
    state = {
        "model": parameters,
        "optimiser": plan.optimiser.transformation(plan.steps).init(parameters),
        "recent": np.zeros((0, 2)),  # losses and gradient norms since the last line
    }
    folder = RunFolder(out, described(plan, problem, model), tensorboard=tensorboard)
    step, state = folder.begin(state, resume=resume)
    rule = f"at least {step}, where the checkpoint is"
    require(step <= plan.steps, "train", "steps", rule, plan.steps)
    program = _program(problem, static, plan)
    carry = _everywhere((state["model"], state["optimiser"]), program.mesh)
    recent, losses = state["recent"], [np.zeros(0)]
    records = _Records(record)
    pace, logged_at = _Pace(), (step, time.perf_counter())

    def now() -> ModelT:
        return eqx.combine(jax.tree.map(jnp.asarray, _here(carry[0])), static)

    def result(step: int, stopped_by: str | None = None) -> TrainedModel[ModelT]:
        taken = np.concatenate(losses)
        return TrainedModel(now(), step, taken, stopped_by, *records.stacked())

    def save(*, last: bool) -> None:
        values = {"model": carry[0], "optimiser": carry[1], "recent": recent}
        folder.save(step, values, last=last)

    with (
        contextlib.closing(folder),
        _heard(out is not None) as signals,
        progress("train", plan.steps, show_progress) as advance,
    ):
        records.note(step, now)
        advance(step, "")
        while step < plan.steps:
            room = problem.curriculum.room(step)
            limit = min(
                plan.steps,
                problem.curriculum.leaves_at(step),
                (step // checkpoint_every + 1) * checkpoint_every,
                (step // log_every + 1) * log_every,
            )
            count = min(pace.steps(room), int(limit) - step)
            count, stop = agreed(count, bool(signals))
            if stop:
                save(last=True)
                return result(step, signals[0] if signals else "another process")
            start = time.perf_counter()
            numbers = (np.array(value, np.int32) for value in (step, count))
            carry, taken, fine, values = _advance((program, room), carry, *numbers)
            new = np.asarray(values, float)[: int(taken)]
            pace.saw(room, len(new), time.perf_counter() - start)
            losses.append(new[:, 0])
            step += len(new)
            if not bool(fine):
                words = _explosion(step - 1, new[-1], folder.last)
                raise Diverged(words, result(step - 1))
            recent = np.concatenate([recent, new])
            advance(len(new), f"loss {new[-1, 0]:.4g} · {pace.rate:.3g} steps/s")
            if step % log_every == 0 or step == plan.steps:
                logged_before, logged_at = logged_at, (step, time.perf_counter())
                row = _row(plan, problem, recent, logged_before, logged_at)
                recent = recent[:0]
                folder.write(row)
                records.note(step, now)
                if report is not None:
                    report(row)
            if step % checkpoint_every == 0 or step == plan.steps:
                save(last=step == plan.steps)
    return result(step)


def _row(
    plan: Plan,
    problem: AbstractProblem,
    recent: np.ndarray,
    before: tuple[int, float],
    now: tuple[int, float],
) -> dict[str, Any]:
    """A line of metrics: means since the last line, and where the run stands."""
    step, elapsed = now[0], max(now[1] - before[1], 1e-9)
    loss, norm = np.mean(recent, axis=0)
    return {
        "step": step,
        "loss": float(loss),
        "gradient_norm": float(norm),
        "learning_rate": float(plan.optimiser.rate(plan.steps)(step - 1)),
        "points": problem.curriculum.points(step - 1),
        "dimensions": problem.curriculum.dimensions(step - 1),
        "steps_per_second": (step - before[0]) / elapsed,
    }


class _Program(eqx.Module):
    """All that steps depend on, apart from the state; equal ones compile once."""

    problem: AbstractProblem
    static: PyTree
    key_data: Array
    plan: Plan
    mesh: Mesh


def _program(problem: AbstractProblem, static: PyTree, plan: Plan) -> _Program:
    mesh = Mesh(np.array(jax.devices()), ("batch",))
    key_data = jax.random.key_data(jax.random.key(plan.seed))
    # Neither the seed nor, as a rule, the number of steps makes another program.
    steps = 1 if plan.endless else plan.steps
    same = dataclasses.replace(plan, seed=0, steps=steps)
    program = _Program(problem, static, key_data, same, mesh)
    arrays, rest = eqx.partition(program, eqx.is_array)
    return eqx.combine(_everywhere(arrays, mesh), rest)


@eqx.filter_jit(donate="all-except-first")
def _advance(
    fixed: tuple[_Program, int], carry: PyTree, first: Any, count: Any
) -> tuple[PyTree, Array, Array, Array]:
    """State after at most `count` steps, how many they were, whether all is finite, and
    the loss and gradient norm of each.
    """
    program, room = fixed
    problem, plan = program.problem, program.plan
    key = jax.random.wrap_key_data(program.key_data)
    by_sample = NamedSharding(program.mesh, PartitionSpec("batch"))
    everywhere = NamedSharding(program.mesh, PartitionSpec())
    dtype = _precision(plan)
    optimiser = plan.optimiser.transformation(plan.steps)

    def loss(parameters, step):
        stage = problem.curriculum.stage(step, room)
        samples = problem.batch(key, step, plan.batch, stage)
        samples = jax.lax.with_sharding_constraint(samples, by_sample)
        if plan.precision == "bfloat16":
            parameters = _cast(parameters, jnp.bfloat16)
        model = eqx.combine(parameters, program.static)
        return problem.loss(model, _cast(samples, dtype), stage)

    def one_step(carry, step):
        parameters, memory = carry
        value, gradient = jax.value_and_grad(loss)(parameters, step)
        norm = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(gradient)))
        fine = jnp.isfinite(value) & jnp.isfinite(norm)
        updates, new_memory = optimiser.update(gradient, memory, parameters)
        moved = (optax.apply_updates(parameters, updates), new_memory)
        choose = lambda new, old: jnp.where(fine, new, old)  # noqa: E731
        return jax.tree.map(choose, moved, carry), fine, value, norm

    def unfinished(loop):
        taken, _, fine, _ = loop
        return (taken < count) & fine

    def body(loop):
        taken, carry, _, values = loop
        carry, fine, *numbers = one_step(carry, first + taken)
        values = values.at[taken].set(jnp.stack(numbers).astype(dtype))
        return taken + 1, carry, fine, values

    empty = jnp.zeros((_LONGEST_CALL, 2), dtype)
    loop = (jnp.int32(0), carry, jnp.asarray(True), empty)
    taken, carry, fine, values = jax.lax.while_loop(unfinished, body, loop)
    return jax.lax.with_sharding_constraint((carry, taken, fine, values), everywhere)


class _Records(Generic[ModelT]):
    """What `record` said about the model, and when."""

    def __init__(self, record: Callable[[ModelT], PyTree] | None):
        self._look = None if record is None else eqx.filter_jit(record)
        self._values: list[PyTree] = []
        self._steps: list[int] = []

    def note(self, step: int, model: Callable[[], ModelT]) -> None:
        if self._look is not None:
            self._values.append(jax.tree.map(np.asarray, self._look(model())))
            self._steps.append(step)

    def stacked(self) -> tuple[PyTree, Int[np.ndarray, " records"] | None]:
        if self._look is None:
            return None, None
        values = jax.tree.map(lambda *leaves: np.stack(leaves), *self._values)
        return values, np.array(self._steps)


class _Pace:
    """How many steps the next call should take to last half a second."""

    def __init__(self):
        self.rate = 0.0
        self._seconds: dict[int, float] = {}
        self._seen: set[int] = set()

    def steps(self, room: int) -> int:
        seconds = self._seconds.get(room, math.inf)
        return int(np.clip(_CALL_SECONDS / seconds, 1, _LONGEST_CALL))

    def saw(self, room: int, steps: int, seconds: float) -> None:
        if room in self._seen:  # the first call compiled
            self._seconds[room] = max(seconds, 1e-9) / max(steps, 1)
            self.rate = 1 / self._seconds[room]
        self._seen.add(room)


@contextlib.contextmanager
def _heard(saves: bool) -> Iterator[list[str]]:
    """Names of the signals that asked to stop; a second one is not waited for.

    A run that saves nothing just ends, like any program.
    """
    received: list[str] = []
    if not saves or threading.current_thread() is not threading.main_thread():
        yield received
        return
    # A handler that is not Python's could not be put back.
    kinds = {kind: signal.getsignal(kind) for kind in (signal.SIGINT, signal.SIGTERM)}
    before = {kind: handler for kind, handler in kinds.items() if handler is not None}

    def note(number: int, frame: object) -> None:
        received.append(signal.Signals(number).name)
        signal.signal(number, before[signal.Signals(number)])

    for kind in before:
        signal.signal(kind, note)
    try:
        yield received
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


def _explosion(step: int, numbers: np.ndarray, last: int | None) -> str:
    loss, norm = numbers
    name, bad = ("loss", loss) if not np.isfinite(loss) else ("gradient", norm)
    kept = "" if last is None else f"; the last checkpoint is of step {last}"
    return (
        f"train: `{name}` must be finite (try a smaller learning rate), got {bad}"
        f" at step {step}{kept}"
    )


def _precision(plan: Plan) -> Any:
    """Type of the weights, of the optimiser's state and of the samples."""
    return jnp.float64 if plan.precision == "float64" else jnp.float32


def _cast(tree: PyTree, dtype: Any) -> PyTree:
    """Floating-point arrays in another precision."""
    floating = lambda leaf: eqx.is_inexact_array(leaf)  # noqa: E731
    return jax.tree.map(lambda a: a.astype(dtype) if floating(a) else a, tree)


def _everywhere(tree: PyTree, mesh: Mesh) -> PyTree:
    """A copy of every array on every device."""
    sharding = NamedSharding(mesh, PartitionSpec())

    def place(leaf: Array | np.ndarray) -> Array:
        value = np.asarray(leaf)
        return jax.make_array_from_callback(value.shape, sharding, lambda i: value[i])

    return jax.tree.map(place, tree)


def _here(tree: PyTree) -> PyTree:
    return jax.tree.map(np.asarray, tree)
