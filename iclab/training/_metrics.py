"""A line of JSON for every so many steps, and TensorBoard for those who have it."""

import importlib
import importlib.util
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from iclab._files import open_plain

_TENSORBOARD = "tensorboardX"


class MetricsFile:
    """`metrics.jsonl` of a run, cut back to where the run resumes."""

    def __init__(
        self, path: str | os.PathLike[str], first_step: int, *, tensorboard: bool
    ):
        self.path = Path(path)
        self._writer = None
        if tensorboard:
            self._writer = _tensorboard(self.path.parent / "tensorboard", first_step)
        # Cut where it stands: a run that is killed here keeps the lines before.
        with open_plain(self.path, "a+b") as file:
            file.seek(0)
            file.truncate(_length_until(file.read(), first_step))

    def write(self, row: Mapping[str, Any]) -> None:
        """Append a line, or nothing of it."""
        before = self.path.stat().st_size if self.path.exists() else 0
        try:
            with open_plain(self.path, "ab") as file:
                file.write(json.dumps(row).encode() + b"\n")
        except OSError:
            os.truncate(self.path, before)
            raise
        if self._writer is not None:
            for name, value in row.items():
                if name != "step":
                    self._writer.add_scalar(name, value, row["step"])

    def close(self) -> None:
        """Let TensorBoard finish."""
        if self._writer is not None:
            self._writer.close()


def _length_until(content: bytes, step: int) -> int:
    """Bytes of the lines up to a step; what a crash cut short does not count."""
    length = 0
    for line in content.splitlines(keepends=True):
        try:
            kept = line.endswith(b"\n") and json.loads(line)["step"] <= step
        except (ValueError, KeyError, TypeError):
            kept = False
        if not kept:
            break
        length += len(line)
    return length


def _tensorboard(folder: Path, first_step: int) -> Any:
    if importlib.util.find_spec(_TENSORBOARD) is None:
        raise ValueError(
            f"train: `tensorboard` needs the package {_TENSORBOARD}:"
            f" pip install {_TENSORBOARD}"
        )
    module = importlib.import_module(_TENSORBOARD)
    # What it shows from that step on will be written again.
    return module.SummaryWriter(str(folder), purge_step=first_step + 1)
