"""`iclab` with a small catalogue of its own, whose items cost nothing.

As a program this is the real command line, engine, store and report; only the items
are others, and no process of it loads JAX. `write_items` writes their modules.
"""

import dataclasses
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from iclab.evidence import Entry, _runner

# An item begins, a minute is over, or a run says beforehand how long it will be.
_PROGRESS = re.compile(r"begins     |\d+ of \d+ items · |iclab \w+: about ")

_HEAD = '''"""An item of the tests."""

import os
import time
from dataclasses import dataclass

import numpy as np
from iclab.evidence import Claim, Evidence, Figure, Measured, setting


def work(seconds={seconds}):
    """Take a while, then do what the item is for."""
    time.sleep(seconds)
    {body}
'''
_CLAIM = '''

def predict(case):
    """One."""
    return 1.0


def measure(case, key, scale):
    """One, too."""
    work()
    return Measured(1.0, 0.1, "because")


def decoy(case):
    """Two."""
    return 2.0


CLAIM = Claim("{id}", lambda scale: {{"only": 0}}, predict, measure, decoy)
'''
_FIGURE = '''

@dataclass(frozen=True)
class Settings:
    """How many lines, and how steep."""

    lines: tuple[str, ...] = setting("Names of the lines.", ("a", "b", "c"))
    slope: int = setting("Rise from point to point.", 1, paper=2)


def jobs(settings):
    return {{
        name: {{"value": i, "slope": settings.slope}}
        for i, name in enumerate(settings.lines)
    }}


def compute(settings, key):
    """Three numbers."""
    work()
    return {{"x": settings["slope"] * np.arange(3) + settings["value"]}}


def draw(tables):
    """Three lines."""
    import matplotlib.pyplot as plt

    picture, axes = plt.subplots()
    for name, table in tables.items():
        axes.plot(table["x"], label=name)
    return picture


def expect(tables):
    """They rise."""
    {judge}
    least = min(np.diff(table["x"]).min() for table in tables.values())
    return [Evidence("The lines rise", float(least), ">=", 0.5)]


FIGURE = Figure("{id}", "A figure", jobs, compute, draw, expect, settings=Settings)
'''
FIGURE = "ahn2023/figure-quick"


def write_items(
    folder: Path,
    claims: int = 0,
    *,
    figure: bool = False,
    seconds: float = 0.0,
    odd: Mapping[str, str] | None = None,
) -> list[str]:
    """Write a catalogue into `folder`: quick claims, a figure, and odd ones.

    An odd item does what its text says: a claim or a figure while it computes, and a
    figure named `…-judge` while it is judged.
    """
    bodies = dict.fromkeys([f"zhang2023/quick-{n}" for n in range(claims)], "pass")
    bodies |= {FIGURE: "pass"} if figure else {}
    bodies |= odd or {}
    items = folder / "items"
    items.mkdir(parents=True, exist_ok=True)
    for id, body in bodies.items():
        judged = id.endswith("-judge")
        text = (_HEAD + (_FIGURE if "figure" in id else _CLAIM)).format(
            id=id,
            seconds=seconds,
            body="pass" if judged else body,
            judge=body if judged else "pass",
        )
        stem = id.partition("/")[2].replace("-", "_")
        (items / f"{stem}.py").write_text(text)
    (folder / "items.json").write_text(json.dumps(list(bodies)))
    return list(bodies)


def command(folder: Path, *words: str) -> list[str]:
    """The command line that runs `iclab` with the items in `folder`."""
    return [sys.executable, str(Path(__file__)), str(folder), *words]


def run(folder: Path, *words: str, **rest: Any) -> "subprocess.CompletedProcess[str]":
    """Run `iclab` with the items in `folder` to its end; see `complaints`."""
    done = subprocess.run(
        command(folder, *words),
        capture_output=True,
        text=True,
        timeout=300,
        **{"env": environment(), **rest},
    )
    done.stderr = complaints(done.stderr)
    return done


def complaints(errors: str) -> str:
    """Standard error without the lines that only say how far a run is."""
    lines = errors.splitlines(keepends=True)
    return "".join(line for line in lines if not _PROGRESS.match(line))


def environment(**more: str) -> dict[str, str]:
    """Variables for a process that finds this checkout."""
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **more}


def _use(folder: Path) -> None:
    """Put the items in place of those of the papers, in this process."""
    from iclab import papers
    from iclab.papers import _opening

    sys.path.insert(0, str(folder))
    entries = [
        Entry(
            id,
            "figure" if "figure" in id else "claim",
            id,
            "A statement of five words.",
        )
        for id in json.loads((folder / "items.json").read_text())
    ]
    cheap = tuple(
        dataclasses.replace(
            opened,
            entries=tuple(entry for entry in entries if entry.paper == opened.key),
            package="items",
            folder=folder / "items",
        )
        for opened in papers.every_paper()
    )
    _opening._opened = lambda: (cheap, ())


# Processes that do the work import this file too, and find their modules here.
if __name__ in ("__main__", "__mp_main__"):
    # No key is used, so that nothing needs JAX.
    import iclab.evidence

    _runner.case_key = iclab.evidence.case_key = lambda seed, name: None
    _use(Path(sys.argv[1]))
if __name__ == "__main__":
    from iclab.cli import main

    sys.exit(main(sys.argv[2:]))
