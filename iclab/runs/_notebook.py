"""How far something is, in the output of a notebook's cell: Jupyter's or marimo's."""

import html
import sys
from typing import Any, Protocol, runtime_checkable

from iclab._reading import Whole, checked


@runtime_checkable
class NotebookBar(Protocol):
    """A bar with words beside it."""

    def show(self, done: int, words: str) -> None:
        """Move it."""
        ...

    def close(self) -> None:
        """It moves no more."""
        ...


class _Jupyter:
    """A picture that is drawn anew; the last one stays."""

    def __init__(self, total: int, title: str):
        import IPython.display

        self._total, self._title = total, title
        self._html: Any = IPython.display.HTML
        self._handle: Any = IPython.display.display(
            self._html(self._picture(0, "")), display_id=True
        )

    def show(self, done: int, words: str) -> None:
        self._handle.update(self._html(self._picture(done, words)))

    def close(self) -> None:
        pass

    def _picture(self, done: int, words: str) -> str:
        bar = f'<progress value="{done}" max="{self._total}"></progress>'
        return f"{html.escape(self._title)} {bar} {html.escape(words)}"


class _Marimo:
    """marimo's own bar, which leaves the cell's output to the cell when it is done."""

    def __init__(self, total: int, title: str):
        import marimo

        bar = marimo.status.progress_bar
        self._context: Any = bar(total=total, title=title, remove_on_exit=True)
        self._bar: Any = self._context.__enter__()
        self._done = 0

    def show(self, done: int, words: str) -> None:
        self._bar.update(increment=done - self._done, subtitle=words)
        self._done = done

    def close(self) -> None:
        self._context.__exit__(None, None, None)


@checked
def notebook_bar(total: Whole, title: str) -> NotebookBar | None:
    """A bar where this runs in a cell of a notebook, and None where it does not.

    Neither Jupyter nor marimo is loaded for the question.
    """
    shell = sys.modules.get("IPython")
    if getattr(shell and shell.get_ipython(), "kernel", None) is not None:
        return _Jupyter(total, title)
    marimo = sys.modules.get("marimo")
    if marimo is not None and marimo.running_in_notebook():
        return _Marimo(total, title)
    return None
