"""A case as a small picture: what was predicted, what was measured, and the decoy.

The pictures are SVG elements for the page itself, so that its colours, light or dark,
are theirs; shapes tell the three apart without colour. Lengths are drawn, nothing is
decided here: verdicts are those of the stored results.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from iclab.evidence import CaseResult, bars_off, farthest
from iclab.show import number, with_error

_WIDTH, _STRIP, _PLOT = 300, 58, 128
_COLUMNS = 24  # more numbers than this cannot be told apart at this size
_WIDE = 300.0  # ratio of largest to smallest from which a linear scale hides the small


@dataclass(frozen=True)
class Point:
    """One number of a case, all sides of it."""

    predicted: float
    measured: float
    error: float
    decoy: float | None
    label: str = ""


def points(case: CaseResult) -> list[Point]:
    """The numbers of a case, one after the other."""
    names = ["predicted", "measured", "error"]
    if case.decoy is not None:
        names.append("decoy")
    sides = np.broadcast_arrays(*(_floats(getattr(case, name)) for name in names))
    predicted, measured, error, *rest = (side.ravel().tolist() for side in sides)
    decoy = rest[0] if rest else [None] * len(predicted)
    labels = case.labels or [""] * len(predicted)
    return list(map(Point, predicted, measured, error, decoy, labels))


def _floats(value: Any) -> np.ndarray:
    return np.asarray(value).astype(np.float64)


def in_words(case: CaseResult) -> str:
    """Where the prediction and the decoy stand to the error bar, in a sentence.

    Of several numbers the one farthest off counts, and is named.
    """
    worst = farthest(case)
    if np.any(np.isnan(_floats(case.measured) - _floats(case.predicted))):
        return "Not a number, so inside no error bar."
    bound = case.relation != "="
    if worst.bars > 1:
        text = f"{'Bound broken' if bound else 'Prediction off'}{_bars(worst.bars)}"
        text += f" ({worst.name})" if worst.name else ""
    elif bound:
        text = "Bound kept"
    else:
        text = "Prediction inside the error bar"
    if case.decoy is None:
        return f"{text}."
    off = bars_off(case.relation, case.measured, case.decoy, case.error)
    decoy = float(np.max(off))
    if decoy > 1:
        return f"{text}; decoy {'broken' if bound else 'off'}{_bars(decoy)}."
    return f"{text}; decoy not rejected."


def _bars(count: float) -> str:
    if math.isinf(count):
        return ", with no error allowed"
    return f" by {number(count, 2)} error bars"


def picture(case: CaseResult) -> Markup:
    """The picture of a case: a strip for one number, a column each for several."""
    every = points(case)
    return _strip(case, every[0]) if len(every) == 1 else _plot(case, every)


def _strip(case: CaseResult, point: Point) -> Markup:
    scale = _scale([point], 14, _WIDTH - 14)
    place = scale.place
    y, parts = 24.0, []
    if case.relation != "=" and math.isfinite(point.predicted):
        x = place(point.predicted)
        start, end = (0.0, x) if case.relation == "<=" else (x, float(_WIDTH))
        parts.append(_box(start, y - 13, end - start, 26))
    parts.append(_line("axis", 0, y, _WIDTH, y))
    if math.isfinite(point.predicted):
        x = place(point.predicted)
        parts.append(_line("predicted", x, y - 13, x, y + 13))
    if point.decoy is not None and math.isfinite(point.decoy):
        parts.append(_cross(place(point.decoy), y))
    if math.isfinite(point.measured):
        x = place(point.measured)
        ends = [place(point.measured + sign * point.error) for sign in (-1, 1)]
        if all(map(math.isfinite, ends)) and ends[1] - ends[0] > 1:
            parts.append(_line("bar", ends[0], y, ends[1], y))
            parts += [_line("bar", end, y - 5, end, y + 5) for end in ends]
        parts.append(_dot(x, y))
    low, high = _ends(scale.low, scale.high)
    parts.append(_label(0, _STRIP - 5, low, "start"))
    parts.append(_label(_WIDTH, _STRIP - 5, high, "end"))
    if scale.kind:
        parts.append(_label(_WIDTH / 2, _STRIP - 5, scale.kind, "middle"))
    return _svg(_STRIP, parts, _spoken(case, [point]))


def _plot(case: CaseResult, every: Sequence[Point]) -> Markup:
    shown = every[:_COLUMNS]
    top, bottom = 20.0, _PLOT - 20.0
    scale = _scale(shown, bottom, top)
    place = scale.place
    width = _WIDTH / len(shown)
    half = min(width * 0.36, 11.0)
    parts = [_line("axis", 0, _PLOT - 15, _WIDTH, _PLOT - 15)]
    if scale.low < 0 < scale.high:
        parts.append(_line("zero", 0, place(0.0), _WIDTH, place(0.0)))
    for column, point in enumerate(shown):
        x = (column + 0.5) * width
        if math.isfinite(point.predicted):
            y = place(point.predicted)
            if case.relation != "=":
                start, end = (y, bottom) if case.relation == "<=" else (top, y)
                parts.append(_box(x - half, start, 2 * half, end - start))
            parts.append(_line("predicted", x - half, y, x + half, y))
        if point.decoy is not None and math.isfinite(point.decoy):
            parts.append(_cross(x, place(point.decoy)))
        if math.isfinite(point.measured):
            ends = [place(point.measured + sign * point.error) for sign in (-1, 1)]
            if all(map(math.isfinite, ends)) and ends[0] - ends[1] > 1:
                parts.append(_line("bar", x, ends[0], x, ends[1]))
            parts.append(_dot(x, place(point.measured)))
        if point.label:
            parts.append(_named(x - width / 2, width, point))
    low, high = _ends(scale.low, scale.high)
    parts.append(_label(0, 9, high, "start"))
    parts.append(_label(0, _PLOT - 3, low, "start"))
    words = f"{len(every)} numbers" + (f", {scale.kind}" if scale.kind else "")
    if len(every) > len(shown):
        words = f"first {len(shown)} of {words}"
    parts.append(_label(_WIDTH, _PLOT - 3, words, "end"))
    return _svg(_PLOT, parts, _spoken(case, every))


def _scale(every: Sequence[Point], start: float, end: float) -> "_Scale":
    """The scale on which the numbers of a picture lie between two places."""
    values: list[float] = []
    for point in every:
        values += [point.predicted, point.measured]
        values += [point.measured - point.error, point.measured + point.error]
        values += [] if point.decoy is None else [point.decoy]
    finite = [value for value in values if math.isfinite(value)] or [0.0]
    bend, kind = _bend(finite)
    return _Scale(min(finite), max(finite), start, end, bend, kind)


@dataclass(frozen=True)
class _Scale:
    """Places on the picture for values from `low` to `high`; the rest is at its end."""

    low: float
    high: float
    start: float
    end: float
    bend: Callable[[float], float]
    kind: str

    def place(self, value: float) -> float:
        first, last = self.bend(self.low), self.bend(self.high)
        if last == first:
            return (self.start + self.end) / 2
        share = (self.bend(min(max(value, self.low), self.high)) - first) / (
            last - first
        )
        return self.start + share * (self.end - self.start)


def _ends(low: float, high: float) -> tuple[str, str]:
    """Words for the ends of a scale; an end that is 0 but for rounding is 0."""
    small = 1e-5 * (high - low)
    ends = (0 if abs(end) < small else end for end in (low, high))
    first, last = (number(end, 3) for end in ends)
    return first, last


def _bend(finite: Sequence[float]) -> tuple[Callable[[float], float], str]:
    """A linear scale, or one that also shows the small where sizes differ widely."""
    largest = max(map(abs, finite))
    sizes = sorted(size for size in map(abs, finite) if size > 1e-12 * largest)
    unit = sizes[len(sizes) // 4] if sizes else 1.0
    if largest < _WIDE * unit:
        return lambda value: value, ""
    if min(finite) > 0:
        return math.log10, "log scale"
    return lambda value: math.asinh(value / unit), "log-like scale"


def _spoken(case: CaseResult, every: Sequence[Point]) -> str:
    """The picture in words, for those who cannot see it."""
    if len(every) > 1:
        return f"{len(every)} numbers. {in_words(case)}"
    (point,) = every
    relation = {"=": "", "<=": "at most ", ">=": "at least "}[case.relation]
    text = (
        f"predicted {relation}{number(point.predicted)}, measured"
        f" {with_error(point.measured, point.error)}"
    )
    if point.decoy is not None:
        text += f", decoy {relation}{number(point.decoy)}"
    return f"{text}. {in_words(case)}"


def _svg(height: int, parts: Sequence[str], words: str) -> Markup:
    return Markup(
        '<svg class="case" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>'
    ).format(_WIDTH, height, words, Markup("".join(parts)))


def _line(name: str, x1: float, y1: float, x2: float, y2: float) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line class="{name}" {ends}/>'


def _box(x: float, y: float, width: float, height: float) -> str:
    sides = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect class="allowed" {sides}/>'


def _named(x: float, width: float, point: Point) -> str:
    """The name of a column and its number, where the mouse is over it."""
    text = escape(f"{point.label}: {number(point.measured, 4)}")
    sides = f'x="{x:.1f}" y="0" width="{width:.1f}" height="{_PLOT}"'
    look = 'fill="none" pointer-events="all"'
    return f"<rect {sides} {look}><title>{text}</title></rect>"


def _dot(x: float, y: float) -> str:
    return f'<circle class="measured" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>'


def _cross(x: float, y: float) -> str:
    arms = f"M{x - 4:.1f} {y - 4:.1f}l8 8M{x - 4:.1f} {y + 4:.1f}l8 -8"
    return f'<path class="decoy" d="{arms}"/>'


def _label(x: float, y: float, text: str, anchor: str) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f"<text {place}>{escape(text)}</text>"
