"""Training on fresh samples: long runs that may be stopped, killed and continued."""

import contextlib
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float, PyTree

from iclab.core import positive_integer, require
from iclab.training._checkpoint import Checkpoints
from iclab.training._in_context import AbstractProblem
from iclab.training._metrics import MetricsFile
from iclab.training._plan import Plan, described
from iclab.training._processes import agreed, shared
from iclab.training._progress import progress

ModelT = TypeVar("ModelT", bound=eqx.Module)

# Steps that one compiled call may take, and how long it should last. Between calls the
# progress bar moves and signals are heard. How steps are divided into calls does not
# change a bit of what they compute: the number of steps is an argument of the program.
_LONGEST_CALL, _CALL_SECONDS = 256, 0.5


class NotFinite(ValueError):
    """A loss or a gradient that is NaN or infinite; the message names the step."""


class CannotSave(ValueError):
    """The last checkpoint of a run could not be written."""


class TrainedModel(eqx.Module, Generic[ModelT]):
    """A model after `step` steps, and the losses of the steps taken by this call.

    `stopped_by` is the name of the signal that ended the run early, if one did.
    """

    model: ModelT
    step: int
    losses: Float[np.ndarray, " steps"]
    stopped_by: str | None


def train(
    problem: AbstractProblem,
    model: ModelT,
    plan: Plan,
    *,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    checkpoint_every: int = 1000,
    log_every: int = 100,
    tensorboard: bool = False,
    show_progress: bool | None = None,
    report: Callable[[Mapping[str, Any]], None] | None = None,
) -> TrainedModel[ModelT]:
    """Train `model` on samples of `problem`, `plan.batch` fresh ones a step.

    Step t draws its samples on the device from `fold_in(key, t)`. They are divided
    among all devices of all processes (see `join_processes`), which changes losses by
    rounding only.

    With a folder `out`, the whole state goes to `out/checkpoints` every
    `checkpoint_every` steps, at the end, and on SIGINT or SIGTERM, after which training
    stops; `resume=True` continues from the last whole checkpoint, to the same bits as
    if nothing had happened. Means over `log_every` steps go to `out/metrics.jsonl`, to
    TensorBoard on request, and to `report`.

    A loss that is not finite raises `NotFinite`; the checkpoints before it stay.
    """
    positive_integer(checkpoint_every, "train", "checkpoint_every")
    positive_integer(log_every, "train", "log_every")
    devices = jax.device_count()
    rule = f"a multiple of the number of devices, {devices}"
    require(plan.batch % devices == 0, "train", "batch", rule, plan.batch)
    dtype = jnp.float64 if plan.precision == "float64" else jnp.float32
    parameters, static = eqx.partition(_cast(model, dtype), eqx.is_inexact_array)
    trained = bool(jax.tree.leaves(parameters))
    require(trained, "train", "model", "a model with arrays to train", "none")
    optimiser = plan.optimiser.transformation(plan.steps)
    state = {
        "model": parameters,
        "optimiser": optimiser.init(parameters),
        "recent": np.zeros((0, 2)),  # losses and gradient norms since the last line
    }
    record = _Record(out, described(plan, problem, model), tensorboard=tensorboard)
    step, state = record.begin(state, resume=resume)
    rule = f"at least {step}, where the checkpoint is"
    require(step <= plan.steps, "train", "steps", rule, plan.steps)
    mesh = Mesh(np.array(jax.devices()), ("batch",))
    carry = _everywhere((state["model"], state["optimiser"]), mesh)
    advance_by = _compiled(problem, static, optimiser, plan, mesh)
    recent, losses = state["recent"], [np.zeros(0)]
    pace, logged_at = _Pace(), (step, time.perf_counter())
    stopped_by = None

    def save(*, last: bool) -> None:
        values = {"model": carry[0], "optimiser": carry[1], "recent": recent}
        record.save(step, values, last=last)

    with _heard() as signals, progress("train", plan.steps, show_progress) as advance:
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
                stopped_by = signals[0] if signals else "another process"
                save(last=True)
                break
            start = time.perf_counter()
            carry, taken, fine, values = advance_by(carry, step, count, room)
            new = np.asarray(values, float)[: int(taken)]
            pace.saw(room, len(new), time.perf_counter() - start)
            if not bool(fine):
                raise NotFinite(_explosion(step + len(new) - 1, new[-1], record.last))
            step += len(new)
            losses.append(new[:, 0])
            recent = np.concatenate([recent, new])
            advance(len(new), f"loss {new[-1, 0]:.4g} · {pace.rate:.3g} steps/s")
            if step % log_every == 0 or step == plan.steps:
                now = (step, time.perf_counter())
                row = _row(plan, problem, recent, logged_at, now)
                recent, logged_at = recent[:0], now
                record.write(row)
                if report is not None:
                    report(row)
            if step % checkpoint_every == 0 or step == plan.steps:
                save(last=step == plan.steps)
    record.close()
    final = eqx.combine(jax.tree.map(jnp.asarray, _here(carry[0])), static)
    return TrainedModel(final, step, np.concatenate(losses), stopped_by)


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


def _compiled(
    problem: AbstractProblem,
    static: PyTree,
    optimiser: optax.GradientTransformation,
    plan: Plan,
    mesh: Mesh,
) -> Callable[..., tuple]:
    """(state, step, count, room) -> state after at most `count` steps, how many they
    were, whether all is finite, and the loss and gradient norm of each.
    """
    key = jax.random.key(plan.seed)
    by_sample = NamedSharding(mesh, PartitionSpec("batch"))
    dtype = jnp.float64 if plan.precision == "float64" else jnp.float32

    def loss(parameters, step, room):
        stage = problem.curriculum.stage(step, room)
        keys = jax.random.split(jax.random.fold_in(key, step), plan.batch)
        keys = jax.lax.with_sharding_constraint(keys, by_sample)
        samples = jax.vmap(lambda one: problem.sample(one, stage))(keys)
        if plan.precision == "bfloat16":
            parameters = _cast(parameters, jnp.bfloat16)
        samples = _cast(samples, dtype)
        return problem.loss(eqx.combine(parameters, static), samples, stage)

    def one_step(carry, step, room):
        parameters, memory = carry
        value, gradient = jax.value_and_grad(loss)(parameters, step, room)
        norm = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(gradient)))
        fine = jnp.isfinite(value) & jnp.isfinite(norm)
        updates, new_memory = optimiser.update(gradient, memory, parameters)
        moved = (optax.apply_updates(parameters, updates), new_memory)
        choose = lambda new, old: jnp.where(fine, new, old)  # noqa: E731
        return jax.tree.map(choose, moved, carry), fine, value, norm

    def run(carry, first, count, room):
        def unfinished(loop):
            taken, _, fine, *_ = loop
            return (taken < count) & fine

        def body(loop):
            taken, carry, _, values = loop
            carry, fine, *numbers = one_step(carry, first + taken, room)
            values = values.at[taken].set(jnp.stack(numbers).astype(dtype))
            return taken + 1, carry, fine, values

        empty = jnp.zeros((_LONGEST_CALL, 2), dtype)
        loop = (jnp.int32(0), carry, jnp.asarray(True), empty)
        taken, carry, fine, values = jax.lax.while_loop(unfinished, body, loop)
        return carry, taken, fine, values

    everywhere = NamedSharding(mesh, PartitionSpec())
    compiled = jax.jit(
        run, static_argnums=3, donate_argnums=0, out_shardings=everywhere
    )
    return lambda carry, step, count, room: compiled(
        carry, np.int32(step), np.int32(count), room
    )


class _Record:
    """What a run leaves in its folder; process 0 alone writes."""

    def __init__(self, out, configuration: Mapping[str, Any], *, tensorboard: bool):
        self.last: int | None = None
        self._configuration = configuration
        self._folder = None if out is None else Path(out)
        self._tensorboard = tensorboard
        self._metrics: MetricsFile | None = None
        if self._folder is not None:
            self._checkpoints = Checkpoints(self._folder / "checkpoints")

    def begin(
        self, state: dict[str, Any], *, resume: bool
    ) -> tuple[int, dict[str, Any]]:
        """Step and state to go on from."""
        step = 0
        if self._folder is not None and jax.process_index() == 0:
            step, state = self._open(state, resume=resume)
        if jax.process_count() == 1 or self._folder is None:
            return step, state
        # Vectors of any length cannot be broadcast; the others can do without them.
        weights = {name: state[name] for name in ("model", "optimiser")}
        step, weights = shared((np.int32(step), weights))
        return int(step), state | weights

    def _open(self, state: dict[str, Any], *, resume: bool):
        assert self._folder is not None
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / ".probe").write_bytes(b"")
            (self._folder / ".probe").unlink()
        except OSError as error:
            raise CannotSave(f"cannot write to {self._folder}: {_why(error)}") from None
        steps, step = self._checkpoints.steps(), 0
        if steps and not resume:
            raise ValueError(
                f"{self._folder} holds checkpoints up to step {steps[0]}: resume, or"
                " use another folder"
            )
        if resume:
            found = self._checkpoints.load(state, self._configuration, warn=_warn)
            if found is None:
                _warn(f"no checkpoint in {self._folder}: starting from the beginning")
            else:
                step, state = found
                self.last = step
        path = self._folder / "metrics.jsonl"
        self._metrics = MetricsFile(path, step, tensorboard=self._tensorboard)
        return step, state

    def save(self, step: int, state: PyTree, *, last: bool) -> None:
        """Write a checkpoint; if that fails, say so, and give up only at the end."""
        if self._metrics is None or self.last == step:
            return
        try:
            self._checkpoints.save(step, _here(state), self._configuration)
            self.last = step
        except OSError as error:
            kept = "none" if self.last is None else f"that of step {self.last}"
            text = (
                f"cannot write the checkpoint of step {step} to"
                f" {self._checkpoints.folder}: {_why(error)}; the last good one is"
                f" {kept}"
            )
            if last:
                raise CannotSave(text) from None
            _warn(f"{text}; training goes on")

    def write(self, row: Mapping[str, Any]) -> None:
        """Append a line of metrics; training does not end for lack of one."""
        if self._metrics is None:
            return
        try:
            self._metrics.write(row)
        except OSError as error:
            _warn(f"cannot write {self._metrics.path}: {_why(error)}")

    def close(self) -> None:
        if self._metrics is not None:
            self._metrics.close()


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
def _heard() -> Iterator[list[str]]:
    """Names of the signals that asked to stop; a second one is not waited for."""
    received: list[str] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = {kind: signal.getsignal(kind) for kind in kinds}

    def note(number: int, frame: object) -> None:
        received.append(signal.Signals(number).name)
        signal.signal(number, before[signal.Signals(number)])

    for kind in kinds:
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


def _why(error: OSError) -> str:
    return error.strerror or str(error)


def _warn(text: str) -> None:
    print(f"iclab: {text}", file=sys.stderr, flush=True)
