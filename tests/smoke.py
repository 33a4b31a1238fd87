"""One `iclab reproduce --scale smoke` of everything, for all tests that look at it."""

import functools
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from iclab.results import Record, locked, read_run

_TESTS = Path(__file__).parent


@dataclass(frozen=True)
class SmokeRun:
    """How the command ended, and the folder that it left."""

    folder: Path
    code: int
    text: str
    errors: str

    @functools.cached_property
    def records(self) -> Mapping[str, Record]:
        """The record of each item, by id."""
        return read_run(self.folder).records


def smoke_run(root: Path) -> SmokeRun:
    """Run everything once; whoever comes later, in any process, gets the same."""
    ended = root / "smoke.json"
    with locked(root):
        if not ended.exists():
            ended.write_text(json.dumps(_run(root / "smoke")))
    code, text, errors = json.loads(ended.read_text())
    return SmokeRun(root / "smoke", code, text, errors)


def _run(folder: Path) -> tuple[int, str, str]:
    # The checks of this suite in all processes: types, and shapes that must match.
    paths = (_TESTS.parent, _TESTS / "checked", os.environ.get("PYTHONPATH", ""))
    checks = {
        "PYTHONPATH": os.pathsep.join(str(path) for path in paths if str(path)),
        "JAX_NUMPY_RANK_PROMOTION": "raise",
    }
    words = ("reproduce", "--scale", "smoke", "--jobs", "2", "--out", str(folder))
    done = subprocess.run(
        [sys.executable, "-m", "iclab", *words],
        capture_output=True,
        text=True,
        env={**os.environ, **checks},
    )
    return done.returncode, done.stdout, done.stderr
