"""Results as notebooks show them: tables, and curves with their intervals."""

import html
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from iclab._reading import Numbers, checked, require

# Okabe and Ito's colours, with a marker each.
_CURVES = (
    ("#0072B2", "o"),
    ("#D55E00", "s"),
    ("#009E73", "^"),
    ("#CC79A7", "D"),
    ("#E69F00", "v"),
    ("#56B4E9", "P"),
)
# Markers are for few points.
_FEW = 40


@checked
def html_table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table of words and numbers; whatever they are, they are no markup."""
    top = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


@checked
def html_curves(
    x: Numbers,
    curves: Mapping[str, Sequence[Numbers]],
    *,
    labels: tuple[str, str],
    log: bool = False,
) -> str:
    """Curves (value, or value, lower and upper) as a picture, in SVG.

    `labels` are those of the axes; `log` makes the vertical one logarithmic.
    """
    from matplotlib.figure import Figure

    places = np.asarray(x, float)
    rule, found = "a vector of numbers", f"shape {places.shape}"
    require(places.ndim == 1, "html_curves", "x", rule, found)
    rule = f"one or three vectors of {len(places)} numbers, as long as `x`"
    for name, parts in curves.items():
        found = f"shapes {[np.shape(one) for one in parts]} for {name!r}"
        same = all(np.shape(one) == places.shape for one in parts)
        require(len(parts) in (1, 3) and same, "html_curves", "curves", rule, found)
    picture = Figure(figsize=(5.6, 3.2), layout="constrained")
    axis = picture.subplots()
    for i, (name, parts) in enumerate(curves.items()):
        colour, marker = _CURVES[i % len(_CURVES)]
        value, *ends = (np.asarray(one, float) for one in parts)
        few = marker if len(places) <= _FEW else ""
        axis.plot(places, value, color=colour, marker=few, markersize=4, label=name)
        if ends:
            axis.fill_between(
                places, ends[0], ends[1], color=colour, alpha=0.2, linewidth=0
            )
    axis.set_xlabel(labels[0])
    axis.set_ylabel(labels[1])
    if log:
        axis.set_yscale("log")
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(color="#DDDDDD", linewidth=0.6)
    if len(curves) > 1:
        axis.legend(frameon=False, fontsize=8)
    text = io.StringIO()
    picture.savefig(text, format="svg", metadata={"Date": None})
    # What stands before the picture is for files, not for pages.
    return re.sub(r"^.*?(?=<svg )", "", text.getvalue(), flags=re.DOTALL)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return html.escape(value)
    if np.ndim(value) == 0:
        number = np.asarray(value).item()
        whole = isinstance(number, bool | int)
        return html.escape(str(number) if whole else f"{number:.4g}")
    return html.escape(", ".join(f"{one:.4g}" for one in np.ravel(value)[:6]))
