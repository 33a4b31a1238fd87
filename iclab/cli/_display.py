"""What a run shows: a moving bar on a terminal, plain lines elsewhere."""

import sys
from collections.abc import Mapping
from typing import Any

_STYLES = {
    "holds": "green",
    "corrected": "cyan",
    "fails": "bold red",
    "undecided": "yellow",
}


class Display:
    """Lines on standard output, and a bar on standard error if that is a terminal.

    `quiet` keeps standard output clean for JSON; the bar stays.
    """

    def __init__(self, total: int, *, quiet: bool):
        self._quiet = quiet
        self._bar = None
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                Progress,
                TextColumn,
                TimeElapsedColumn,
            )

            columns = (
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.description}"),
            )
            console = Console(stderr=True, highlight=False)
            self._bar = Progress(*columns, console=console, transient=True)
            self._task = self._bar.add_task("starting", total=total)

    def __enter__(self) -> "Display":
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, label: str) -> None:
        """One job has ended."""
        if self._bar is not None:
            self._bar.update(self._task, advance=1, description=label)

    def finished(self, record: Mapping[str, Any]) -> None:
        """An item has its verdict; what is not good says why."""
        verdict = record["verdict"]
        rest = f"{record['id']}  {record['seconds']:.1f} s"
        self.line(f"{verdict:<10} {rest}", _STYLES[verdict])
        if "error" in record:
            self.line(f"           {record['error'].strip().splitlines()[-1]}")
        for case in record.get("cases", ()):
            if verdict in ("fails", "undecided") and case["verdict"] == verdict:
                self.line(f"           {case_line(case)}")
        for one in record.get("evidence", ()):
            if not one["holds"]:
                self.line(f"           {evidence_line(one)}")

    def line(self, text: str, style: str = "") -> None:
        """Print a line above the bar."""
        if self._quiet:
            return
        if self._bar is not None and sys.stdout.isatty():
            self._bar.console.print(text, style=style, markup=False, soft_wrap=True)
        else:
            print(text, flush=True)


def case_line(case: Mapping[str, Any]) -> str:
    """A case in one line: both sides, the error bar, the decoy."""
    text = (
        f"{case['case']}: predicted {case['relation']} {_short(case['predicted'])},"
        f" measured {_short(case['measured'])} ± {_short(case['error'])}"
    )
    if case["decoy"] is not None:
        text += f", decoy {_short(case['decoy'])}"
    return text


def evidence_line(one: Mapping[str, Any]) -> str:
    """What a figure should show in one line: the number and what it is held to."""
    wanted = f"{one['relation']} {one['bound']:.6g}"
    return f"{one['statement']}: {one['value']:.6g}, expected {wanted}"


def _short(value: Any) -> str:
    if isinstance(value, list):
        entries = [_short(entry) for entry in value[:4]]
        return f"[{', '.join(entries)}{', …' if len(value) > 4 else ''}]"
    return f"{value:.6g}" if isinstance(value, (int, float)) else str(value)
