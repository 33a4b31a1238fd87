"""What is killed: how it starts, what it must keep, and what it must come to."""

import hashlib
import json
import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iclab._files import is_signed
from tests.cli import cheap

# A job says that it has begun, takes a while, and says that it is about to end.
_JOB = (
    "open(os.environ['BEGUN'], 'a').write('+');"
    " time.sleep({seconds}); open(os.environ['BEGUN'], 'a').write('-')"
)

_SWEEP = """
import os
import sys
import time

import iclab


def work(x, seed):
    {job}
    return {{"value": x * 10.0 + seed, "curve": [x, seed]}}


iclab.sweep(work, {{"x": list(range({jobs}))}}, 1, sys.argv[1], jobs=2, quiet=True)
"""

# What may differ between two runs of one thing: when, how long, and the commit, which
# says whether any file of the checkout was changed; names of jobs tell code apart.
TIMES = (
    "begun", "started", "finished", "seconds", "cpu_seconds", "steps_per_second",
    "seconds_of_the_last_part", "commit",
)  # fmt: skip


@dataclass
class Target:
    """A command that is run again and again in one folder until it comes to its end."""

    name: str
    folder: Path
    jobs: int = 12
    seconds: float = 0.3
    environment: dict[str, str] = field(init=False)

    def __post_init__(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log = self.folder / "begun"
        self.environment = cheap.environment(BEGUN=str(self.log))

    def command(self, out: Path) -> list[str]:
        raise NotImplementedError

    def begun(self, out: Path) -> int:
        """How much work has begun in all runs so far."""
        return self.log.read_text().count("+") if self.log.exists() else 0

    def at_work(self, out: Path) -> bool:
        """Whether a job is between its beginning and its end."""
        text = self.log.read_text() if self.log.exists() else ""
        return text.count("+") > text.count("-")

    def forget(self) -> None:
        """Begin a new count: jobs that were killed never say that they end."""
        self.log.unlink(missing_ok=True)

    def kept(self, out: Path) -> dict[str, Any]:
        """What is finished and must be there, the same files, after everything else.

        A job that was run twice would leave another file.
        """
        return {
            manifest.parent.name: [
                (path.name, path.stat().st_ino, path.read_bytes())
                for path in sorted(manifest.parent.iterdir())
                if path.is_file()
            ]
            for manifest in (out / "store").glob("??/*/manifest.json")
        }

    def result(self, out: Path) -> dict[str, Any]:
        """All that the finished folder holds, file by file, but for times."""
        files = {
            path.relative_to(out).as_posix(): path
            for path in out.rglob("*")
            if path.is_file()
        }
        return {
            name: _content(path)
            for name, path in sorted(files.items())
            if not self.is_aside(name)
        }

    def is_aside(self, name: str) -> bool:
        """Whether a file is no part of what was found.

        These are drafts, which whoever was killed left and a later run removes, locks,
        and pages of the report, which `iclab report` writes anew from all the rest.
        """
        first, *rest = name.split("/")
        draft = first == "store" and rest[0] == "drafts"
        return draft or first == "report" or name == ".lock"


class Reproduce(Target):
    """`iclab reproduce` with claims and a figure that cost nothing but time."""

    def __post_init__(self):
        super().__post_init__()
        job = _JOB.format(seconds=self.seconds)
        items = [f"zhang2023/quick-{n}" for n in range(self.jobs - 3)]
        cheap.write_items(self.folder, odd=dict.fromkeys([*items, cheap.FIGURE], job))

    def command(self, out: Path) -> list[str]:
        words = ("reproduce", "--scale", "smoke", "--jobs", "2", "--out", str(out))
        return cheap.command(self.folder, *words)


class Sweep(Target):
    """`iclab.sweep` over a function that costs nothing but time."""

    def __post_init__(self):
        super().__post_init__()
        job = _JOB.format(seconds=self.seconds)
        text = _SWEEP.format(job=job, jobs=self.jobs)
        (self.folder / "script.py").write_text(text)

    def command(self, out: Path) -> list[str]:
        return [sys.executable, str(self.folder / "script.py"), str(out)]


class Train(Target):
    """`iclab train` of a small GPT-2, with a checkpoint at every other step."""

    _STEP = re.compile(r"\d+")

    def __post_init__(self):
        super().__post_init__()
        programs = self.folder / "programs"
        self.environment |= {
            "JAX_COMPILATION_CACHE_DIR": str(programs),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }

    def command(self, out: Path) -> list[str]:
        words = (
            "train zhang2023/gpt2 --size tiny --dimension 3 --context 3 --batch 4"
            f" --steps {20 * self.jobs} --checkpoint-every 2 --log-every 2 --resume"
        )
        return [sys.executable, "-m", "iclab", *words.split(), "--out", str(out)]

    def begun(self, out: Path) -> int:
        return self._newest(out)

    def at_work(self, out: Path) -> bool:
        return 0 < self._newest(out) < 20 * self.jobs

    def kept(self, out: Path) -> dict[str, Any]:
        # Old checkpoints go; the newest step is never behind one that was reached.
        return {f"step {step}": True for step in range(self._newest(out) + 1)}

    def _newest(self, out: Path) -> int:
        names = (
            os.listdir(out / "checkpoints") if (out / "checkpoints").is_dir() else []
        )
        whole = [name for name in names if name.endswith(".safetensors")]
        steps = [int(m[0]) for name in whole if (m := self._STEP.search(name))]
        return max(steps, default=0)


TARGETS = {"reproduce": Reproduce, "train": Train, "sweep": Sweep}


def _content(path: Path) -> Any:
    """What a file holds: values of JSON but for times, of all else a checksum."""
    data = path.read_bytes()
    try:
        if path.suffix == ".json":
            return _without_times(json.loads(data))
        if path.suffix == ".jsonl":
            return [_without_times(json.loads(line)) for line in data.splitlines()]
    except ValueError:
        pass  # damaged: its bytes are what it holds
    return hashlib.sha256(data).hexdigest()


def _without_times(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_times(one) for one in value]
    if not isinstance(value, dict):
        return value
    kept = {k: _without_times(v) for k, v in value.items() if k not in TIMES}
    # A checksum of the object itself covers its times; one that is wrong stays.
    if "sha256" in value and is_signed(value):
        kept["sha256"] = "right"
    return kept
