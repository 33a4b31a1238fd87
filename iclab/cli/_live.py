"""What a run shows: a table that moves on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

from iclab.cli._lines import duration, result_lines, tally
from iclab.evidence import GOOD_VERDICTS

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.text import Text

_STYLES = {
    "holds": "green",
    "corrected": "cyan",
    "fails": "bold red",
    "undecided": "yellow",
    "exploratory": "cyan",
}
_REST = 10 + 5 + 10 + 7 + 4 * 2  # columns beside the item, and the gaps
# Jobs that must have ended before the time that is left can be guessed.
_ENOUGH = 3


class Silent:
    """Shows nothing: standard output is for JSON, and nobody looks at the rest."""

    def __enter__(self) -> "Silent":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def started(self, id: str) -> None:
        """A job of an item has begun."""

    def job_ended(self, id: str, seconds: float, *, from_store: bool) -> None:
        """A job of an item has ended."""

    def finished(self, record: Mapping[str, Any], *, from_store: bool) -> None:
        """An item has its verdict."""


class Lines(Silent):
    """A line for each item, as it ends."""

    def finished(self, record: Mapping[str, Any], *, from_store: bool) -> None:
        """Say the verdict, and why where it is not a good one."""
        note = ", from the store" if from_store else ""
        print("\n".join(result_lines(record, note)), flush=True)


@dataclass
class Row:
    """An item in the table."""

    id: str
    jobs: int
    expected: float | None = None
    ended: int = 0
    begun: float | None = None
    state: str = "waiting"
    verdict: str = ""
    seconds: float | None = None


class LiveTable(Silent):
    """The items that run, those that ended last, and where the whole run stands."""

    def __init__(self, rows: Mapping[str, Row], console: "Console"):
        from rich.live import Live

        self._rows = rows
        self._console = console
        self._over: list[Row] = []
        self._start = time.monotonic()
        self._first: float | None = None
        self._stopped = False
        self._computed, self._work = 0, 0.0
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
        self._stopped = True
        for row in self._rows.values():
            row.state = "stopped" if row.state == "running" else row.state
        self._live.stop()

    def started(self, id: str) -> None:
        """Show an item as running."""
        row, now = self._rows[id], time.monotonic()
        if self._first is None:
            self._first = now
        if row.begun is None:
            row.begun, row.state = now, "running"

    def job_ended(self, id: str, seconds: float, *, from_store: bool) -> None:
        """Show how far an item is."""
        self._rows[id].ended += 1
        if not from_store:
            self._computed += 1
            self._work += seconds

    def finished(self, record: Mapping[str, Any], *, from_store: bool) -> None:
        """Show an item's verdict; what is not good stays above the table."""
        row = self._rows[record["id"]]
        row.state = "from store" if from_store else "done"
        row.verdict, row.seconds = record["verdict"], record["seconds"]
        self._over.append(row)
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
        running = [row for row in every if row.state in ("running", "stopped")][:room]
        room -= len(running)
        over = self._over[-room:] if room else []
        room -= len(over)
        waiting = [row for row in every if row.state == "waiting"][:room]
        return [*over, *running, *([] if self._stopped else waiting)]

    def _cells(self, row: Row, now: float) -> "list[str | Text]":
        from rich.text import Text

        seconds = row.seconds
        if row.state == "running" and row.begun is not None:
            seconds = now - row.begun
        quiet = "dim" if row.state == "waiting" else ""
        return [
            Text(row.id, quiet),
            Text(row.state, "bold" if row.state == "running" else quiet),
            f"{row.ended}/{row.jobs}" if row.jobs > 1 else "",
            Text(row.verdict, _STYLES.get(row.verdict, "")),
            "" if seconds is None else f"{seconds:.1f}",
        ]

    def _total(self, now: float) -> "Text":
        from rich.text import Text

        over = len(self._over)
        parts = [
            f"{over}/{len(self._rows)}",
            tally(row.verdict for row in self._over),
            duration(now - self._start),
        ]
        if (left := self._left(now)) is not None and left >= 1:
            parts.append(f"≈{duration(left)} left")
        text = Text(" · ".join(part for part in parts if part), "bold")
        # Room for the `^C` that a terminal writes: it must not begin another line.
        text.truncate(max(self._console.width - 3, 10), overflow="ellipsis")
        return text

    def _left(self, now: float) -> float | None:
        """Seconds to the end, if items take what they took, or else what others did."""
        if self._first is None or self._computed < _ENOUGH or self._work <= 0:
            return None
        mean = self._work / self._computed
        work = 0.0
        for row in self._rows.values():
            each = mean if row.expected is None else row.expected / row.jobs
            work += (row.jobs - row.ended) * each
        return work * (now - self._first) / self._work


def display(rows: Mapping[str, Row], *, json: bool) -> Silent:
    """The display for where the output goes; JSON has standard output for itself."""
    stream: TextIO = sys.stderr if json else sys.stdout
    if stream.isatty():
        from rich.console import Console

        console = Console(file=stream, highlight=False)
        if not console.is_dumb_terminal:
            return LiveTable(rows, console)
    return Silent() if json else Lines()
