"""What a run leaves in its folder: checkpoints and metrics."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from iclab.training._checkpoint import Checkpoints
from iclab.training._metrics import MetricsFile
from iclab.training._processes import anywhere, shared


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

    def begin(
        self, state: dict[str, Any], *, resume: bool
    ) -> tuple[int, dict[str, Any]]:
        """Step and state to go on from."""
        if self._folder is None:
            return 0, state
        step, mistake = 0, None
        if jax.process_index() == 0:
            try:
                step, state = self._open(self._folder, state, resume=resume)
            except ValueError as error:
                mistake = error
        # The others must not wait for a process 0 that gives up.
        if anywhere(mistake is not None):
            raise mistake or ValueError("train: process 0 cannot begin, and says why")
        if jax.process_count() == 1:
            return step, state
        # Vectors of any length cannot be broadcast; the others can do without them.
        weights = {name: state[name] for name in ("model", "optimiser")}
        step, weights = shared((np.int32(step), weights))
        return int(step), state | weights

    def _open(
        self, folder: Path, state: dict[str, Any], *, resume: bool
    ) -> tuple[int, dict[str, Any]]:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / ".probe").write_bytes(b"")
            (folder / ".probe").unlink()
        except OSError as error:
            raise CannotSave(f"cannot write to {folder}: {_why(error)}") from None
        steps, step = self._checkpoints.steps(), 0
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
                self.last, state = found
                step = self.last
        path = folder / "metrics.jsonl"
        try:
            self._metrics = MetricsFile(path, step, tensorboard=self._tensorboard)
        except OSError as error:
            raise CannotSave(f"cannot write {path}: {_why(error)}") from None
        return step, state

    def save(self, step: int, state: PyTree, *, last: bool) -> None:
        """Write a checkpoint; if that fails, say so, and give up only at the end."""
        if self._metrics is None or self.last == step:
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
    print(f"iclab: {text}", file=sys.stderr, flush=True)
