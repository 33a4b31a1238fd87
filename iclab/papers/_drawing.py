"""How figures look: pages and panels, colours, curves over runs, heat maps."""

import string
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture, SubFigure
from matplotlib.ticker import FuncFormatter, LogLocator

from iclab.show import panel as panel
from iclab.show.palette import (
    BLACK as BLACK,
    BLUE as BLUE,
    CAPTION,
    GREEN as GREEN,
    GREY as GREY,
    ORANGE as ORANGE,
    PURPLE as PURPLE,
    SKY as SKY,
    VERMILION as VERMILION,
)

# A change here redraws figures and recomputes none of them.
__computes__ = False

# Colour and marker of the first curve of a family, the second, …
CURVES = (
    (ORANGE, "o"),
    (SKY, "s"),
    (GREEN, "^"),
    (BLUE, "D"),
    (VERMILION, "v"),
    (PURPLE, "P"),
)

# Of panels: (a), (b), …
LETTERS = string.ascii_lowercase

# Width of every figure, in inches.
WIDTH = 10.0


def sheet(height: float, title: str, caption: str) -> Picture:
    """An empty page with its title above and its caption below."""
    picture = Picture(figsize=(WIDTH, height), layout="constrained", dpi=120)
    picture.suptitle(title, fontsize=13)
    picture.supxlabel(caption, fontsize=9, color=CAPTION)
    return picture


def parts(
    picture: Picture | SubFigure, rows: int, columns: int, **ratios: Any
) -> list[SubFigure]:
    """The page cut into parts with axes and legends of their own."""
    cut: Any = picture.subfigures(rows, columns, squeeze=False, **ratios)
    return list(cut.flat)


def log_scale(axis: Axes, parts: Sequence[float] = (1, 2, 5)) -> None:
    """A logarithmic vertical axis with plain numbers at these parts of every decade."""
    axis.set_yscale("log")
    axis.yaxis.set_major_locator(LogLocator(subs=parts, numticks=99))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.minorticks_off()


def band(
    axis: Axes,
    runs: np.ndarray,
    label: str,
    color: str,
    x: np.ndarray | None = None,
    **style: Any,
) -> None:
    """Mean over runs by iteration, and the range from the smallest to the largest.

    `x` says which iterations the columns belong to; by default 0, 1, 2, …
    """
    x = np.arange(runs.shape[1]) if x is None else x
    axis.fill_between(x, runs.min(0), runs.max(0), color=color, alpha=0.2, linewidth=0)
    axis.plot(x, runs.mean(0), color=color, label=label, **style)


def legend_below(page: Picture | SubFigure, axes: Sequence[Axes], columns: int) -> None:
    """One legend for several panels, outside them, each label once."""
    handles = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    page.legend(
        handles.values(),
        handles.keys(),
        loc="outside lower center",
        ncols=columns,
        fontsize=9,
        frameon=False,
    )


def below(axis: Axes, columns: int) -> None:
    """A panel's own legend, under its horizontal axis."""
    axis.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.17),
        ncols=columns,
        fontsize=8.5,
        frameon=False,
        columnspacing=1.0,
        handlelength=1.6,
    )


def heat_map(axis: Axes, matrix: np.ndarray, limit: float, title: str) -> None:
    """A matrix with its entries, on a diverging scale from −limit to limit."""
    axis.imshow(matrix, cmap="PuOr", vmin=-limit, vmax=limit)
    for (i, j), entry in np.ndenumerate(matrix):
        text = f"{entry:.2f}" if abs(entry) < 9.995 else f"{entry:.1f}"
        text = "0" if text in ("0.00", "-0.00") else text.replace("-", "−")
        color = "white" if abs(entry) > 0.6 * limit else "black"
        axis.text(j, i, text, ha="center", va="center", fontsize=7.5, color=color)
    axis.set_xticks([])
    axis.set_yticks([])
    axis.spines[:].set_visible(False)
    axis.set_title(title, fontsize=10)
