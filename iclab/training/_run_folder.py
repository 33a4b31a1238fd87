"""What a run leaves in its folder: checkpoints and metrics."""

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from iclab._files import own, refuse_links
from iclab.show import visible
from iclab.training._checkpoint import Checkpoints
from iclab.training._core import TrainingRun
from iclab.training._hooks import Hook
from iclab.training._metrics import MetricsFile
from iclab.training._processes import anywhere, shared

_METRICS = "metrics.jsonl"


class CannotSave(ValueError):
    """A folder that cannot be written to, or a last checkpoint that could not be."""


class RunFolder(Hook):
    """Keeps the whole state of a run and its metrics; a run that resumes begins there.

    Of several processes, process 0 alone uses it. The first checkpoint comes early, so
    that a folder that cannot hold one is known.
    """

    keeps = True

    def __init__(
        self,
        out: str | os.PathLike[str],
        configuration: Mapping[str, Any],
        *,
        every: int = 1000,
        resume: bool = False,
        tensorboard: bool = False,
    ):
        self.every = every
        self._folder = Path(out)
        self._checkpoints = Checkpoints(self._folder / "checkpoints")
        self._configuration = configuration
        self._resume, self._tensorboard = resume, tensorboard
        self._metrics: MetricsFile | None = None  # None where another process writes
        self._last: int | None = None

    def begin(self, run: TrainingRun) -> None:
        if found := self.found(run.state):
            run.restore(*found)
            run.saved_at = found[0]

    def __call__(self, run: TrainingRun) -> None:
        new = run.step > run.first
        if new and (run.due(self.every) or self._last is None):
            self._save(run, last=run.step == run.steps)

    def stopped(self, run: TrainingRun) -> None:
        self._save(run, last=True)

    def close(self) -> None:
        if self._metrics is not None:
            self._metrics.close()

    def found(self, state: dict[str, Any]) -> tuple[int, dict[str, Any]] | None:
        """Step and state to go on from; None at the beginning."""
        found, mistake = None, None
        if jax.process_index() == 0:
            try:
                found = self._open(state)
            except ValueError as error:
                mistake = error
        # The others must not wait for a process 0 that gives up.
        if anywhere(mistake is not None):
            raise mistake or ValueError("train: process 0 cannot begin, and says why")
        if jax.process_count() == 1:
            return found
        # Arrays must be of one shape everywhere; hooks of the others remember nothing.
        step, resumed = shared((np.int32(found[0] if found else 0), found is not None))
        if not resumed:
            return None
        history = np.zeros((int(step), *state["history"].shape[1:]))
        here = found[1] if found else {**state, "history": history, "hooks": {}}
        names = ("model", "optimiser", "history")
        return int(step), here | shared({name: here[name] for name in names})

    def write(self, row: Mapping[str, Any]) -> None:
        """Append a line of metrics; training does not end for lack of one."""
        if self._metrics is None:
            return
        try:
            self._metrics.write(row)
        except OSError as error:
            _warn(f"cannot write {self._metrics.path}: {_why(error)}")

    def _open(self, state: dict[str, Any]) -> tuple[int, dict[str, Any]] | None:
        folder, found = self._folder, None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # What a folder that came from elsewhere may not do: lead out of itself.
            for name in ("checkpoints", _METRICS):
                refuse_links(folder, name)
            with tempfile.TemporaryFile(dir=folder):
                pass  # find out now that nothing can be written there
            steps = self._checkpoints.steps()
            # Of a run with checkpoints, the metrics are ours whoever wrote them.
            own(folder, [_METRICS], known=[_METRICS] if steps else [])
        except OSError as error:
            raise CannotSave(f"cannot write to {folder}: {_why(error)}") from None
        if steps and not self._resume:
            raise ValueError(
                f"{folder} holds checkpoints up to step {steps[0]}: resume, or use"
                " another folder"
            )
        if self._resume:
            found = self._checkpoints.load(state, self._configuration, warn=_warn)
            if found is None:
                _warn(f"no checkpoint in {folder}: starting from the beginning")
            else:
                self._last = found[0]
        path, first = folder / _METRICS, self._last or 0
        try:
            self._metrics = MetricsFile(path, first, tensorboard=self._tensorboard)
        except OSError as error:
            raise CannotSave(f"cannot write {path}: {_why(error)}") from None
        return found

    def _save(self, run: TrainingRun, *, last: bool) -> None:
        """Write a checkpoint; if that fails, say so, and give up only at the end."""
        if self._metrics is None or self._last == run.step:
            return
        try:
            self._checkpoints.save(run.step, run.state, self._configuration)
            self._last = run.saved_at = run.step
        except OSError as error:
            kept = "none" if self._last is None else f"that of step {self._last}"
            text = (
                f"cannot write the checkpoint of step {run.step} to"
                f" {self._checkpoints.folder}: {_why(error)}; the last good one is"
                f" {kept}"
            )
            if last:
                raise CannotSave(text) from None
            _warn(f"{text}; training goes on")


def _why(error: OSError) -> str:
    return error.strerror or str(error)


def _warn(text: str) -> None:
    print(f"iclab: {visible(text)}", file=sys.stderr, flush=True)
