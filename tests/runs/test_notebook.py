"""Bars in notebooks: Jupyter's are in tests/test_notebooks.py, marimo's here."""

import sys
import types
from typing import Any

from iclab.runs import NotebookBar, notebook_bar


def _marimo(log: list[Any], inside: bool) -> types.ModuleType:
    class Bar:
        def __init__(self, **options: Any):
            log.append(options)

        def __enter__(self) -> "Bar":
            return self

        def __exit__(self, *_: object) -> None:
            log.append("closed")

        def update(self, increment: int, subtitle: str) -> None:
            log.append((increment, subtitle))

    module: Any = types.ModuleType("marimo")
    module.running_in_notebook = lambda: inside
    module.status = types.SimpleNamespace(progress_bar=Bar)
    return module


def test_a_program_has_no_bar(monkeypatch):
    monkeypatch.delitem(sys.modules, "marimo", raising=False)
    assert notebook_bar(3, "sweep") is None
    monkeypatch.setitem(sys.modules, "marimo", _marimo([], inside=False))
    assert notebook_bar(3, "sweep") is None


def test_marimo_moves_its_own_bar(monkeypatch):
    log: list[Any] = []
    monkeypatch.setitem(sys.modules, "marimo", _marimo(log, inside=True))
    bar = notebook_bar(5, "fit")
    assert isinstance(bar, NotebookBar)
    bar.show(2, "half")
    bar.show(5, "done")
    bar.close()
    assert log == [
        {"total": 5, "title": "fit", "remove_on_exit": True},
        (2, "half"),
        (3, "done"),
        "closed",
    ]


def test_the_real_marimo_has_what_is_asked_of_it():
    import inspect

    import pytest

    marimo = pytest.importorskip("marimo")
    assert marimo.running_in_notebook() is False
    options = inspect.signature(marimo.status.progress_bar.__init__).parameters
    assert {"total", "title", "remove_on_exit"} <= set(options)
