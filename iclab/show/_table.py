"""Tables and curves as pages and notebooks show them."""

import html
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from iclab.show._numbers import number
from iclab.show.palette import CURVES, FAINT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Markers are for few points.
_FEW = 40


def table(
    head: Sequence[str], rows: Iterable[Sequence[Any]], *, digits: int = 4
) -> str:
    """A table of words and numbers in HTML; whatever they are, they are no markup."""
    top = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "".join(
        "<tr>"
        + "".join(f"<td>{html.escape(number(cell, digits))}</td>" for cell in row)
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def curves(
    x: Any,
    named: Mapping[str, Sequence[Any]],
    *,
    labels: tuple[str, str],
    log: bool = False,
) -> str:
    """Curves (value, or value, lower and upper) as a picture, in SVG.

    `labels` are those of the axes; `log` makes the vertical one logarithmic.
    """
    from matplotlib.figure import Figure

    picture = Figure(figsize=(5.6, 3.2), layout="constrained")
    axis = picture.subplots()
    for i, (name, (value, *ends)) in enumerate(named.items()):
        colour, marker = CURVES[i % len(CURVES)]
        few = marker if len(x) <= _FEW else ""
        axis.plot(x, value, color=colour, marker=few, markersize=4, label=name)
        if ends:
            axis.fill_between(x, *ends, color=colour, alpha=0.2, linewidth=0)
    panel(axis, "", *labels)
    if log:
        axis.set_yscale("log")
    if len(named) > 1:
        axis.legend(frameon=False, fontsize=8)
    # What stands before the picture is for files, not for pages.
    return re.sub(r"^.*?(?=<svg )", "", svg(picture), flags=re.DOTALL)


def panel(axis: "Axes", title: str, x: str, y: str = "") -> None:
    """Title, labels, a faint grid and no box."""
    axis.set_title(title, fontsize=10.5, loc="left")
    axis.set_xlabel(x, fontsize=9.5)
    axis.set_ylabel(y, fontsize=9.5)
    axis.tick_params(labelsize=8.5)
    axis.grid(color=FAINT, linewidth=0.6)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)


def svg(picture: "Figure") -> str:
    """A picture as text, the same whenever it is written."""
    stream = io.StringIO()
    picture.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue()
