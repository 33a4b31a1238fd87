"""Pictures of a probe: filters, layers and shifts."""

import io
import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from iclab.show import panel, share, svg
from iclab.show.palette import (
    BACKDROP,
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
)

_LAYERS = (GREY, SKY, GREEN, ORANGE, VERMILION, PURPLE, BLUE, BLACK)
_WIDTH, _COLUMN = 10.0, 3.4
# Distances below are drawn here.
_LEAST = 1e-9


def draw(record: Mapping[str, Any]) -> dict[str, bytes]:
    """SVG files by name."""
    found = {
        "filter.svg": _filters(record),
    }
    if record["shifts"]:
        found["shifts.svg"] = _shifts(record)
        found["shift_filters.svg"] = _shift_filters(record)
    if record["layers"] is not None:
        found["layers.svg"] = _layers(record)
    files = {name: svg(picture).encode() for name, picture in found.items()}
    return {**files, "figure.pdf": _column(record)}


def _column(record: Mapping[str, Any]) -> bytes:
    """One column for a paper: filter, named family, distances, caption with numbers."""
    one = next(c for c in record["contexts"] if c["context"] == record["main_context"])
    curve, family = one["filter"], one["family"]
    lam = np.array(curve["lambda"])
    picture = Picture(figsize=(_COLUMN, 4.6))
    left, right = picture.subplots(2, 1, height_ratios=(3, 2))
    picture.subplots_adjust(left=0.16, right=0.97, top=0.98, bottom=0.36, hspace=0.5)
    left.fill_between(lam, curve["lower"], curve["upper"], color=BLUE, alpha=0.25, lw=0)
    left.plot(lam, _known(curve), "o-", ms=2.5, lw=1, color=BLUE, label="model")
    if family["filter"] is not None:
        named = family["name"]
        left.plot(lam, family["filter"], "--", lw=1, color=VERMILION, label=named)
    left.axhline(1, color=GREY, lw=0.6, ls=":")
    _log(left, "x")
    left.set_ylim(-0.1, 1.5)
    left.set_xlabel("eigenvalue λ of S", fontsize=7)
    left.set_ylabel("λg(λ)", fontsize=7)
    left.legend(fontsize=6.5, frameon=False)
    left_over = (f for f in one["families"] if f["tested"] and not f["excluded_by"])
    rows = list(left_over)[:5][::-1]
    values = np.maximum([f["distance"] for f in rows], _LEAST)
    ends = np.maximum([f["distance_interval"] for f in rows], _LEAST)
    spread = np.abs(ends.T - values)
    right.errorbar(values, range(len(rows)), xerr=spread, fmt="o", ms=2.5, color=BLUE)
    right.set_yticks(range(len(rows)), [f["name"][:26] for f in rows], fontsize=5.5)
    right.set_xscale("log")
    right.xaxis.set_minor_formatter(NullFormatter())
    around = [one["resolution"], *values]
    right.set_xlim(min(around) / 5, max(around) * 5)
    right.set_xlabel("distance, share of E ŷ²", fontsize=7)
    right.axvline(one["resolution"], color=GREY, lw=0.6, ls=":")
    right.set_ylim(-0.6, max(len(rows), 1) - 0.4)
    box = right.get_position()
    right.set_position((0.44, box.y0, 0.53, box.height))
    for axis in (left, right):
        axis.tick_params(labelsize=6)
        axis.spines[["top", "right"]].set_visible(False)
    picture.text(0.02, 0.01, caption(record), fontsize=6, va="bottom")
    file = io.BytesIO()
    picture.savefig(file, format="pdf", metadata={"CreationDate": None})
    return file.getvalue()


def caption(record: Mapping[str, Any]) -> str:
    """The caption of the column, with the numbers of the tests."""
    one = next(c for c in record["contexts"] if c["context"] == record["main_context"])
    tests = ", ".join(f"{n} {share(t['violation'])}" for n, t in one["tests"].items())
    text = (
        f"{record['model']} ({record['task']}, d = {record['dimension']},"
        f" {one['context']} examples): {one['sentence']}. Top: filter, 90 % band,"
        f" R² = {one['filter']['r2']:.4f}. Bottom: distances of the families that the"
        f" tests leave, with 90 % intervals, on prompts that were not fitted to"
        f" ({record['prompts']} prompts in all; dotted: resolution"
        f" {share(one['resolution'])}). Tests, E(Δŷ)²/E ŷ²: {tests}."
    )
    return "\n".join(textwrap.wrap(text, 74))


def _log(axis: Axes, which: str) -> None:
    getattr(axis, f"set_{which}scale")("log")
    one = getattr(axis, f"{which}axis")
    low, high = one.get_view_interval()
    # Where there is little more than a decade, its 2 and 5 have labels too.
    parts = (1, 2, 5) if high < 60 * low else (1,)
    one.set_major_locator(LogLocator(subs=parts, numticks=6))
    one.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    one.set_minor_locator(LogLocator(subs=range(1, 10), numticks=50))
    one.set_minor_formatter(NullFormatter())


def _panels(
    count: int, height: float, label: str, *, sharey: bool = True
) -> tuple[Picture, list[Axes]]:
    """A page of so many panels, three in a row, with a label at the left ones."""
    columns = min(count, 3)
    rows = -(-count // columns)
    picture = Picture(figsize=(_WIDTH, height * rows), layout="constrained", dpi=120)
    axes: Any = picture.subplots(rows, columns, squeeze=False, sharey=sharey)
    for number, axis in enumerate(axes.flat):
        axis.set_visible(number < count)
        if number % columns == 0:
            axis.set_ylabel(label, fontsize=9.5)
    return picture, list(axes.flat)[:count]


def _filters(record: Mapping[str, Any]) -> Picture:
    contexts = record["contexts"]
    picture, axes = _panels(len(contexts), 3.3, "filter λg(λ)")
    for axis, one in zip(axes, contexts, strict=True):
        curve, family = one["filter"], one["family"]
        lam = np.array(curve["lambda"])
        title = f"{one['context']} examples, R² = {curve['r2']:.3f}"
        whitened = " (whitened)" if curve["metric"] == "whitened" else ""
        panel(axis, title, f"eigenvalue λ of S{whitened}")
        edges, counts = (np.array(one["spectrum"][k]) for k in ("edges", "counts"))
        height = 0.45 * counts / counts.max()
        axis.stairs(height, edges, fill=True, color=BACKDROP, label="spectrum of S")
        axis.axhline(1, color=GREY, lw=1, ls=":", label="least squares")
        if family["filter"] is not None:
            label = f"{one['verdict']}: {family['name']}"
            axis.plot(lam, family["filter"], color=VERMILION, ls="--", label=label)
        band = (curve["lower"], curve["upper"])
        axis.fill_between(lam, *band, color=BLUE, alpha=0.22, lw=0, label="90 % band")
        axis.plot(lam, _known(curve), "o-", ms=3.5, color=BLUE, label="the model")
        _log(axis, "x")
        axis.set_xlim(lam[0], lam[-1]) if lam[-1] > lam[0] else None
        axis.legend(fontsize=8, frameon=False, loc="upper left")
    values = np.concatenate([one["filter"]["value"] for one in contexts])
    low, high = min(0.0, values.min()), max(1.3, values.max())
    axes[0].set_ylim(max(low, -1.0) - 0.08, min(high, 3.0) + 0.3)
    return picture


def _known(curve: Mapping[str, Any]) -> np.ndarray:
    """The curve where its band says something."""
    lower, upper = np.array(curve["lower"]), np.array(curve["upper"])
    return np.where(upper - lower <= 1, curve["value"], np.nan)


def _layers(record: Mapping[str, Any]) -> Picture:
    found = record["layers"]
    states = found["layers"]
    picture = Picture(figsize=(_WIDTH, 3.2), layout="constrained", dpi=120)
    left, right = picture.subplots(1, 2)
    blocks = [one["blocks"] for one in states]
    panel(left, "Error of a read-out", "blocks passed", "E(ŷ − y)² / E y²")
    for name, color, label in (
        ("error", BLUE, "best linear read-out"),
        ("own_error", ORANGE, "the model's own"),
    ):
        values = np.array([one[name] for one in states])
        ends = np.array([one[f"{name}_interval"] for one in states])
        left.fill_between(blocks, *ends.T, color=color, alpha=0.2, lw=0)
        left.plot(blocks, values, "o-", ms=4, color=color, label=label)
    _log(left, "y")
    left.set_xticks(blocks)
    left.legend(fontsize=8.5, frameon=False)
    panel(right, "Filters of the read-outs", "eigenvalue λ of S", "λg(λ)")
    for one in states:
        curve = one["filter"]
        if curve["r2"] < 0.5:
            continue
        color = _LAYERS[one["blocks"] % len(_LAYERS)]
        label = f"after {one['blocks']}, R² = {curve['r2']:.2f}"
        right.plot(
            curve["lambda"], _known(curve), "o-", ms=3.5, color=color, label=label
        )
    _log(right, "x")
    right.axhline(1, color=GREY, lw=1, ls=":")
    right.set_ylim(-0.3, 1.6)
    if right.get_legend_handles_labels()[0]:
        right.legend(fontsize=8.5, frameon=False)
    return picture


def _shifts(record: Mapping[str, Any]) -> Picture:
    shifts, label = record["shifts"], "E(ŷ − y)² / E y²"
    picture, axes = _panels(len(shifts), 2.9, label, sharey=False)
    for axis, one in zip(axes, shifts, strict=True):
        x = np.array(one["setting"])
        panel(axis, one["name"].capitalize(), one["meaning"])
        axis.xaxis.label.set_fontsize(8.5)
        floor = 1e-6
        ends = [np.maximum(one[end], floor) for end in ("lower", "upper")]
        axis.fill_between(x, *ends, color=BLUE, alpha=0.22, lw=0)
        error = np.maximum(one["error"], floor)
        axis.plot(x, error, "o-", ms=3.5, color=BLUE, label="the model")
        solved = np.array(one["least_squares"])
        seen = solved > floor
        if seen.any():
            where = np.where(seen, solved, np.nan)
            axis.plot(x, where, "s--", ms=3, color=GREY, label="least squares")
        if one["name"] == "context" and record["training_context"]:
            label = "longest in training"
            axis.axvline(record["training_context"], color=ORANGE, lw=1, label=label)
        _log(axis, "y")
        if one["name"] != "noise":
            _log(axis, "x")
            axis.set_xticks(x, [f"{v:g}" for v in x])
            axis.xaxis.set_minor_locator(NullLocator())
        axis.legend(fontsize=8, frameon=False)
    return picture


def _shift_filters(record: Mapping[str, Any]) -> Picture:
    """A curve for every setting, light to dark."""
    shifts = record["shifts"]
    picture, axes = _panels(len(shifts), 2.9, "filter λg(λ)")
    for axis, one in zip(axes, shifts, strict=True):
        panel(axis, one["name"].capitalize(), "eigenvalue λ of S")
        axis.axhline(1, color=GREY, lw=1, ls=":")
        # All would hide each other: every second where there are many.
        shown = range(len(one["setting"]))
        shown = shown if len(shown) <= 5 else [*shown[1::2]]
        colors = colormaps["viridis_r"](np.linspace(0.1, 1, len(shown)))
        for j, color in zip(shown, colors, strict=True):
            lam = np.array(one["eigenvalues"][j])
            band = (one["filter_lower"][j], one["filter_upper"][j])
            axis.fill_between(lam, *band, color=color, alpha=0.15, lw=0)
            label = f"{one['setting'][j]:g}: R² {one['r2'][j]:.2f}"
            axis.plot(lam, one["filter"][j], "o-", ms=3, color=color, label=label)
        _log(axis, "x")
        axis.legend(fontsize=7.5, frameon=False, title_fontsize=8)
    axes[0].set_ylim(-0.4, 1.6)
    return picture
