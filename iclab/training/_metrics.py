"""A line of JSON for every so many steps, and TensorBoard for those who have it."""

import importlib
import importlib.util
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_TENSORBOARD = "tensorboardX"


class MetricsFile:
    """`metrics.jsonl` of a run, cut back to where the run resumes."""

    def __init__(
        self, path: str | os.PathLike[str], first_step: int, *, tensorboard: bool
    ):
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._writer = None
        if tensorboard:
            self._writer = _tensorboard(self.path.parent / "tensorboard", first_step)
        self._cut(first_step)

    def _cut(self, first_step: int) -> None:
        """Lines of steps that will be taken again, or that a crash cut short, go."""
        kept = []
        if first_step and self.path.is_file():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                try:
                    if json.loads(line)["step"] <= first_step:
                        kept.append(line + "\n")
                except (ValueError, KeyError, TypeError):
                    break
        self.path.write_text("".join(kept), encoding="utf-8")

    def write(self, row: Mapping[str, Any]) -> None:
        """Append a line."""
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        if self._writer is not None:
            for name, value in row.items():
                if name != "step":
                    self._writer.add_scalar(name, value, row["step"])

    def close(self) -> None:
        """Let TensorBoard finish."""
        if self._writer is not None:
            self._writer.close()


def _tensorboard(folder: Path, first_step: int) -> Any:
    if importlib.util.find_spec(_TENSORBOARD) is None:
        raise ValueError(
            f"train: `tensorboard` needs the package {_TENSORBOARD}:"
            f" pip install {_TENSORBOARD}"
        )
    module = importlib.import_module(_TENSORBOARD)
    return module.SummaryWriter(str(folder), purge_step=first_step)
