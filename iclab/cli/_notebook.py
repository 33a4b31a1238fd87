"""The live table in the output of a notebook's cell."""

import io
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from iclab.cli._live import LiveTable, Row

if TYPE_CHECKING:
    from rich.console import Console

    from iclab.results import Record

# Seconds between two pictures, and the size of the page that they are made for.
_PAUSE, _COLUMNS, _ROWS = 0.2, 100, 24
_PAGE = '<pre style="line-height:1.3;background:none">{code}</pre>'


def in_notebook() -> bool:
    """Whether this program is the kernel of a notebook."""
    shell = sys.modules.get("IPython")
    return getattr(shell and shell.get_ipython(), "kernel", None) is not None


class NotebookTable(LiveTable):
    """Draws the table anew when something has happened; at most five times a second."""

    def __init__(self, rows: Mapping[str, Row], processes: int = 1):
        super().__init__(rows, _console(), processes)
        self._handle: Any = None
        self._drawn = 0.0

    def __enter__(self) -> "NotebookTable":
        import IPython.display

        first = IPython.display.HTML(self._picture())
        self._handle = IPython.display.display(first, display_id=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._draw(now=True)

    def started(self, id: str, job: str = "") -> None:
        """Show an item as running."""
        super().started(id, job)
        self._draw()

    def told(self, id: str, job: str, fraction: float, words: str) -> None:
        """Show how far a job is."""
        super().told(id, job, fraction, words)
        self._draw()

    def job_ended(
        self, id: str, seconds: float, *, from_store: bool, job: str = ""
    ) -> None:
        """Show how far an item is."""
        super().job_ended(id, seconds, from_store=from_store, job=job)
        self._draw()

    def finished(self, record: "Record", *, from_store: bool) -> None:
        """Show an item's verdict."""
        super().finished(record, from_store=from_store)
        self._draw()

    def _draw(self, *, now: bool = False) -> None:
        if now or time.monotonic() - self._drawn >= _PAUSE:
            import IPython.display

            self._handle.update(IPython.display.HTML(self._picture()))
            self._drawn = time.monotonic()

    def _picture(self) -> str:
        console = _console()
        console.print(self._table())
        return console.export_html(inline_styles=True, code_format=_PAGE)


def _console() -> "Console":
    from rich.console import Console

    return Console(
        file=io.StringIO(),
        record=True,
        width=_COLUMNS,
        height=_ROWS,
        force_jupyter=False,
        highlight=False,
    )
