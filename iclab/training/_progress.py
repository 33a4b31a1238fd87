"""A progress bar on a terminal; silence elsewhere."""

import contextlib
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def progress(
    title: str, total: int, show: bool | None = None
) -> Iterator[Callable[[int, str], None]]:
    """Give `advance(steps, text)`, which moves a bar on standard error.

    `show=None` shows the bar if standard error is a terminal.
    """
    if show is None:
        show = sys.stderr.isatty()
    if not show:
        yield lambda steps, text: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[text]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total, text="")
        yield lambda steps, text: bar.update(task, advance=steps, text=text)
