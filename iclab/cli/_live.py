"""What a run shows: a table that moves on a terminal, plain lines elsewhere."""

import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from iclab.cli._lines import duration, result_lines, tally
from iclab.cli._terminal import tell
from iclab.evidence import GOOD_VERDICTS

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.text import Text

    from iclab.results import Record

_STYLES = {
    "holds": "green",
    "corrected": "cyan",
    "fails": "bold red",
    "undecided": "yellow",
    "exploratory": "cyan",
}
_REST = 10 + 5 + 10 + 7 + 4 * 2  # columns beside the item, and the gaps
# Jobs that must have ended before the time that is left can be guessed from them.
_ENOUGH = 3
# Share of a job after which its own pace says more than what others took.
_TELLING = 0.05
# Seconds of foreseen work after which it is known how fast this machine is now.
_WORTH = 10.0
# Seconds between two lines where nothing can move.
_BETWEEN = 60.0
# What an item does besides waiting and running; it is shown with those that run.
_BUSY = ("running", "judging", "drawing")


class Silent:
    """Shows nothing: standard output is for JSON, and nobody looks at the rest."""

    def __enter__(self) -> "Silent":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def started(self, id: str, job: str = "") -> None:
        """A job of an item has begun."""

    def told(self, id: str, job: str, fraction: float, words: str) -> None:
        """A job of an item has said how far it is."""

    def job_ended(
        self, id: str, seconds: float, *, from_store: bool, job: str = ""
    ) -> None:
        """A job of an item has ended."""

    def state(self, id: str, word: str) -> None:
        """An item is being judged, or drawn."""

    def reporting(self) -> None:
        """All items have ended, and the report is being written."""

    def finished(self, record: "Record", *, from_store: bool) -> None:
        """An item has its verdict."""


@dataclass
class Running:
    """A job at work: since when, how far it says it is, and in what words."""

    begun: float
    fraction: float = 0.0
    words: str = ""

    def left(self, now: float, expected: float | None) -> float | None:
        """Seconds to its end, by its own pace or by what it took elsewhere."""
        spent = now - self.begun
        if self.fraction > _TELLING:
            return spent * (1 / self.fraction - 1)
        return None if expected is None else max(expected - spent, 0.05 * expected)


@dataclass
class Row:
    """An item in the table; `expected` are the seconds of all of its jobs together."""

    id: str
    jobs: int
    expected: float | None = None
    ended: int = 0
    begun: float | None = None
    state: str = "waiting"
    verdict: str = ""
    seconds: float | None = None
    running: dict[str, Running] = field(default_factory=dict)

    @property
    def fraction(self) -> float | None:
        """How much of an item is done; None as long as no job says it."""
        parts = [one.fraction for one in self.running.values()]
        if not any(parts):
            return None
        return (self.ended + sum(parts)) / self.jobs

    @property
    def words(self) -> str:
        """What the job that spoke last had to say."""
        return next((one.words for one in self.running.values() if one.words), "")

    def pace(self, now: float) -> float | None:
        """Seconds of a job by the pace of those that run; None if they do not say."""
        paces = [
            (now - one.begun) / one.fraction
            for one in self.running.values()
            if one.fraction > _TELLING
        ]
        return sum(paces) / len(paces) if paces else None

    def each(self, mean: float | None) -> float | None:
        """Seconds of a job."""
        return mean if self.expected is None else self.expected / self.jobs


class Course(Silent):
    """Keeps where every item and the whole run stand, for those that show it."""

    def __init__(self, rows: Mapping[str, Row], processes: int = 1):
        self._rows, self._processes = rows, max(processes, 1)
        self._over: list[Row] = []
        self._start = time.monotonic()
        self._first: float | None = None
        self._computed, self._work = 0, 0.0
        # Seconds of ended jobs that were foreseen, and how many they were to be.
        self._took, self._foreseen = 0.0, 0.0
        self._report = False

    def started(self, id: str, job: str = "") -> None:
        """Note an item as running."""
        row, now = self._rows[id], time.monotonic()
        if self._first is None:
            self._first = now
        row.running[job] = Running(now)
        if row.begun is None:
            row.begun, row.state = now, "running"

    def told(self, id: str, job: str, fraction: float, words: str) -> None:
        """Note how far a job is."""
        running = self._rows[id].running.get(job)
        if running is not None:
            running.fraction, running.words = fraction, words or running.words

    def job_ended(
        self, id: str, seconds: float, *, from_store: bool, job: str = ""
    ) -> None:
        """Note how far an item is."""
        self._rows[id].running.pop(job, None)
        self._rows[id].ended += 1
        if not from_store:
            self._computed += 1
            self._work += seconds
            if (each := self._rows[id].each(None)) is not None:
                self._took += seconds
                self._foreseen += each

    def state(self, id: str, word: str) -> None:
        """Note what is done with an item."""
        self._rows[id].state = word

    def reporting(self) -> None:
        """Note that only the report is missing."""
        self._report = True

    def finished(self, record: "Record", *, from_store: bool) -> None:
        """Note an item's verdict."""
        row = self._rows[record.id]
        row.state = "from store" if from_store else "done"
        row.verdict, row.seconds = record.verdict, record.seconds
        self._over.append(row)

    def _parts(self, now: float) -> list[str]:
        """Where the whole run stands, in words."""
        parts = [
            f"{len(self._over)}/{len(self._rows)}",
            tally(row.verdict for row in self._over),
            duration(now - self._start),
        ]
        if self._report:
            parts.append("writing the report")
        elif (left := self._left(now)) is not None and left >= 1:
            parts.append(f"≈{duration(left)} left")
        return [part for part in parts if part]

    def _left(self, now: float) -> float | None:
        """Seconds to the end: by the paces of jobs, by what they took elsewhere, or
        else by what others took.
        """
        if self._first is None:
            return None
        enough = self._computed >= _ENOUGH and self._work > 0
        mean = self._work / self._computed if enough else None
        # A machine that does other things besides is slower than it could be.
        known = self._foreseen > _WORTH
        pace = min(max(self._took / self._foreseen, 0.1), 10.0) if known else 1.0
        work, longest = 0.0, 0.0
        for row in self._rows.values():
            each = mean if row.expected is None else pace * row.expected / row.jobs
            each = row.pace(now) if each is None else each
            waiting = row.jobs - row.ended - len(row.running)
            ahead = [one.left(now, each) for one in row.running.values()]
            if None in ahead or (each is None and waiting > 0):
                return None
            known = [one for one in ahead if one is not None]
            work += waiting * (each or 0.0) + sum(known)
            longest = max(longest, *known, 0.0)
        return max(work / self._processes, longest)


class Lines(Course):
    """A line for each item as it ends; on standard error one when it begins, and at
    least one a minute that says where the run stands.
    """

    def __init__(self, rows: Mapping[str, Row], processes: int = 1, *, json: bool):
        super().__init__(rows, processes)
        self._json = json
        self._said = time.monotonic()
        self._over_now = threading.Event()
        self._clock = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> "Lines":
        self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over_now.set()
        self._clock.join()

    def started(self, id: str, job: str = "") -> None:
        """Say that an item begins."""
        first = self._rows[id].begun is None
        super().started(id, job)
        if first and not self._json:
            jobs = self._rows[id].jobs
            some = f" ({jobs} jobs)" if jobs > 1 else ""
            self._say(f"begins     {id}{some}")

    def finished(self, record: "Record", *, from_store: bool) -> None:
        """Say the verdict, and why where it is not a good one."""
        super().finished(record, from_store=from_store)
        if not self._json:
            note = ", from the store" if from_store else ""
            print("\n".join(result_lines(record, note)), flush=True)

    def _tick(self) -> None:
        while not self._over_now.wait(min(_BETWEEN / 10, 5.0)):
            now = time.monotonic()
            if now - self._said >= _BETWEEN:
                self._say(" · ".join([*self._parts(now), *self._at_work(now)]))

    def _at_work(self, now: float) -> list[str]:
        """What runs, and how far it is."""
        found = []
        for row in list(self._rows.values()):
            if row.state not in _BUSY:
                continue
            words = [row.id]
            if row.state != "running":
                words.append(row.state)
            elif (fraction := row.fraction) is not None:
                words.append(f"{100 * fraction:.0f} %")
            elif row.begun is not None:
                words.append(f"since {duration(now - row.begun)}")
            found.append(" ".join([*words, row.words]).strip())
        return found

    def _say(self, text: str) -> None:
        self._said = time.monotonic()
        tell(text)


class LiveTable(Course):
    """The items that run, those that ended last, and where the whole run stands."""

    def __init__(self, rows: Mapping[str, Row], console: "Console", processes: int = 1):
        from rich.live import Live

        super().__init__(rows, processes)
        self._console = console
        self._stopped = False
        # No redirection: nothing else prints meanwhile, and JSON needs the real thing.
        self._live = Live(
            get_renderable=self._table,
            console=console,
            refresh_per_second=2,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> "LiveTable":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._live.stop()

    def _end(self) -> None:
        """Note that nothing runs any more."""
        self._stopped = True
        for row in self._rows.values():
            row.state = "stopped" if row.state in _BUSY else row.state

    def finished(self, record: "Record", *, from_store: bool) -> None:
        """Show an item's verdict; what is not good stays above the table."""
        super().finished(record, from_store=from_store)
        row = self._rows[record.id]
        if row.verdict not in GOOD_VERDICTS:
            for line in result_lines(record):
                self._console.print(line, markup=False, style=_STYLES[row.verdict])

    def _table(self) -> "Group":
        from rich.console import Group
        from rich.table import Table

        # The thread that draws may come in the middle of anything: it only reads.
        now = time.monotonic()
        room = max(self._console.size.height - 3, 3)
        # A width that stays while items come and go; the other columns need the rest.
        width = min(max(map(len, self._rows)), max(self._console.width - _REST, 10))
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column("item", no_wrap=True, overflow="ellipsis", width=width)
        table.add_column("state", no_wrap=True, width=10)
        table.add_column("jobs", no_wrap=True, justify="right", width=5)
        table.add_column("verdict", no_wrap=True, width=10)
        table.add_column("seconds", no_wrap=True, justify="right", width=7)
        for row in self._shown(room):
            table.add_row(*self._cells(row, now))
        return Group(table) if self._stopped else Group(table, self._total(now))

    def _shown(self, room: int) -> list[Row]:
        """What fits: all that runs, what ended last, and what comes next."""
        every = self._rows.values()
        running = [row for row in every if row.state in (*_BUSY, "stopped")][:room]
        room -= len(running)
        over = self._over[-room:] if room else []
        room -= len(over)
        waiting = [row for row in every if row.state == "waiting"][:room]
        return [*over, *running, *([] if self._stopped else waiting)]

    def _cells(self, row: Row, now: float) -> "list[str | Text]":
        from rich.text import Text

        seconds, state, verdict = row.seconds, row.state, row.verdict
        if row.state in _BUSY and row.begun is not None:
            seconds = now - row.begun
        if row.state == "running" and (fraction := row.fraction) is not None:
            # Nothing has its verdict while it runs: there is room for what is said.
            state, verdict = f"{100 * fraction:.0f} %", row.words
        quiet = "dim" if row.state == "waiting" else ""
        return [
            Text(row.id, quiet),
            Text(state, "bold" if row.state in _BUSY else quiet),
            f"{row.ended}/{row.jobs}" if row.jobs > 1 else "",
            Text(verdict, _STYLES.get(row.verdict, "dim")),
            "" if seconds is None else f"{seconds:.1f}",
        ]

    def _total(self, now: float) -> "Text":
        from rich.text import Text

        text = Text(" · ".join(self._parts(now)), "bold")
        # Room for the `^C` that a terminal writes: it must not begin another line.
        text.truncate(max(self._console.width - 3, 10), overflow="ellipsis")
        return text


def display(rows: Mapping[str, Row], *, json: bool, processes: int = 1) -> Silent:
    """The display for where the output goes; JSON has standard output for itself."""
    stream: TextIO = sys.stderr if json else sys.stdout
    if stream.isatty():
        from rich.console import Console

        console = Console(file=stream, highlight=False)
        if not console.is_dumb_terminal:
            return LiveTable(rows, console, processes)
    return Lines(rows, processes, json=json)
