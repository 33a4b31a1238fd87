"""The table that moves, and the lines where nothing can."""

import io
import sys
import time

import pytest
from rich.console import Console

from iclab.show import Display, Lines, Terminal, display

LONG = "gatmiry2024/a-result-with-a-rather-long-name-of-its-own"
ITEMS = [f"zhang2023/item-{n}" for n in range(30)]


def _terminal(width: int = 80) -> Terminal:
    console = Console(
        file=io.StringIO(),
        force_terminal=True,
        highlight=False,
        width=width,
        height=12,
    )
    return Terminal(console)


def _frame(table: Terminal, width: int = 80) -> list[str]:
    """What the table looks like now."""
    console = Console(file=io.StringIO(), width=width, height=12)
    with console.capture() as seen:
        console.print(table.picture())
    return [line.rstrip() for line in seen.get().splitlines()]


def _written(table: Terminal) -> str:
    return table.console.file.getvalue()  # type: ignore[attr-defined]


@pytest.fixture
def clock(monkeypatch):
    """Seconds, which pass when they are told to."""
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


def test_only_what_fits_is_shown():
    with _terminal().begin(dict.fromkeys([*ITEMS, LONG])) as table:
        for n, name in enumerate(ITEMS[:20]):
            table.started(name)
            table.ended(name, "holds", seconds=1.25, cached=n == 19)
        table.started(LONG)
        table.told(LONG, 1 / 3, "1 of 3 jobs")
        head, *body, running, total = _frame(table)
    assert head.split() == ["item", "state", "time"]
    assert len(body) == 8
    assert body[0].split() == ["zhang2023/item-12", "holds", "1.2", "s"]
    assert body[-1].split()[1:] == ["holds", "cached", "1.2", "s"]
    assert running.split()[:7] == [LONG[:37] + "…", "33", "%", "1", "of", "3", "jobs"]
    assert "20 of 31 items · 20 holds · " in total
    assert all(len(line) <= 77 for line in (head, *body, running, total))


def test_what_waits_fills_the_space_at_the_beginning():
    with _terminal().begin(dict.fromkeys(ITEMS)) as table:
        frame = _frame(table)
    assert len(frame) == 11
    assert frame[1].split() == ["zhang2023/item-0", "waiting"]
    assert " 0 of 30 items · " in frame[-1]


def test_a_narrow_terminal():
    with _terminal(60).begin(dict.fromkeys([*ITEMS, LONG])) as table:
        assert all(len(line) <= 60 for line in _frame(table, 60))


def test_a_bar_alone():
    with _terminal(100).begin(4, "sweep", "point") as bar:
        bar.ended("a")
        bar.ended("b", "failed")
        bar.ended("c", cached=True)
        bar.note("failed: b: no")
        (line,) = _frame(bar, 100)
    text = "sweep: 3 of 4 points · 1 failed · 1 cached · 0.0 s"
    assert line.endswith(text)
    assert line.startswith("━━━")
    assert "failed: b: no" in _written(bar)


def test_what_is_not_good_stays_above_the_table():
    with _terminal().begin(dict.fromkeys(ITEMS[:3])) as table:
        table.started(ITEMS[0])
        table.started(ITEMS[1])
        table.ended(ITEMS[0], "undecided", seconds=1.25)
        table.note("undecided  because", how="undecided")
        table.note("holds  of course", minor=True, how="holds")
    assert "undecided  because" in _written(table)
    assert "of course" not in _written(table)
    # Whatever still ran was stopped, and what never began is not listed at the end.
    _, bad, stopped = _frame(table)
    assert bad.split() == [ITEMS[0], "undecided", "1.2", "s"]
    assert stopped.split()[:2] == [ITEMS[1], "stopped"]


def test_no_colour_is_asked_for(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    with _terminal().begin(dict.fromkeys(ITEMS[:1])) as table:
        table.note("fails", how="fails")
    assert "\x1b[31m" not in _written(table)
    assert "fails" in _written(table)


class _Stream(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("term", "kind"), [("xterm", Terminal), ("dumb", Lines)])
def test_where_a_table_can_move(monkeypatch, term, kind):
    monkeypatch.setenv("TERM", term)
    assert type(display(stream=_Stream())) is kind
    assert type(display(stream=_Stream(), bar=True)) is Terminal
    assert type(display(stream=_Stream(), quiet=True)) is Display
    assert type(display(stream=io.StringIO())) is Lines


def test_closing_before_the_beginning_and_twice():
    for one in (Display(), Lines(), _terminal()):
        one.close()
        with one.begin(1):
            one.close()


def test_lines_where_nobody_looks(capsys):
    with display(stream=sys.stdout, out=sys.stdout).begin({LONG: None}) as lines:
        lines.started(LONG)
        lines.started(LONG)
        lines.ended(LONG, "holds")
        lines.note("holds", minor=True)
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("holds\n", f"begins     {LONG}\n")


def test_json_has_standard_output_for_itself(capsys):
    with display().begin({LONG: None}) as lines:
        lines.started(LONG)
        lines.note("fails")
    assert capsys.readouterr() == ("", "")


def test_lines_come_now_and_then(clock, capsys):
    with Lines().begin({LONG: None}) as lines:
        lines.started(LONG)
        found = []
        for now in (50.0, 61.0, 65.0, 72.0, 9e3, 9e3 + 59, 9e3 + 61):
            clock[0] = now
            lines.told(LONG, 0.25, "loss 0.5")
            found.append(capsys.readouterr().err)
    said = [number for number, text in enumerate(found) if text]
    assert said == [1, 3, 4, 6]
    assert found[1] == (
        f"0 of 1 item · 61 s · ≈3.0 min left · {LONG} 25 % loss 0.5 61 s\n"
    )


def test_lines_need_no_events(clock, capsys):
    said = ""
    with Lines().begin(2, "sweep", "point"):
        clock[0] = 61.0
        for _ in range(100):
            time.sleep(0.1)
            if said := capsys.readouterr().err:
                break
    assert said == "sweep: 0 of 2 points · 61 s\n"


def test_the_last_line_of_a_bar(capsys):
    with Lines(patience=0.0).begin(1, "sweep", "point") as lines:
        lines.ended("a")
        capsys.readouterr()
    assert capsys.readouterr().err == "sweep: 0.0 s\n"


@pytest.fixture
def left(clock):
    """A display, and what it says of the time that is left at some second."""

    def ask(show: Display, now: float) -> str:
        clock[0] = now
        return show.status(now).partition("≈")[2]

    return ask


def test_the_time_that_is_left(left):
    with Display().begin(dict.fromkeys(ITEMS[:10])) as show:
        assert left(show, 10.0) == ""
        for name in ITEMS[:3]:
            show.ended(name, "holds", seconds=4.0)
        # Seven of ten to go.
        assert left(show, 12.0) == "28 s left"
        show.started(ITEMS[3])
        assert left(show, 14.0) == "26 s left"  # half of it is over, as with others
        show.told(ITEMS[3], 0.25)
        assert left(show, 14.0) == "29 s left"
        show.told("", 1.0, "writing the report")
        assert show.status(14.0).endswith("14 s · writing the report")


def test_expected_times_count_and_a_busy_machine_is_slower(left):
    with Display().begin({"a": 20.0, "b": 60.0}) as show:
        show.started("a")
        assert left(show, 5.0) == "75 s left"
        show.ended("a", "holds", seconds=40.0)
        assert left(show, 40.0) == "2.0 min left"


def test_what_was_done_before_takes_no_time(left):
    with Display().begin(4) as show:
        show.ended("a", cached=True)
        show.ended("b", cached=True)
        assert left(show, 1.0) == ""
        show.ended("c")
        assert left(show, 10.0) == "10 s left"
    with Display().begin(1) as show:
        show.started("a", 0.5)
        show.told("a", 0.75)
        assert left(show, 20.0) == "10 s left"
