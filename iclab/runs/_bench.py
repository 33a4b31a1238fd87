"""What a job finds where it is done: a folder of its own, and who shows its progress.

Neither changes what a job computes. In the folder it may keep what would be lost if its
process were killed, and find it again; it is removed with the job's success.
"""

import contextlib
import contextvars
import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from iclab._files import read_inside, write_whole
from iclab._reader import checked

# How far a job is, from 0 to 1, and a few words.
Report = Callable[[float, str], None]

# Seconds between two reports of a job's progress; those between are dropped.
_BETWEEN = 0.5

# The file that says how long earlier attempts at a job took.
_SPENT = "spent"

_T = TypeVar("_T")


@checked
@dataclass
class Bench:
    """Where the running job may keep things, and what takes its progress."""

    folder: Path | None = None
    report: Report | None = None
    # What trainings compute with, if whoever runs the job does not leave it to them.
    precision: str | None = None
    begun: float = field(default_factory=time.monotonic)
    _span: tuple[float, float] = (0.0, 1.0)
    _places: Counter[str] = field(default_factory=Counter)
    _reported: float = -_BETWEEN
    _cpu: float = field(default_factory=time.process_time)
    _before: tuple[float, float] = (0.0, 0.0)

    def place(self, name: str) -> Path | None:
        """A folder for the next piece of work of this name; None where none is kept.

        A job asks for the same ones in the same order whenever it is run.
        """
        number = self._places[name]
        self._places[name] += 1
        place = None if self.folder is None else self.folder / f"{name}-{number}"
        # What was kept may have come from elsewhere: it must not lead out of here.
        return None if place is None or place.is_symlink() else place

    def spent(self) -> tuple[float, float]:
        """Seconds, and those of processors, that earlier attempts took to get here."""
        if self.folder is None:
            return 0.0, 0.0
        try:
            seconds, cpu = map(float, read_inside(self.folder, _SPENT).split())
        except (OSError, ValueError):
            return 0.0, 0.0
        if 0 <= seconds < math.inf and 0 <= cpu < math.inf:
            self._before = (seconds, cpu)
        return self._before

    def kept(self) -> None:
        """Note what it took so far, with something that the next attempt will find."""
        if self.folder is None:
            return
        seconds = self._before[0] + time.monotonic() - self.begun
        cpu = self._before[1] + time.process_time() - self._cpu
        with contextlib.suppress(OSError):
            write_whole(self.folder / _SPENT, f"{seconds} {cpu}\n")

    def progress(self, fraction: float, words: str) -> None:
        """Report how far the present part of the job is."""
        now = time.monotonic()
        if self.report is None or (now - self._reported < _BETWEEN and fraction < 1):
            return
        self._reported = now
        first, last = self._span
        self.report(first + (last - first) * min(max(fraction, 0.0), 1.0), words)


_HERE: contextvars.ContextVar[Bench | None] = contextvars.ContextVar(
    "bench", default=None
)


def bench() -> Bench | None:
    """The bench of the job that is done here; None where no job is."""
    return _HERE.get()


@checked
@contextlib.contextmanager
def at_bench(one: Bench) -> Iterator[None]:
    """Let what is called inside be a job at this bench."""
    token = _HERE.set(one)
    try:
        yield
    finally:
        _HERE.reset(token)


@checked
def progress(fraction: float, words: str = "") -> None:
    """Report how far the running job is, from 0 to 1; outside of a job do nothing."""
    here = bench()
    if here is not None:
        here.progress(fraction, words)


@checked
def job_parts(
    items: Iterable[_T], weights: Sequence[float] | None = None
) -> Iterator[_T]:
    """Pass items through, each a part of the job; progress inside is of that part.

    Parts take as long as one another unless `weights` say otherwise.
    """
    all_items = list(items)
    sizes = [1.0] * len(all_items) if weights is None else [float(w) for w in weights]
    here = bench()
    if here is None or not all_items:
        yield from all_items
        return
    first, last = here._span
    ends = [0.0, *itertools.accumulate(sizes)]
    width, pairs = (last - first) / (ends[-1] or 1.0), itertools.pairwise(ends)
    try:
        for item, (begin, end) in zip(all_items, pairs, strict=True):
            here._span = (first + width * begin, first + width * end)
            here.progress(0.0, "")
            yield item
    finally:
        here._span = (first, last)
