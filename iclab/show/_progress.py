"""How far something is: a table and a bar on a terminal and in a notebook, lines
elsewhere.
"""

import html
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TextIO

from iclab.show._numbers import duration, of
from iclab.show._table import table
from iclab.show._terminal import tell
from iclab.show.palette import VERDICTS

if TYPE_CHECKING:
    from rich.console import Console, Group

# Share of the work from which the rest can be guessed, and the most that is believed
# of a task that says nothing.
_TELLING, _SILENT = 0.05, 0.95
# Seconds between two lines: more in a long run, but never minutes.
_SHORTEST, _LONGEST = 10.0, 60.0
# Seconds between two pictures in a notebook, and how many rows it shows.
_PAUSE, _ROWS = 0.2, 20
_HEAD = ("state", "", "time")


@dataclass
class Task:
    """Something that is done; `expected` are the seconds that it took elsewhere."""

    name: str
    expected: float | None = None
    begun: float | None = None
    first: float = 0.0
    share: float = 0.0
    words: str = ""
    how: str | None = None
    seconds: float | None = None
    cached: bool = False

    @property
    def running(self) -> bool:
        """Whether it has begun and not ended."""
        return self.begun is not None and self.how is None

    def done(self, now: float, usual: float | None) -> float:
        """How much of it is done: by its own words, or by what is expected or usual."""
        seconds = self.expected or usual
        if self.how is not None:
            return 1.0
        if self.begun is None or self.share or not seconds:
            return self.share
        return min((now - self.begun) / seconds, _SILENT)

    def cells(self, now: float, *, over: bool = False) -> tuple[str, str, str, str]:
        """Its row in a table: name, state, words, time."""
        seconds, state, words = self.seconds, self.how or "", self.words
        if self.how is not None:
            words = "from the store" if self.cached else ""
        elif self.begun is None:
            state = "waiting"
        else:
            state = "stopped" if over else "running"
            state = f"{100 * self.share:.0f} %" if self.share and not over else state
            seconds = now - self.begun
        return self.name, state, words, "" if seconds is None else duration(seconds)


class Display:
    """Keeps how far things are, and shows nothing; the others show it."""

    over = True

    def begin(
        self,
        total: int | Mapping[str, float | None],
        title: str = "",
        unit: str = "item",
    ) -> Self:
        """So many tasks begin; or these, with the seconds that each is expected to
        take, and then they are shown by name.
        """
        names = total if isinstance(total, Mapping) else {}
        self.total = total if isinstance(total, int) else len(total)
        self.named = bool(names)
        self.title, self.unit, self.words = title, unit, ""
        self.tasks = {name: Task(name, seconds) for name, seconds in names.items()}
        self.ended_last: list[Task] = []
        self.start, self.over = time.monotonic(), False
        self.open()
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def started(self, name: str, share: float = 0.0) -> None:
        """A task has begun, or goes on where so much of it was done before."""
        task = self._task(name)
        if task.begun is None:
            task.begun, task.first, task.share = time.monotonic(), share, share
            self.changed(task)

    def told(self, name: str, share: float, words: str = "") -> None:
        """So much of a task is done; without a name, what the whole is at."""
        if not name:
            self.words = words
            return self.changed()
        task = self._task(name)
        task.share, task.words = share, words or task.words
        return self.changed()

    def ended(
        self,
        name: str,
        how: str = "",
        *,
        seconds: float | None = None,
        cached: bool = False,
    ) -> None:
        """A task has ended: how (a verdict, "failed"), and whether it was cached."""
        task = self._task(name)
        now = time.monotonic()
        task.seconds = now - (task.begun or now) if seconds is None else seconds
        task.how, task.cached = how, cached
        self.ended_last.append(task)
        self.changed()

    def note(self, line: str, *, minor: bool = False, how: str = "") -> None:
        """A line that stays; a minor one where only lines are shown."""

    def close(self) -> None:
        """Nothing happens any more."""
        if not self.over:
            self.over = True
            self.end()

    def open(self) -> None:
        """Begin to show."""

    def end(self) -> None:
        """Show a last time."""

    def changed(self, begun: Task | None = None) -> None:
        """Something has changed: perhaps a task has begun."""

    def _task(self, name: str) -> Task:
        return self.tasks.setdefault(name, Task(name))

    def _work(self, now: float) -> tuple[float, float, float]:
        """Work that is done, of all, and before this began, in seconds or in tasks."""
        every = [task for task in list(self.tasks.values()) if not task.cached]
        known = [
            seconds for task in every if (seconds := task.expected or task.seconds)
        ]
        usual = sum(known) / len(known) if known else None
        done = first = 0.0
        whole = (usual or 1.0) * (self.total - len(self.tasks))
        for task in every:
            weight = task.expected or usual or 1.0
            done += weight * task.done(now, usual)
            first += weight * task.first
            whole += weight
        return done, whole, first

    def share(self, now: float) -> float:
        """How much of everything is done; what was cached is done."""
        done, whole, _ = self._work(now)
        cached = sum(task.cached for task in list(self.tasks.values()))
        new = done / whole if whole else 1.0
        return (cached + new * (self.total - cached)) / max(self.total, 1)

    def left(self, now: float) -> float | None:
        """Seconds to the end, if it goes on as it went; None if that is unknown."""
        done, whole, first = self._work(now)
        new = done - first
        few = new < _TELLING * (whole - first) and self.total > 1
        if few or new <= 0:
            return None
        return (now - self.start) * (whole - done) / new

    def status(self, now: float) -> str:
        """Where it stands, in a line."""
        counts = Counter(one.how for one in self.ended_last if one.how)
        order = [*VERDICTS, *(how for how in counts if how not in VERDICTS)]
        cached = sum(one.cached for one in self.ended_last)
        parts = [of(len(self.ended_last), self.total, self.unit)]
        if self.total == 1 and not self.named:
            parts = [one.words for one in self.tasks.values()]
        parts += [", ".join(f"{counts[how]} {how}" for how in order if counts[how])]
        parts += [f"{cached} from the store"] if cached and not self.named else []
        parts += [duration(now - self.start), self.words]
        left = None if self.words or self.over else self.left(now)
        parts += [f"≈{duration(left)} left"] if left is not None and left >= 1 else []
        text = " · ".join(part for part in parts if part)
        return f"{self.title}: {text}" if self.title else text

    def shown(self, most: int) -> list[Task]:
        """Rows that fit: all that runs, what ended last, and what comes next."""
        every = list(self.tasks.values()) if self.named else []
        running = [task for task in every if task.running][:most]
        most -= len(running)
        ended = self.ended_last[-most:] if most and self.named else []
        most -= len(ended)
        waiting = [task for task in every if task.begun is None and task.how is None]
        return [*ended, *running, *([] if self.over else waiting[:most])]


class Lines(Display):
    """Lines: notes on `out` if there is one, and on standard error when a named task
    begins, and how far all is, not before `patience` seconds and then now and then.
    """

    def __init__(self, out: TextIO | None = None, patience: float = _LONGEST):
        self._out, self._patience = out, patience

    def open(self) -> None:
        """Begin to look at the clock."""
        self._said: float | None = None
        self._ends = threading.Event()
        self._clock = threading.Thread(target=self._tick, daemon=True)
        self._clock.start()

    def changed(self, begun: Task | None = None) -> None:
        """Say what has begun, if anything has, or else how far all is."""
        if begun is None:
            self._say_status()
        elif self.named and self._out is not None:
            self._say(f"begins     {begun.name}")

    def note(self, line: str, *, minor: bool = False, how: str = "") -> None:
        """Print the line."""
        if self._out is not None:
            print(line, file=self._out, flush=True)

    def end(self) -> None:
        """Say how far it came, if nobody else does."""
        self._ends.set()
        self._clock.join()
        if not self.named and time.monotonic() - self.start >= self._patience:
            self._say(self.status(time.monotonic()))

    def _tick(self) -> None:
        """Say it too while nothing happens; the first line is better with news."""
        while not self._ends.wait(1.0):
            if self._said is not None or time.monotonic() - self.start >= _LONGEST:
                self._say_status()

    def _say_status(self) -> None:
        now = time.monotonic()
        enough = min(max((now - self.start) / 10, _SHORTEST), _LONGEST)
        since = enough if self._said is None else now - self._said
        if since >= enough and now - self.start >= self._patience:
            running = [task for task in self.shown(_ROWS) if task.running]
            rows = (" ".join(task.cells(now)).split() for task in running)
            self._say(" · ".join([self.status(now), *map(" ".join, rows)]))

    def _say(self, text: str) -> None:
        self._said = time.monotonic()
        tell(text)


class Terminal(Display):
    """A table of what is named, and a bar; drawn anew as long as it moves."""

    def __init__(self, console: "Console"):
        self.console = console

    def open(self) -> None:
        """Begin to draw."""
        from rich.live import Live

        # No redirection: nothing else prints meanwhile, and JSON needs the real thing.
        self._live = Live(
            get_renderable=self.picture,
            console=self.console,
            refresh_per_second=2,
            transient=self.total == 1,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()

    def end(self) -> None:
        """Draw a last time."""
        self._live.stop()

    def note(self, line: str, *, minor: bool = False, how: str = "") -> None:
        """Print the line above the table."""
        if not minor:
            style = VERDICTS[how].terminal if how in VERDICTS else "red"
            self.console.print(line, markup=False, style=style)

    def picture(self) -> "Group":
        """What there is to see now."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        # The thread that draws may come in the middle of anything: it only reads.
        now, wide = time.monotonic(), self.console.width
        rows = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        # Widths that stay while tasks come and go.
        longest = max(map(len, self.tasks), default=0) if self.named else 0
        width = min(longest, max(wide - 42, 10))
        for name, size in zip((self.unit, *_HEAD), (width, 11, 14, 8), strict=True):
            rows.add_column(name, no_wrap=True, width=size, overflow="ellipsis")
        for task in self.shown(max(self.console.size.height - 3, 3)):
            name, state, *rest = task.cells(now, over=self.over)
            quiet = "dim" if state == "waiting" else "bold" if task.running else ""
            style = VERDICTS[state].terminal if state in VERDICTS else quiet
            rows.add_row(Text(name), Text(state, style), *map(Text, rest))
        parts: list[Any] = [rows] if self.named else []
        if not (self.over and self.named):
            # Room for the `^C` that a terminal writes: it must not begin another line.
            line = Table.grid(padding=(0, 1, 0, 0))
            line.add_column(width=min(24, wide // 4))
            line.add_column(no_wrap=True, max_width=max(wide * 3 // 4 - 6, 10))
            status = Text(self.status(now), "bold", overflow="ellipsis")
            line.add_row(ProgressBar(1.0, self.share(now)), status)
            parts.append(line)
        return Group(*parts)


class Notebook(Display):
    """The same in the output of a notebook's cell, in Jupyter and in marimo."""

    def open(self) -> None:
        """Draw a first time."""
        self._drawn = time.monotonic()
        self._marimo = self._bar = None
        if _jupyter():
            import IPython.display

            self._page: Any = IPython.display.HTML
            first = self._page(self.picture())
            self._handle: Any = IPython.display.display(first, display_id=True)
        else:
            import marimo

            # marimo's own bar leaves the cell's output to the cell when it is done.
            bar = marimo.status.progress_bar
            title = self.title or self.unit
            self._marimo: Any = bar(total=100, title=title, remove_on_exit=True)
            self._bar, self._percent = self._marimo.__enter__(), 0

    def changed(self, begun: Task | None = None) -> None:
        """Draw anew, a few times a second."""
        if time.monotonic() - self._drawn >= _PAUSE:
            self._draw()

    def note(self, line: str, *, minor: bool = False, how: str = "") -> None:
        """Print the line."""
        if not minor:
            tell(line)

    def end(self) -> None:
        """Draw a last time."""
        self._draw()
        if self._marimo is not None:
            self._marimo.__exit__(None, None, None)

    def picture(self) -> str:
        """What there is to see now, in HTML."""
        now = time.monotonic()
        rows = [task.cells(now, over=self.over) for task in self.shown(_ROWS)]
        bar = f'<progress value="{self.share(now):.3g}" max="1"></progress>'
        line = f"<p>{bar} {html.escape(self.status(now))}</p>"
        return (table((self.unit, *_HEAD), rows) if rows else "") + line

    def _draw(self) -> None:
        self._drawn = now = time.monotonic()
        if self._bar is None:
            self._handle.update(self._page(self.picture()))
            return
        percent = int(100 * self.share(now))
        self._bar.update(
            increment=max(percent - self._percent, 0), subtitle=self.status(now)
        )
        self._percent = max(percent, self._percent)


def display(
    *,
    quiet: bool = False,
    stream: TextIO | None = None,
    out: TextIO | None = None,
    patience: float = _LONGEST,
    bar: bool = False,
) -> Display:
    """What shows progress here: in the cell of a notebook, on `stream` if that is a
    terminal (standard error by default) or a `bar` is asked for, or as `Lines`.
    """
    if quiet:
        return Display()
    if _jupyter() or _in_marimo():
        return Notebook()
    stream = sys.stderr if stream is None else stream
    assert stream is not None
    if bar or stream.isatty():
        from rich.console import Console

        console = Console(file=stream, highlight=False)
        if bar or not console.is_dumb_terminal:
            return Terminal(console)
    return Lines(out, patience)


def _jupyter() -> bool:
    """Whether this program is the kernel of a notebook; nothing is loaded to ask."""
    shell = sys.modules.get("IPython")
    return getattr(shell and shell.get_ipython(), "kernel", None) is not None


def _in_marimo() -> bool:
    marimo = sys.modules.get("marimo")
    return marimo is not None and marimo.running_in_notebook()
