"""What a run leaves in its folder: checkpoints and metrics."""

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from iclab._files import own, refuse_links
from iclab.show import visible
from iclab.training._checkpoint import Checkpoints
from iclab.training._metrics import MetricsFile
from iclab.training._processes import anywhere, shared

_METRICS = "metrics.jsonl"


class CannotSave(ValueError):
    """A folder that cannot be written to, or a last checkpoint that could not be."""


class RunFolder:
    """The folder of a run, or none; of several processes, process 0 alone uses it."""

    def __init__(
        self,
        out: str | os.PathLike[str] | None,
        configuration: Mapping[str, Any],
        *,
        tensorboard: bool,
    ):
        self.last: int | None = None
        self._configuration = configuration
        self._folder = None if out is None else Path(out)
        self._tensorboard = tensorboard
        self._metrics: MetricsFile | None = None
        if self._folder is not None:
            self._checkpoints = Checkpoints(self._folder / "checkpoints")

    @property
    def used(self) -> bool:
        """Whether there is a folder."""
        return self._folder is not None

    @property
    def writes(self) -> bool:
        """Whether there is a folder, and this process writes to it."""
        return self._metrics is not None

    def begin(
        self, state: dict[str, Any], *, resume: bool
    ) -> tuple[int, dict[str, Any]] | None:
        """Step and state to go on from; None at the beginning."""
        if self._folder is None:
            return None
        found, mistake = None, None
        if jax.process_index() == 0:
            try:
                found = self._open(self._folder, state, resume=resume)
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

    def _open(
        self, folder: Path, state: dict[str, Any], *, resume: bool
    ) -> tuple[int, dict[str, Any]] | None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # What a folder that came from elsewhere may not do: lead out of itself.
            for name in ("checkpoints", _METRICS):
                refuse_links(folder, name)
            with tempfile.TemporaryFile(dir=folder):
                pass  # find out now that nothing can be written there
            steps, found = self._checkpoints.steps(), None
            # Of a run with checkpoints, the metrics are ours whoever wrote them.
            own(folder, [_METRICS], known=[_METRICS] if steps else [])
        except OSError as error:
            raise CannotSave(f"cannot write to {folder}: {_why(error)}") from None
        if steps and not resume:
            raise ValueError(
                f"{folder} holds checkpoints up to step {steps[0]}: resume, or use"
                " another folder"
            )
        if resume:
            found = self._checkpoints.load(state, self._configuration, warn=_warn)
            if found is None:
                _warn(f"no checkpoint in {folder}: starting from the beginning")
            else:
                self.last = found[0]
        path = folder / _METRICS
        try:
            self._metrics = MetricsFile(
                path, self.last or 0, tensorboard=self._tensorboard
            )
        except OSError as error:
            raise CannotSave(f"cannot write {path}: {_why(error)}") from None
        return found

    def save(self, step: int, state: PyTree, *, last: bool) -> None:
        """Write a checkpoint; if that fails, say so, and give up only at the end."""
        if self.last == step:
            return
        try:
            self._checkpoints.save(step, state, self._configuration)
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
        """Let what reads metrics along the way finish."""
        if self._metrics is not None:
            self._metrics.close()


def _why(error: OSError) -> str:
    return error.strerror or str(error)


def _warn(text: str) -> None:
    print(f"iclab: {visible(text)}", file=sys.stderr, flush=True)
