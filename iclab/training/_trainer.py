"""Training on samples: long runs that may be stopped, killed and continued."""

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PyTree

from iclab.core import Limit, Natural, Size, checked, require
from iclab.runs import assigned_devices
from iclab.show import tell
from iclab.training._core import Keys, TrainingRun
from iclab.training._hooks import Hook, Recorder, Validation
from iclab.training._plan import AnyOptimiser, Optimiser, Plan, Precision, described
from iclab.training._problem import AbstractProblem, Exact
from iclab.training._progress import ShowProgress
from iclab.training._run_folder import RunFolder
from iclab.training._trained import Trained

ModelT = TypeVar("ModelT", bound=eqx.Module)
AnyModelT = TypeVar("AnyModelT")


@checked(finite=False)
def fit(
    problem: AbstractProblem,
    model: AnyModelT,
    optimiser: AnyOptimiser,
    *,
    steps: Natural,
    batch: Natural = 1,
    redraw_every: Natural = 1,
    key: Keys | None = None,
    runs: tuple[Size, ...] = (),
    hooks: Sequence[Hook] = (),
    limit: Limit = math.inf,
    precision: Precision | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    checkpoint_every: Natural = 1000,
) -> Trained[AnyModelT]:
    """Train `model` on `problem` for `steps` steps of an `Optimiser` or one of optax.

    Step t sees `batch` samples that `problem` draws from `key` and t; each batch serves
    for `redraw_every` steps. Arrays of floating-point numbers are trained, in the
    precision that they have unless `precision` says otherwise. `hooks` look on, record
    and stop: see `Hook`. With a folder `out`, checkpoints are kept there and `resume`
    goes on from them, as in `train`. Inside of a job the state is kept in the job's
    folder: a job that was killed goes on from it.

    Many runs go side by side in one program where every array of `model` has the axes
    `runs` in front, such as (learning rates, seeds). Runs along the last of them draw
    samples of their own, from `fold_in(key, i)` unless there are as many keys; along
    the others all see the same. Axes of the result are those of the model; in `losses`
    they follow the steps.

    A loss or gradient that is not finite, or a loss above `limit`, raises `Diverged`.
    """
    if key is None:
        key = jax.random.key(0)
        if not isinstance(problem, Exact):
            tell("iclab: fit: without a `key` samples are those of jax.random.key(0)")
    kept: list[Hook] = []
    if out is not None:
        settings = {
            "steps": steps,
            "batch": batch,
            "redraw_every": redraw_every,
            "optimiser": optimiser,
            "key": np.asarray(jax.random.key_data(key)),
            "runs": runs,
            "limit": limit,
            "precision": precision,
        }
        configuration = described(settings, problem, model)
        folder = RunFolder(out, configuration, every=checkpoint_every, resume=resume)
        kept = [_Lines(folder, checkpoint_every), folder, _Signals()]
    return TrainingRun(
        "fit", problem, model, optimiser, steps=steps, batch=batch, key=key, runs=runs,
        hooks=[*hooks, *kept], limit=limit, precision=precision,
        redraw_every=redraw_every,
    ).run()  # fmt: skip


@checked(finite=False)
def train(
    problem: AbstractProblem,
    model: ModelT,
    plan: Plan,
    *,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    checkpoint_every: Natural = 1000,
    log_every: Natural = 100,
    record: Callable[[ModelT], PyTree] | None = None,
    report: Callable[[Mapping[str, Any]], None] | None = None,
    hooks: Sequence[Hook] = (),
    tensorboard: bool = False,
    show_progress: bool | None = None,
) -> Trained[ModelT]:
    """Train `model` on samples of `problem`, `plan.batch` of them a step.

    Step t draws its samples on the device from the key of `plan.seed` and t: fresh
    ones (the same for `plan.redraw_every` steps), or those of a `FixedSet`. They are
    divided among all devices of all processes (see `join_processes`), which changes
    losses by rounding only.

    With a folder `out`, the whole state goes to `out/checkpoints` after the first call,
    every `checkpoint_every` steps, at the end, and on SIGINT or SIGTERM, after which
    training stops; `resume=True` continues from the last whole checkpoint, to the same
    bits as if nothing had happened. Means over `log_every` steps go to
    `out/metrics.jsonl`, to TensorBoard on request, and to `report`; `record(model)` is
    kept at the beginning and with every such line. `hooks` do what else there is to do,
    such as `Validation` and `EarlyStopping`.

    A loss or gradient that is not finite raises `Diverged`; the checkpoints before it
    stay.
    """
    devices = len(assigned_devices())
    rule = f"a multiple of the number of devices, {devices}"
    require(plan.batch % devices == 0, "batch", rule, plan.batch)
    scaled = lambda leaf: plan.start_scale * leaf  # noqa: E731
    trained, rest = eqx.partition(model, eqx.is_inexact_array)
    if plan.start_scale != 1:
        model = eqx.combine(jax.tree.map(scaled, trained), rest)
    folder = None
    if out is not None:
        folder = RunFolder(
            out,
            described(plan, problem, model),
            every=checkpoint_every,
            resume=resume,
            tensorboard=tensorboard,
        )
    return TrainingRun(
        "train",
        problem,
        model,
        plan.optimiser,
        steps=plan.steps,
        batch=plan.batch,
        key=jax.random.key(plan.seed),
        hooks=[
            *([] if record is None else [Recorder(record, log_every)]),
            *hooks,
            _Lines(folder, log_every, report),
            *([] if folder is None else [folder, _Signals()]),
            ShowProgress(show_progress, early=out is not None),
        ],
        precision=plan.precision,
        redraw_every=plan.redraw_every,
    ).run()


class _Lines(Hook):
    """Means since the last line of metrics, and where the run stands."""

    def __init__(
        self,
        folder: RunFolder | None,
        every: int,
        report: Callable[[Mapping[str, Any]], None] | None = None,
    ):
        self.every = every
        self._folder, self._report = folder, report
        self._since = 0

    def begin(self, run: TrainingRun) -> None:
        self._begun = (run.step, time.perf_counter())

    def __call__(self, run: TrainingRun) -> None:
        step = run.step
        if not run.due(self.every) or step == self._since:
            return
        before, self._begun = self._begun, (step, time.perf_counter())
        elapsed = max(self._begun[1] - before[1], 1e-9)
        means = np.moveaxis(np.mean(run.history[self._since :], axis=0), -1, 0)
        loss, norm = means.tolist()  # numbers, or lists where runs go side by side
        curriculum, optimiser = run.problem.curriculum, run.optimiser
        row = {
            "step": step,
            "loss": loss,
            "gradient_norm": norm,
            "points": curriculum.points(step - 1),
            "dimensions": curriculum.dimensions(step - 1),
            "steps_per_second": (step - before[0]) / elapsed,
        }
        if isinstance(optimiser, Optimiser):
            rate = optimiser.rate(run.steps)
            row["learning_rate"] = float(rate(step - 1))
        for hook in run.hooks:
            if isinstance(hook, Validation):
                row["validation"] = float(hook.losses[-1])
        self._since = step
        if self._folder is not None:
            self._folder.write(row)
        if self._report is not None:
            self._report(row)

    @property
    def memory(self) -> dict[str, np.ndarray]:
        return {"since": np.array(self._since)}

    def recall(self, memory: dict[str, np.ndarray], run: TrainingRun) -> None:
        self._since = int(memory["since"])
        self._begun = (run.step, time.perf_counter())


class _Signals(Hook):
    """Ends training at SIGINT or SIGTERM; a second one is not waited for.

    A run that saves nothing just ends, like any program.
    """

    def __init__(self):
        self._received: list[str] = []
        self._before: dict[signal.Signals, Any] = {}

    def begin(self, run: TrainingRun) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        # A handler that is not Python's could not be put back.
        kinds = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
        self._before = {one: old for one, old in kinds.items() if old is not None}
        for kind in self._before:
            signal.signal(kind, self._note)

    def __call__(self, run: TrainingRun) -> str | None:
        return self._received[0] if self._received else None

    def close(self) -> None:
        for kind, handler in self._before.items():
            signal.signal(kind, handler)

    def _note(self, number: int, frame: object) -> None:
        self._received.append(signal.Signals(number).name)
        signal.signal(number, self._before[signal.Signals(number)])
