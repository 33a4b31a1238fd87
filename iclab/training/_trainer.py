"""Training on samples: long runs that may be stopped, killed and continued."""

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

from iclab.core import Natural, checked, require
from iclab.runs import assigned_devices
from iclab.training._core import TrainingRun
from iclab.training._hooks import Hook, Recorder, Validation
from iclab.training._plan import Optimiser, Plan, described
from iclab.training._problem import AbstractProblem
from iclab.training._progress import ShowProgress
from iclab.training._run_folder import RunFolder
from iclab.training._trained import Trained

ModelT = TypeVar("ModelT", bound=eqx.Module)


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
    ones, or those of a `FixedSet`. They are divided among all devices of all processes
    (see `join_processes`), which changes losses by rounding only.

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
            _Lines(plan, folder, log_every, report),
            *([] if folder is None else [folder, _Signals()]),
            ShowProgress(show_progress, early=out is not None),
        ],
        precision=plan.precision,
    ).run()


class _Lines(Hook):
    """Means since the last line of metrics, and where the run stands."""

    def __init__(
        self,
        plan: Plan,
        folder: RunFolder | None,
        every: int,
        report: Callable[[Mapping[str, Any]], None] | None,
    ):
        self.every = every
        self._plan, self._folder, self._report = plan, folder, report
        self._since = 0

    def begin(self, run: TrainingRun) -> None:
        self._begun = (run.step, time.perf_counter())

    def __call__(self, run: TrainingRun) -> None:
        step = run.step
        if not run.due(self.every) or step == self._since:
            return
        before, self._begun = self._begun, (step, time.perf_counter())
        elapsed = max(self._begun[1] - before[1], 1e-9)
        loss, norm = np.mean(run.history[self._since :], axis=0)
        curriculum, optimiser = run.problem.curriculum, self._plan.optimiser
        row = {
            "step": step,
            "loss": float(loss),
            "gradient_norm": float(norm),
            "points": curriculum.points(step - 1),
            "dimensions": curriculum.dimensions(step - 1),
            "steps_per_second": (step - before[0]) / elapsed,
        }
        if isinstance(optimiser, Optimiser):
            rate = optimiser.rate(self._plan.steps)
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
