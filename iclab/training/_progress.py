"""A progress bar on a terminal; elsewhere a line now and then."""

import sys
import time
from typing import Any

import jax
import numpy as np

from iclab.core import checked
from iclab.runs import NotebookBar, bench, notebook_bar
from iclab.training._hooks import AnyCourse, Hook

# Seconds until the next line: more in a long run, but never minutes.
_SHORTEST, _LONGEST = 10.0, 60.0


@checked
class Progress(Hook):
    """Says on standard error how far a training is.

    `show=None` moves a bar if standard error is a terminal or this is a notebook, and
    else writes lines, of which the first comes after the first step if `early`, or else
    after a minute.
    Inside of a job it is silent: whoever runs the job says how far it is.
    """

    def __init__(self, show: bool | None = None, *, early: bool = False):
        self._show, self._early = show, early
        self._bar: Any = None
        self._notebook: NotebookBar | None = None
        self._lines = False
        self._said: tuple[int, float] | None = None

    def begin(self, course: AnyCourse) -> None:
        if self._show is None and bench() is not None:
            return  # the job's own process has nothing to say, whoever runs it does
        bar = sys.stderr.isatty() if self._show is None else self._show
        if self._show is not False:
            self._notebook = notebook_bar(course.steps, course.owner)
            bar = bar and self._notebook is None
        if bar:
            self._bar, self._task = _bar(course.owner, course.steps)
            self._bar.start()
        first = jax.process_index() == 0
        silent = bar or self._notebook is not None
        self._lines = self._show is None and not silent and first
        self._begun = time.monotonic()

    def __call__(self, course: AnyCourse) -> None:
        step, steps = course.step, course.steps
        text, shown = "", self._bar is not None or self._notebook is not None
        if shown and step > course.first:
            loss = np.mean(course.losses[-1])
            text = f"loss {loss:.4g} · {course.rate:.3g} steps/s"
        if self._bar is not None:
            self._bar.update(self._task, completed=step, text=text)
        if self._notebook is not None:
            self._notebook.show(step, f"{step:,} of {steps:,}  {text}".rstrip())
        if self._lines and step > course.first and self._due(step == steps):
            before = course.first if self._said is None else self._said[0]
            self._said = (step, time.monotonic())
            words = [f"{course.owner}: step {step:,} of {steps:,}"]
            words += [f"loss {np.mean(course.losses[before:]):.4g}"]
            if course.rate:
                left = _duration((steps - step) / course.rate)
                words += [f"{course.rate:.3g} steps/s", f"{left} left"]
            print("  ".join(words), file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
        if self._notebook is not None:
            self._notebook.close()

    def _due(self, last: bool) -> bool:
        if self._said is None and self._early:
            return True
        now = time.monotonic()
        if self._said is None:
            return now - self._begun >= _LONGEST
        enough = min(max((now - self._begun) / 10, _SHORTEST), _LONGEST)
        return last or now - self._said[1] >= enough


def _bar(title: str, total: int) -> tuple[Any, Any]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[text]}"),
    )
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    return bar, bar.add_task(title, total=total, text="")


def _duration(seconds: float) -> str:
    for size, name in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {name}"
    return f"{seconds:.0f} s"
