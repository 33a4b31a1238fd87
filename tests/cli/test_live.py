"""The table that moves, and the lines where nothing can."""

import io
import sys
import time
from typing import Any

import pytest
from rich.console import Console

from iclab.cli._live import Lines, LiveTable, Row, display
from iclab.evidence import Verdict
from iclab.results import Record

LONG = "gatmiry2024/a-result-with-a-rather-long-name-of-its-own"


def _record(id: str, verdict: Verdict = "holds", **more):
    made: Any = {"kind": "claim", "statement": "", "seed": 0, "scale": "desk"}
    return Record(id=id, verdict=verdict, seconds=1.25, **made, **more)


def _rows(count: int) -> dict[str, Row]:
    rows = {f"zhang2023/item-{n}": Row(f"zhang2023/item-{n}", 1) for n in range(count)}
    return rows | {LONG: Row(LONG, 3)}


def _frame(table: LiveTable, width: int = 80) -> list[str]:
    """What the table looks like now."""
    console = Console(file=io.StringIO(), width=width, height=12)
    with console.capture() as seen:
        console.print(table._table())
    return seen.get().splitlines()


def _table(rows: dict[str, Row], width: int = 80, processes: int = 1) -> LiveTable:
    console = Console(
        file=io.StringIO(),
        force_terminal=True,
        highlight=False,
        width=width,
        height=12,
    )
    return LiveTable(rows, console, processes)


def test_only_what_fits_is_shown():
    table = _table(_rows(30))
    for n in range(20):
        table.started(f"zhang2023/item-{n}")
        table.job_ended(f"zhang2023/item-{n}", 1.0, from_store=False)
        table.finished(_record(f"zhang2023/item-{n}"), from_store=n == 19)
    table.started(LONG)
    table.job_ended(LONG, 2.0, from_store=False)
    head, *body, running, total = _frame(table)
    assert head.split() == ["item", "state", "jobs", "verdict", "seconds"]
    assert len(body) == 8
    assert body[0].split() == ["zhang2023/item-12", "done", "holds", "1.2"]
    assert body[-1].split()[1:] == ["from", "store", "holds", "1.2"]
    assert running.split()[:3] == [LONG[:39] + "…", "running", "1/3"]
    assert total.startswith("20/31 · 20 holds · ")
    assert all(len(line) <= 80 for line in (head, *body, running, total))


def test_what_waits_fills_the_room_at_the_beginning():
    frame = _frame(_table(_rows(30)))
    assert len(frame) == 11
    assert frame[1].split() == ["zhang2023/item-0", "waiting"]
    assert frame[-1].startswith("0/31 · ")


def test_a_narrow_terminal():
    assert all(len(line) <= 60 for line in _frame(_table(_rows(3), 60), 60))


def test_the_time_that_is_left(monkeypatch):
    rows = _rows(6)
    rows["zhang2023/item-5"].expected = 40.0
    clock = 100.0
    monkeypatch.setattr("time.monotonic", lambda: clock)
    table = _table(rows, processes=2)
    for n in range(3):
        table.started(f"zhang2023/item-{n}")
    for n in range(3):
        assert "left" not in _frame(table)[-1]
        clock += 2.0
        table.job_ended(f"zhang2023/item-{n}", 4.0, from_store=False)
        table.finished(_record(f"zhang2023/item-{n}"), from_store=False)
    # Two processes, five jobs of 4 s to go and one of 40 s.
    assert _frame(table)[-1] == "3/7 · 3 holds · 6.0 s · ≈30.0 s left"


def test_what_is_not_good_stays_above_the_table():
    rows = _rows(2)
    table = _table(rows)
    with table:
        table.started("zhang2023/item-0")
        table.started("zhang2023/item-1")
        failed = _record(
            "zhang2023/item-0", "undecided", error="Traceback\nError: no\n"
        )
        table.finished(failed, from_store=False)
    text = table._console.file.getvalue()  # type: ignore[attr-defined]
    assert "undecided  zhang2023/item-0  1.2 s  Error: no" in text
    # Whatever still ran was stopped, and what never began is not listed at the end.
    *_, bad, stopped = _frame(table)
    assert bad.split() == ["zhang2023/item-0", "done", "undecided", "1.2"]
    assert stopped.split() == ["zhang2023/item-1", "stopped"]


def test_no_colour_is_asked_for(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    table = _table(_rows(1))
    with table:
        table.finished(_record("zhang2023/item-0", "fails"), from_store=False)
    text = table._console.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b[31m" not in text
    assert "fails" in text


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("term", "json", "kind"),
    [("xterm", False, LiveTable), ("dumb", False, Lines), ("dumb", True, Lines)],
)
def test_where_a_table_can_move(monkeypatch, term, json, kind):
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr("sys.stdout", _Terminal())
    assert type(display(_rows(1), json=json)) is kind


def test_json_has_standard_output_for_itself(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stdout", _Terminal())
    monkeypatch.setattr("sys.stderr", _Terminal())
    table = display(_rows(1), json=True)
    assert isinstance(table, LiveTable)
    with table:
        table.finished(_record("zhang2023/item-0", "fails"), from_store=False)
    assert sys.stdout.getvalue() == ""  # type: ignore[attr-defined]
    assert "fails" in sys.stderr.getvalue()  # type: ignore[attr-defined]


def test_lines_where_nobody_looks(capsys):
    lines = display(_rows(1), json=False)
    assert type(lines) is Lines
    with lines:
        lines.started(LONG)
        lines.job_ended(LONG, 1.0, from_store=False)
        lines.finished(_record(LONG), from_store=True)
    shown = capsys.readouterr()
    assert shown.out == f"holds      {LONG}  1.2 s, from the store\n"
    assert shown.err == f"begins     {LONG} (3 jobs)\n"


def test_a_line_at_least_once_a_minute(capsys, monkeypatch):
    monkeypatch.setattr("iclab.cli._live._BETWEEN", 0.05)
    with display(_rows(1), json=True) as lines:
        lines.started(LONG, "a")
        lines.told(LONG, "a", 0.75, "loss 0.5")
        time.sleep(0.3)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"{LONG} 25 % loss 0.5" in shown.err


def test_jobs_say_how_far_they_are(monkeypatch):
    clock = 0.0
    monkeypatch.setattr("time.monotonic", lambda: clock)
    rows = {LONG: Row(LONG, 2)}
    table = _table(rows, 90)
    table.started(LONG, "a")
    table.started(LONG, "b")
    assert _frame(table, 90)[1].split()[-3:] == ["running", "0/2", "0.0"]
    clock = 10.0
    table.told(LONG, "a", 0.5, "loss 2")
    table.told(LONG, "b", 0.25, "")
    # One process: 10 s of the one and 30 s of the other.
    _, row, total = _frame(table, 90)
    assert row.split()[-6:] == ["38", "%", "0/2", "loss", "2", "10.0"]
    assert total == "0/1 · 10.0 s · ≈40.0 s left"
    table.job_ended(LONG, 10.0, from_store=False, job="a")
    assert _frame(table, 90)[-1].endswith("≈30.0 s left")
    table.job_ended(LONG, 10.0, from_store=False, job="b")
    table.state(LONG, "drawing")
    assert "drawing" in _frame(table, 90)[1]
    table.finished(_record(LONG), from_store=False)
    table.reporting()
    assert _frame(table, 90)[-1] == "1/1 · 1 holds · 10.0 s · writing the report"


def test_jobs_that_wait_take_what_those_at_work_do(monkeypatch):
    clock = 0.0
    monkeypatch.setattr("time.monotonic", lambda: clock)
    table = _table({LONG: Row(LONG, 2)})
    table.started(LONG, "a")
    clock = 10.0
    assert "left" not in _frame(table)[-1]
    table.told(LONG, "a", 0.5, "")
    assert _frame(table)[-1].endswith("≈30.0 s left")


def test_a_busy_machine_is_slower_than_foreseen(monkeypatch):
    clock = 0.0
    monkeypatch.setattr("time.monotonic", lambda: clock)
    rows = {name: Row(name, 1, 20.0) for name in ("a", "b")}
    table = _table(rows)
    table.started("a")
    assert _frame(table)[-1].endswith("≈40.0 s left")
    clock = 60.0
    table.job_ended("a", 60.0, from_store=False)
    assert _frame(table)[-1].endswith("≈1.0 min left")
