"""How far a sweep is: a bar on a terminal and in a notebook, plain lines elsewhere."""

import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from iclab.runs._events import Outcome
from iclab.runs._notebook import NotebookBar, notebook_bar

# Seconds between plain lines, and between pictures of the bar.
_LINES, _PICTURES = 10.0, 0.2


class Progress:
    """Counts what has ended; shows nothing."""

    def __init__(self, total: int):
        self.total = total
        self.ended_points = self.failed = self.from_store = 0
        self._start = self._shown = time.monotonic()

    # Seconds between two pictures.
    pause = 0.0

    def ended(self, outcome: Outcome) -> None:
        """A point has ended."""
        self.ended_points += 1
        self.failed += outcome.error is not None
        self.from_store += outcome.from_store
        if outcome.error is not None:
            line = outcome.error.strip().splitlines()[-1]
            self.say(f"failed: {outcome.job.label}: {line}")
        now = time.monotonic()
        if now - self._shown >= self.pause or self.ended_points == self.total:
            self._shown = now
            self.show()

    def show(self) -> None:
        """Show where it stands."""

    def say(self, line: str) -> None:
        """Say something that stays."""

    def words(self) -> str:
        """Where it stands, in a line."""
        parts = [f"{self.ended_points}/{self.total} points"]
        parts += [f"{self.from_store} from the store"] if self.from_store else []
        parts += [f"{self.failed} failed"] if self.failed else []
        seconds = time.monotonic() - self._start
        parts.append(f"{seconds:.0f} s")
        new = self.ended_points - self.from_store
        if new >= 3 and self.ended_points < self.total:
            left = seconds / new * (self.total - self.ended_points)
            parts.append(f"≈{left:.0f} s left")
        return " · ".join(parts)


class Lines(Progress):
    """A line now and then, and one for every failure."""

    pause = _LINES

    def show(self) -> None:
        """Print where it stands."""
        self.say(f"sweep: {self.words()}")

    def say(self, line: str) -> None:
        """Print a line."""
        print(line, file=sys.stderr, flush=True)


class Bar(Progress):
    """A bar on a terminal."""

    pause = _PICTURES

    def __init__(self, total: int):
        from rich.console import Console
        from rich.progress import BarColumn, Progress as Rich, TextColumn

        super().__init__(total)
        columns = (TextColumn("sweep"), BarColumn(), TextColumn("{task.fields[words]}"))
        self.rich = Rich(*columns, console=Console(stderr=True, highlight=False))
        self._task = self.rich.add_task("", total=total, words="")

    def show(self) -> None:
        """Move the bar."""
        done = self.ended_points
        self.rich.update(self._task, completed=done, words=self.words())

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        self.rich.console.print(line, markup=False, style="red")


class Notebook(Progress):
    """A bar in the output of a notebook's cell, and a line for every failure."""

    pause = _PICTURES

    def __init__(self, total: int, bar: NotebookBar):
        super().__init__(total)
        self.bar = bar

    def show(self) -> None:
        """Draw the bar anew."""
        self.bar.show(self.ended_points, self.words())

    def say(self, line: str) -> None:
        """Print a line."""
        print(line, file=sys.stderr, flush=True)


@contextlib.contextmanager
def progress(total: int, folder: Path, *, quiet: bool) -> Iterator[Progress]:
    """Show how far a sweep is, where its output goes; say what is kept if it stops."""
    if quiet:
        yield Progress(total)
        return
    show: Progress
    bar = notebook_bar(total, "sweep")
    if bar is not None:
        show, page = Notebook(total, bar), contextlib.closing(bar)
    elif sys.stderr.isatty():
        show = Bar(total)
        page = show.rich
    else:
        show, page = Lines(total), contextlib.nullcontext()
    with page:
        try:
            yield show
        except BaseException:
            kept = f"{show.ended_points - show.failed} of {total} points"
            show.say(
                f"sweep stopped: {kept} are kept in {folder}; called again it goes on"
            )
            raise
