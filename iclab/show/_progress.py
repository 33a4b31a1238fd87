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
        if self.how is not None:
            return 1.0
        seconds = self.expected or usual
        if self.begun is None or self.share or not seconds:
            return self.share
        return min((now - self.begun) / seconds, _SILENT)

    def cells(self, now: float, *, over: bool = False) -> tuple[str, str, str, str]:
        """Its row in a table: name, state, words, time."""
        if self.how is not None:
            words = "cached" if self.cached else ""
            return self.name, self.how, words, duration(self.seconds or 0.0)
        if self.begun is None:
            return self.name, "waiting", "", ""
        state = f"{100 * self.share:.0f} %" if self.share else "running"
        state = "stopped" if over else state
        return self.name, state, self.words, duration(now - self.begun)


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
        self.named, self.title, self.unit, self.words = bool(names), title, unit, ""
        self.tasks = {name: Task(name, seconds) for name, seconds in names.items()}
        self.finished: list[Task] = []
        self.start, self.over = time.monotonic(), False
        self._open()
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
            self._changed(task)

    def told(self, name: str, share: float, words: str = "") -> None:
        """So much of a task is done; without a name, what the whole is at."""
        if name:
            task = self._task(name)
            task.share, task.words = share, words or task.words
        else:
            self.words = words
        self._changed()

    def ended(
        self, name: str, how: str = "", *, seconds: float = 0.0, cached: bool = False
    ) -> None:
        """A task has ended: how (a verdict, "failed"), and whether it was cached."""
        task = self._task(name)
        task.how, task.seconds, task.cached = how, seconds, cached
        self.finished.append(task)
        self._changed()

    def note(self, line: str, *, minor: bool = False, how: str = "") -> None:
        """A line that stays; a minor one where only lines are shown."""

    def close(self) -> None:
        """Nothing happens any more."""
        if not self.over:
            self.over = True
            self._end()

    def left(self, now: float) -> float | None:
        """Seconds to the end, if it goes on as it went; None if that is unknown."""
        done, whole, first = self._work(now)
        few = self.total > 1 and done - first < _TELLING * (whole - first)
        if few or done <= first:
            return None
        return (now - self.start) * (whole - done) / (done - first)

    def share(self, now: float) -> float:
        """How much of everything is done; what was cached is done."""
        done, whole, _ = self._work(now)
        cached = sum(task.cached for task in self.finished)
        new = (self.total - cached) * (done / whole if whole else 1.0)
        return (cached + new) / max(self.total, 1)

    def status(self, now: float) -> str:
        """Where it stands, in a line."""
        counts = Counter(one.how for one in self.finished if one.how)
        order = [*VERDICTS, *(how for how in counts if how not in VERDICTS)]
        cached = sum(one.cached for one in self.finished)
        parts = [of(len(self.finished), self.total, self.unit)]
        if self.total == 1 and not self.named:
            parts = [one.words for one in self.tasks.values()]
        parts += [", ".join(f"{counts[how]} {how}" for how in order if counts[how])]
        parts += [f"{cached} cached"] if cached and not self.named else []
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
        ended = self.finished[-most:] if most and self.named else []
        waiting = [task for task in every if task.begun is None and task.how is None]
        return [*ended, *running, *waiting[: 0 if self.over else most - len(ended)]]

    def _task(self, name: str) -> Task:
        return self.tasks.setdefault(name, Task(name))

    def _work(self, now: float) -> tuple[float, float, float]:
        """Work that is done, of all, and before this began, in seconds or in tasks."""
        every = [task for task in list(self.tasks.values()) if not task.cached]
        known = [one for task in every if (one := task.expected or task.seconds)]
        usual = sum(known) / len(known) if known else None
        done, first = 0.0, 0.0
        whole = (usual or 1.0) * (self.total - len(self.tasks))
        for task in every:
            weight = task.expected or usual or 1.0
            done += weight * task.done(now, usual)
            first += weight * task.first
            whole += weight
        return done, whole, first

    def _open(self) -> None: ...

    def _changed(self, begun: Task | None = None) -> None: ...

    def _end(self) -> None: ...


class Lines(Display):
    """Lines: notes on `out` if there is one, and on standard error when a named task
    begins, and how far all is, not before `patience` seconds and then now and then.
    """

    def __init__(self, out: TextIO | None = None, patience: float = _LONGEST):
        self._out, self._patience = out, patience

    def note(self, line: str, *, minor: bool = False, how: str = "") -> None:
        """Print the line."""
        if self._out is not None:
            print(line, file=self._out, flush=True)

    def _open(self) -> None:
        self._said: float | None = None
        self._closed = threading.Event()
        self._clock = threading.Thread(target=self._tick, daemon=True)
        self._clock.start()

    def _changed(self, begun: Task | None = None) -> None:
        if begun is None:
            self._say_status()
        elif self.named and self._out is not None:
            self._say(f"begins     {begun.name}")

    def _end(self) -> None:
        self._closed.set()
        self._clock.join()
        if not self.named and time.monotonic() - self.start >= self._patience:
            self._say(self.status(time.monotonic()))

    def _tick(self) -> None:
        """Say it too while nothing happens; the first line is better with news."""
        while not self._closed.wait(1.0):
            if self._said is not None or time.monotonic() - self.start >= _LONGEST:
                self._say_status()

    def _say_status(self) -> None:
        now = time.monotonic()
        enough = min(max((now - self.start) / 10, _SHORTEST), _LONGEST)
        since = enough if self._said is None else now - self._said
        if since >= enough and now - self.start >= self._patience:
            running = [task.cells(now) for task in self.shown(_ROWS) if task.running]
            rows = [" ".join(cell for cell in row if cell) for row in running]
            self._say(" · ".join([self.status(now), *rows]))

    def _say(self, text: str) -> None:
        self._said = time.monotonic()
        tell(text)


class Terminal(Display):
    """A table of what is named, and a bar; drawn anew as long as it moves."""

    def __init__(self, console: "Console"):
        self.console = console

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
        first = min(max(map(len, [*self.tasks, ""])), max(wide - 42, 10))
        sizes = (first, 11, 14, 8)
        for name, size in zip((self.unit, *_HEAD), sizes, strict=True):
            rows.add_column(name, no_wrap=True, width=size, overflow="ellipsis")
        for task in self.shown(max(self.console.size.height - 3, 3)):
            name, state, *rest = task.cells(now, over=self.over)
            quiet = "dim" if state == "waiting" else "bold" if task.running else ""
            style = VERDICTS[state].terminal if state in VERDICTS else quiet
            rows.add_row(Text(name), Text(state, style), *map(Text, rest))
        # Room for the `^C` that a terminal writes: it must not begin another line.
        line = Table.grid(padding=(0, 1, 0, 0))
        line.add_column(width=min(24, wide // 4))
        line.add_column(no_wrap=True, max_width=max(wide * 3 // 4 - 6, 10))
        status = Text(self.status(now), "bold", overflow="ellipsis")
        line.add_row(ProgressBar(1.0, self.share(now)), status)
        if not self.named:
            return Group(line)
        return Group(rows) if self.over else Group(rows, line)

    def _open(self) -> None:
        from rich.live import Live

        # No redirection: nothing else prints meanwhile, and JSON needs the real thing.
        self._live = Live(
            get_renderable=self.picture,
            console=self.console,
            refresh_per_second=2,
            transient=self.total == 1 and not self.named,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()

    def _end(self) -> None:
        self._live.stop()


class Notebook(Display):
    """The same in the output of a notebook's cell, in Jupyter and in marimo."""

    def note(self, line: str, *, minor: bool = False, how: str = "") -> None:
        """Print the line."""
        if not minor:
            tell(line)

    def picture(self) -> str:
        """What there is to see now, in HTML."""
        now = time.monotonic()
        rows = [task.cells(now, over=self.over) for task in self.shown(_ROWS)]
        bar = f'<progress value="{self.share(now):.3g}" max="1"></progress>'
        line = f"<p>{bar} {html.escape(self.status(now))}</p>"
        return (table((self.unit, *_HEAD), rows) if rows else "") + line

    def _open(self) -> None:
        self._drawn, self._percent = time.monotonic(), 0
        self._jupyter: Any = None
        if _in_jupyter():
            import IPython.display as pages

            first = pages.HTML(self.picture())
            self._jupyter, self._page = pages.display(first, display_id=True), pages
        else:
            from marimo import status

            # marimo's own bar leaves the cell's output to the cell when it is done.
            title = self.title or self.unit
            bar = status.progress_bar(total=100, title=title, remove_on_exit=True)
            self._marimo, self._bar = bar, bar.__enter__()

    def _changed(self, begun: Task | None = None) -> None:
        now = time.monotonic()
        if not self.over and now - self._drawn < _PAUSE:
            return
        self._drawn = now
        if self._jupyter is not None:
            self._jupyter.update(self._page.HTML(self.picture()))
            return
        more = max(int(100 * self.share(now)) - self._percent, 0)
        self._bar.update(increment=more, subtitle=self.status(now))
        self._percent += more

    def _end(self) -> None:
        self._changed()
        if self._jupyter is None:
            self._marimo.__exit__(None, None, None)


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
    # Neither Jupyter nor marimo is loaded for the question.
    marimo = sys.modules.get("marimo")
    if _in_jupyter() or (marimo is not None and marimo.running_in_notebook()):
        return Notebook()
    stream = sys.stderr if stream is None else stream
    assert stream is not None
    if bar or stream.isatty():
        from rich.console import Console

        console = Console(file=stream, highlight=False)
        if bar or not console.is_dumb_terminal:
            return Terminal(console)
    return Lines(out, patience)


def _in_jupyter() -> bool:
    shell = sys.modules.get("IPython")
    return getattr(shell and shell.get_ipython(), "kernel", None) is not None
