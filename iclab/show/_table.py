"""Tables of pages and notebooks, and panels of figures."""

import html
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from iclab.show._numbers import number
from iclab.show.palette import FAINT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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


def panel(axis: "Axes", title: str, x: str, y: str = "") -> None:
    """Title, labels, a faint grid and no box."""
    axis.set_title(title, fontsize=10.5, loc="left")
    axis.set_xlabel(x, fontsize=9.5)
    axis.set_ylabel(y or axis.get_ylabel(), fontsize=9.5)
    axis.tick_params(labelsize=8.5)
    axis.grid(color=FAINT, linewidth=0.6)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)


def svg(picture: "Figure") -> str:
    """A picture as text, the same whenever it is written."""
    stream = io.StringIO()
    picture.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue()
