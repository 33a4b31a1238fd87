"""Small charts as SVG: quick to draw, at home on light and dark pages.

Text and axes take the colour of the page's text. Curves differ by dashes and markers as
well as by colours, which survive the common colour blindnesses and both backgrounds.
"""

import html
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from iclab.show import number
from iclab.show.palette import (
    BRIGHT_BLUE as BLUE,
    BRIGHT_GREY as GREY,
    GREEN,
    ORANGE,
    PURPLE,
    VERMILION,
)

_FONT = "font-family:system-ui,sans-serif"
# Width of a letter at 12 pixels, on average and on the safe side.
_LETTER = 6.6


class Style(NamedTuple):
    """How a curve looks."""

    colour: str
    dash: str = ""
    marker: str = ""


STYLES = (
    Style(BLUE, "", "circle"),
    Style(VERMILION, "7 4", "square"),
    Style(GREEN, "2 3", "triangle"),
    Style(PURPLE, "9 3 2 3", "diamond"),
    Style(ORANGE, "4 2", "cross"),
    Style(GREY, "1 3", ""),
)


@dataclass(frozen=True)
class Axis:
    """A range of numbers, on a plain or a logarithmic scale."""

    label: str
    low: float
    high: float
    log: bool = False
    whole: bool = False

    def part(self, value: float) -> float:
        """Where a value lies, 0 at the low end and 1 at the high end."""
        if not self.log:
            return (value - self.low) / (self.high - self.low)
        tiny = self.low * 1e-6
        return math.log(max(value, tiny) / self.low) / math.log(self.high / self.low)

    def ticks(self) -> list[float]:
        """Round numbers inside the range, four to nine of them."""
        if not self.log:
            low, high = sorted((self.low, self.high))
            step = _nice((high - low) / 5)
            step = max(step, 1.0) if self.whole else step
            first = math.ceil(low / step - 1e-9)
            last = math.floor(high / step + 1e-9)
            return [round(i * step, 12) for i in range(first, last + 1)]
        decades = math.log10(self.high / self.low)
        parts = (1, 2, 5) if decades <= 2.2 else (1,)
        every = max(1, math.ceil(decades / 7))
        powers = range(
            math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1
        )
        found = [p * 10.0**e for e in powers if e % every == 0 for p in parts]
        edge = 1 + 1e-9
        return [one for one in found if self.low / edge <= one <= self.high * edge]

    def json(self) -> dict[str, Any]:
        """The axis as the browser's side takes it."""
        return {"low": self.low, "high": self.high, "log": self.log}


def around(
    values: Iterable[Any], label: str, *, log: bool = False, zero: bool = False
) -> Axis:
    """An axis with room for all finite values; `zero` keeps zero in sight."""
    flat = [np.ravel(np.asarray(one, dtype=float)) for one in values]
    every = np.concatenate(flat) if flat else np.ones(1)
    every = every[np.isfinite(every)]
    every = every[every > 0] if log else every
    if not every.size:
        every = np.ones(1)
    low, high = float(every.min()), float(every.max())
    if log:
        low, high = low / 1.3, high * 1.3
        return Axis(label, low, high if high / low > 1.5 else 1.5 * low, log=True)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    room = 0.06 * (high - low) or 0.5 * abs(high) or 1.0
    return Axis(label, low if zero and low == 0 else low - room, high + room)


class Chart:
    """Curves, bands, points, bars and fields on one pair of axes."""

    def __init__(
        self, x: Axis, y: Axis, *, title: str, width: int = 600, height: int = 360
    ):
        self.x, self.y, self.title = x, y, title
        self.width, self.height = width, height
        self._drawn: list[tuple[str, tuple[Any, ...]]] = []
        self._legend: list[tuple[str, Style, str]] = []

    @property
    def _top(self) -> float:
        return 34 + 18 * len(self._rows())

    def frame(self) -> dict[str, Any]:
        """Where the axes are, for what is laid over the picture."""
        return {
            "width": self.width,
            "height": self.height,
            "left": 62,
            "right": self.width - 14,
            "top": self._top,
            "bottom": self.height - 44,
            "x": self.x.json(),
            "y": self.y.json(),
        }

    def line(
        self, x: Any, y: Any, label: str, style: Style, width: float = 2.2
    ) -> None:
        """A curve; it breaks where there is no number."""
        self._legend.append((label, style, "line"))
        self._drawn.append(("line", (x, y, label, style, width)))

    def band(self, x: Any, lower: Any, upper: Any, label: str, style: Style) -> None:
        """The space between two curves."""
        self._legend.append((label, style, "band"))
        self._drawn.append(("band", (x, lower, upper, style)))

    def points(
        self,
        x: Any,
        y: Any,
        label: str,
        style: Style,
        *,
        lower: Any = None,
        upper: Any = None,
    ) -> None:
        """Markers, with bars from `lower` to `upper`."""
        self._legend.append((label, style, "points"))
        self._drawn.append(("points", (x, y, style, lower, upper)))

    def bars(
        self, left: Any, right: Any, height: Any, label: str, style: Style
    ) -> None:
        """Filled bars from the bottom."""
        self._legend.append((label, style, "band"))
        self._drawn.append(("bars", (left, right, height, style)))

    def field(self, values: Any, limit: float) -> None:
        """A matrix over the whole frame, row 0 at the bottom, orange above zero and
        purple below."""
        self._drawn.append(("field", (values, limit)))

    def level(self, y: float, label: str, style: Style) -> None:
        """A horizontal line."""
        self.line([self.x.low, self.x.high], [y, y], label, style, 1.6)

    def svg(self) -> str:
        """The picture."""
        inside = "".join(getattr(self, f"_{kind}")(*what) for kind, what in self._drawn)
        f = self.frame()
        clip = f"clip{abs(hash((self.title, self.width, f['top']))) % 10**8}"
        box = (
            f'x="{f["left"]}" y="{f["top"]}" width="{f["right"] - f["left"]}"'
            f' height="{f["bottom"] - f["top"]}"'
        )
        title = html.escape(self.title)
        return (
            f'<svg class="iclab-chart" viewBox="0 0 {self.width} {self.height}"'
            f' role="img" aria-label="{title}" style="{_FONT};width:100%;'
            f'max-width:{self.width}px;height:auto;display:block">'
            f'<text x="{f["left"]}" y="18" font-size="14" font-weight="600"'
            f' fill="currentColor">{title}</text>{self._keys()}{self._grid()}'
            f'<clipPath id="{clip}"><rect {box}/></clipPath>'
            f'<g clip-path="url(#{clip})">{inside}</g></svg>'
        )

    def _at(self, x: float, y: float) -> tuple[float, float]:
        f = self.frame()
        across = f["left"] + self.x.part(x) * (f["right"] - f["left"])
        up = f["bottom"] - self.y.part(y) * (f["bottom"] - f["top"])
        # Far outside is far enough: huge numbers are no coordinates.
        return min(max(across, -1e4), 1e4), min(max(up, -1e4), 1e4)

    def _path(self, x: Any, y: Any) -> str:
        pieces, broken = [], True
        for one, other in zip(_floats(x), _floats(y), strict=True):
            if not (math.isfinite(one) and math.isfinite(other)):
                broken = True
                continue
            across, up = self._at(one, other)
            pieces.append(f"{'M' if broken else 'L'}{across:.1f} {up:.1f}")
            broken = False
        return "".join(pieces)

    def _line(self, x: Any, y: Any, label: str, style: Style, width: float) -> str:
        return (
            f'<path class="curve" data-label="{html.escape(label)}" fill="none"'
            f' stroke="{style.colour}" stroke-width="{width}" stroke-linejoin="round"'
            f' stroke-dasharray="{style.dash}" d="{self._path(x, y)}"><title>'
            f"{html.escape(label)}</title></path>"
        )

    def _band(self, x: Any, lower: Any, upper: Any, style: Style) -> str:
        there = self._path(x, upper)
        back = self._path(list(x)[::-1], list(lower)[::-1]).replace("M", "L")
        return f'<path fill="{style.colour}" opacity="0.22" d="{there}{back}Z"/>'

    def _points(self, x: Any, y: Any, style: Style, lower: Any, upper: Any) -> str:
        found = []
        for i, (one, other) in enumerate(zip(_floats(x), _floats(y), strict=True)):
            if not (math.isfinite(one) and math.isfinite(other)):
                continue
            if lower is not None:
                across, low = self._at(one, float(lower[i]))
                _, high = self._at(one, float(upper[i]))
                found.append(
                    f'<path stroke="{style.colour}" stroke-width="1.6" fill="none" d="'
                    f"M{across:.1f} {low:.1f}V{high:.1f}M{across - 4:.1f} {low:.1f}h8"
                    f'M{across - 4:.1f} {high:.1f}h8"/>'
                )
            found.append(_marker(style, *self._at(one, other)))
        return "".join(found)

    def _bars(self, left: Any, right: Any, height: Any, style: Style) -> str:
        found = []
        every = map(_floats, (left, right, height))
        for one, other, value in zip(*every, strict=True):
            (start, up), (end, down) = self._at(one, value), self._at(other, self.y.low)
            wide, high = max(end - start, 0.5), max(down - up, 0)
            found.append(
                f'<rect x="{start:.1f}" y="{up:.1f}" width="{wide:.1f}"'
                f' height="{high:.1f}"/>'
            )
        return f'<g fill="{style.colour}" opacity="0.25">{"".join(found)}</g>'

    def _field(self, values: Any, limit: float) -> str:
        f, matrix = self.frame(), np.asarray(values)
        rows, columns = matrix.shape
        width = (f["right"] - f["left"]) / columns
        height = (f["bottom"] - f["top"]) / rows
        cells = [
            f'<rect x="{f["left"] + j * width:.1f}"'
            f' y="{f["bottom"] - (i + 1) * height:.1f}" width="{width + 0.6:.1f}"'
            f' height="{height + 0.6:.1f}" fill="{diverging(float(value) / limit)}"/>'
            for (i, j), value in np.ndenumerate(matrix)
        ]
        return "".join(cells)

    def _grid(self) -> str:
        f, found = self.frame(), []
        for tick in self.x.ticks():
            across, _ = self._at(tick, self.y.low)
            found.append(
                f'<path d="M{across:.1f} {f["top"]}V{f["bottom"]}"'
                f' stroke="currentColor" opacity="0.12"/>'
                f'<text x="{across:.1f}" y="{f["bottom"] + 16}"'
                f' text-anchor="middle">{number(tick)}</text>'
            )
        for tick in self.y.ticks():
            _, up = self._at(self.x.low, tick)
            found.append(
                f'<path d="M{f["left"]} {up:.1f}H{f["right"]}" stroke="currentColor"'
                f' opacity="0.12"/><text x="{f["left"] - 7}" y="{up + 4:.1f}"'
                f' text-anchor="end">{number(tick)}</text>'
            )
        middle = (f["left"] + f["right"]) / 2
        centre = (f["top"] + f["bottom"]) / 2
        found.append(
            f'<path d="M{f["left"]} {f["top"]}V{f["bottom"]}H{f["right"]}" fill="none"'
            ' stroke="currentColor" opacity="0.6"/>'
            f'<text x="{middle}" y="{self.height - 8}" text-anchor="middle"'
            f' font-size="12.5">{html.escape(self.x.label)}</text>'
            f'<text transform="translate(15 {centre}) rotate(-90)" font-size="12.5"'
            f' text-anchor="middle">{html.escape(self.y.label)}</text>'
        )
        return f'<g font-size="11.5" fill="currentColor">{"".join(found)}</g>'

    def _rows(self) -> list[list[tuple[str, Style, str]]]:
        """Entries of the legend, in as many rows as they need."""
        rows: list[list[tuple[str, Style, str]]] = []
        room = 0.0
        for entry in self._legend:
            if not entry[0]:
                continue
            wide = 44 + _LETTER * len(entry[0])
            if not rows or room < wide:
                rows, room = [*rows, []], self.width - 76
            rows[-1].append(entry)
            room -= wide
        return rows

    def _keys(self) -> str:
        found = []
        for i, row in enumerate(self._rows()):
            across, up = 62.0, 35.0 + 18 * i
            for label, style, kind in row:
                if kind == "band":
                    found.append(
                        f'<rect x="{across}" y="{up - 8}" width="26" height="10"'
                        f' fill="{style.colour}" opacity="0.35"/>'
                    )
                elif kind == "line":
                    found.append(
                        f'<path d="M{across} {up - 3}h26" stroke="{style.colour}"'
                        f' stroke-width="2.4" stroke-dasharray="{style.dash}"/>'
                    )
                else:
                    found.append(_marker(style, across + 13, up - 3))
                found.append(
                    f'<text x="{across + 32}" y="{up + 1}" font-size="12"'
                    f' fill="currentColor">{html.escape(label)}</text>'
                )
                across += 44 + _LETTER * len(label)
        return "".join(found)


def diverging(part: float) -> str:
    """Colour of a number between −1 and 1: purple, white, orange."""
    part = min(max(part, -1.0), 1.0) if math.isfinite(part) else 0.0
    end = (179, 88, 6) if part > 0 else (84, 39, 136)
    middle = (247, 247, 247)
    mixed = (round(m + (e - m) * abs(part)) for m, e in zip(middle, end, strict=True))
    return "#" + "".join(f"{one:02x}" for one in mixed)


def heat_map(
    matrix: Any, limit: float, title: str, *, rows: str, columns: str, width: int = 600
) -> str:
    """A matrix as a picture, row 0 on top."""
    values = np.asarray(matrix)
    n, k = values.shape
    x = Axis(columns, 0.5, k + 0.5, whole=True)
    y = Axis(rows, n + 0.5, 0.5, whole=True)
    chart = Chart(x, y, title=title, width=width, height=90 + max(110, width * n // k))
    chart.field(values[::-1], limit)
    return chart.svg()


def _marker(style: Style, x: float, y: float) -> str:
    match style.marker:
        case "square":
            outline = f"M{x - 4:.1f} {y - 4:.1f}h8v8h-8z"
        case "triangle":
            outline = f"M{x:.1f} {y - 5:.1f}l5 9h-10z"
        case "diamond":
            outline = f"M{x:.1f} {y - 5.5:.1f}l5.5 5.5l-5.5 5.5l-5.5 -5.5z"
        case "cross":
            outline = f"M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"
        case _:
            outline = (
                f"M{x - 4.3:.1f} {y:.1f}a4.3 4.3 0 1 0 8.6 0a4.3 4.3 0 1 0 -8.6 0z"
            )
    stroke = f' stroke="{style.colour}" stroke-width="2.4"'
    ends = stroke if style.marker == "cross" else ""
    return f'<path class="mark" d="{outline}" fill="{style.colour}"{ends}/>'


def _floats(values: Any) -> list[float]:
    return np.asarray(values, dtype=float).tolist()


def _nice(step: float) -> float:
    """The next of 1, 2, 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(f * power for f in (1, 2, 5, 10) if f * power >= step * (1 - 1e-9))
