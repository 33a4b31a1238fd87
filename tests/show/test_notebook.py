"""Progress in notebooks: a page that changes in Jupyter, marimo's own bar there."""

import inspect
import sys
import types
from typing import Any

import pytest

from iclab.show import Display, Lines, Notebook, display


def _marimo(log: list[Any], inside: bool) -> types.ModuleType:
    class Bar:
        def __init__(self, **options: Any):
            log.append(options)

        def __enter__(self) -> "Bar":
            return self

        def __exit__(self, *_: object) -> None:
            log.append("closed")

        def update(self, increment: int, subtitle: str) -> None:
            log.append((increment, subtitle.partition(" · ")[0]))

    module: Any = types.ModuleType("marimo")
    module.running_in_notebook = lambda: inside
    module.status = types.SimpleNamespace(progress_bar=Bar)
    return module


@pytest.fixture
def clock(monkeypatch):
    """Seconds, which pass when they are told to."""
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


def test_a_program_is_no_notebook(monkeypatch):
    monkeypatch.setitem(sys.modules, "marimo", _marimo([], inside=False))
    assert type(display()) is Lines
    assert type(display(quiet=True)) is Display


def test_marimo_moves_its_own_bar(monkeypatch, clock):
    log: list[Any] = []
    monkeypatch.setitem(sys.modules, "marimo", _marimo(log, inside=True))
    with display() as bar:
        bar.begin(4, "sweep", "point")
        assert type(bar) is Notebook
        for name in "abc":
            clock[0] += 1.0
            bar.ended(name)
    assert log == [
        {"total": 100, "title": "sweep", "remove_on_exit": True},
        (25, "sweep: 1 of 4 points"),
        (25, "sweep: 2 of 4 points"),
        (25, "sweep: 3 of 4 points"),
        (0, "sweep: 3 of 4 points"),
        "closed",
    ]


def test_the_real_marimo_has_what_is_asked_of_it():
    marimo = pytest.importorskip("marimo")
    assert marimo.running_in_notebook() is False
    options = inspect.signature(marimo.status.progress_bar.__init__).parameters
    assert {"total", "title", "remove_on_exit"} <= set(options)


@pytest.fixture
def pages(monkeypatch):
    """What a cell of Jupyter shows, one after the other."""
    shown: list[str] = []

    def put(page, *, display_id):
        shown.append(page)
        return types.SimpleNamespace(update=shown.append)

    page = types.SimpleNamespace(HTML=str, display=put)
    shell = types.SimpleNamespace(kernel=object())
    fake = types.SimpleNamespace(display=page, get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython.display", page)
    monkeypatch.setitem(sys.modules, "IPython", fake)
    return shown


def test_a_table_in_jupyter(pages, clock, capsys):
    with display().begin({"a/<1>": None, "b/2": None}) as table:
        clock[0] = 3.0
        table.started("b/2")
        table.ended("a/<1>", "fails", seconds=2.0)
        table.note("fails  a/<1>", how="fails")
        table.note("holds  b/2", minor=True)
    assert "waiting" in pages[0]
    assert "<td>a/&lt;1&gt;</td><td>fails</td><td></td><td>2.0 s</td>" in pages[2]
    assert '<progress value="0.5" max="1">' in pages[2]
    assert "<td>b/2</td><td>stopped</td>" in pages[-1]
    assert capsys.readouterr().err == "fails  a/<1>\n"


def test_a_bar_in_jupyter(pages, clock):
    with display().begin(1, "train", "step") as bar:
        bar.started("train")
        clock[0] = 1.0
        bar.progressed("train", 1.0, "400 of 400 steps")
    assert "<table>" not in pages[-1]
    assert '<progress value="1" max="1">' in pages[-1]
    assert "train: 400 of 400 steps · 1.0 s" in pages[-1]
