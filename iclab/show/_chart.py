"""Small charts as SVG: quick to draw, at home on light and dark pages.

Text and axes take the colour of the page's text. Curves differ by dashes and markers as
well as by colours, which survive the common colour blindnesses and both backgrounds.
"""

import html
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from iclab.show._numbers import number
from iclab.show.palette import (
    BRIGHT_BLUE,
    BRIGHT_GREY,
    GREEN,
    ORANGE,
    PURPLE,
    VERMILION,
)

_FONT = "font-family:system-ui,sans-serif"
# Width of a letter at 12 pixels, on average and on the safe side.
_LETTER = 6.6
# Markers on curves are for few points.
_FEW = 40
_MARKERS = {
    "square": "m-4 -4h8v8h-8z",
    "triangle": "m0 -5l5 9h-10z",
    "diamond": "m0 -5.5l5.5 5.5l-5.5 5.5l-5.5 -5.5z",
    "cross": "m-4 -4l8 8m0 -8l-8 8",
}
_CIRCLE = "m-4.3 0a4.3 4.3 0 1 0 8.6 0a4.3 4.3 0 1 0 -8.6 0z"


def tag(name: str, inside: str = "", **attributes: object) -> str:
    """An element of SVG around what is `inside`: `stroke_width` is stroke-width."""
    words = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_written(value)}"'
        for key, value in attributes.items()
    )
    return f"<{name}{words}>{inside}</{name}>" if inside else f"<{name}{words}/>"


def _written(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.1f}".removesuffix(".0")
    return html.escape(str(value))


class Style(NamedTuple):
    """How a curve looks."""

    colour: str
    dash: str = ""
    marker: str = ""


STYLES = (
    Style(BRIGHT_BLUE, "", "circle"),
    Style(VERMILION, "7 4", "square"),
    Style(GREEN, "2 3", "triangle"),
    Style(PURPLE, "9 3 2 3", "diamond"),
    Style(ORANGE, "4 2", "cross"),
    Style(BRIGHT_GREY, "1 3", ""),
)


@dataclass(frozen=True)
class Axis:
    """A range of numbers, on a linear or a logarithmic scale."""

    label: str
    low: float
    high: float
    log: bool = False
    whole: bool = False

    def position(self, value: float) -> float:
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
        factors = (1, 2, 5) if decades <= 2.2 else (1,)
        every = max(1, math.ceil(decades / 7))
        powers = range(
            math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1
        )
        found = [p * 10.0**e for e in powers if e % every == 0 for p in factors]
        edge = 1 + 1e-9
        return [one for one in found if self.low / edge <= one <= self.high * edge]


def around(
    values: Iterable[Any], label: str, *, log: bool = False, zero: bool = False
) -> Axis:
    """An axis that shows all finite values; with `zero`, zero too."""
    every = [one for some in values for one in _floats(some) if math.isfinite(one)]
    every = [one for one in every if one > 0 or not log] or [1.0]
    low, high = min(every), max(every)
    if log:
        low, high = low / 1.3, high * 1.3
        return Axis(label, low, high if high / low > 1.5 else 1.5 * low, log=True)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    margin = 0.06 * (high - low) or 0.5 * abs(high) or 1.0
    return Axis(label, low if zero and low == 0 else low - margin, high + margin)


class Chart:
    """Curves, bands, points, bars and fields on one pair of axes."""

    def __init__(
        self, x: Axis, y: Axis, *, title: str, width: int = 600, height: int = 360
    ):
        self.x, self.y, self.title = x, y, title
        self.width, self.height = width, height
        self._legend: list[tuple[str, Style, str]] = []
        # Drawn at the end: how high the frame is depends on the legend.
        self._drawn: list[Callable[[], str]] = []

    def frame(self) -> dict[str, Any]:
        """Where the axes are, for what is laid over the picture."""
        return {
            "width": self.width,
            "height": self.height,
            "left": 62,
            "right": self.width - 14,
            "top": 34 + 18 * len(self._rows()),
            "bottom": self.height - 44,
            **{
                name: {"low": axis.low, "high": axis.high, "log": axis.log}
                for name, axis in (("x", self.x), ("y", self.y))
            },
        }

    def line(
        self, x: Any, y: Any, label: str, style: Style, width: float = 2.2
    ) -> None:
        """A curve; it breaks where there is no number."""

        def draw() -> str:
            return tag(
                "path",
                label and tag("title", html.escape(label)),
                class_="curve",
                data_label=label,
                fill="none",
                stroke=style.colour,
                stroke_width=width,
                stroke_linejoin="round",
                stroke_dasharray=style.dash,
                d=self._path(x, y),
            )

        self._add(draw, label, style, "line")

    def band(self, x: Any, lower: Any, upper: Any, label: str, style: Style) -> None:
        """The space between two curves."""

        def draw() -> str:
            there = self._path(x, upper)
            back = self._path(list(x)[::-1], list(lower)[::-1]).replace("M", "L")
            return tag("path", fill=style.colour, opacity="0.22", d=f"{there}{back}Z")

        self._add(draw, label, style, "band")

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

        def draw() -> str:
            found = []
            for i, (one, other) in enumerate(zip(_floats(x), _floats(y), strict=True)):
                if not (math.isfinite(one) and math.isfinite(other)):
                    continue
                if lower is not None:
                    across, low = self._at(one, float(lower[i]))
                    _, high = self._at(one, float(upper[i]))
                    d = f"M{across:.1f} {low:.1f}m-4 0h8m-4 0V{high:.1f}m-4 0h8"
                    line = {"stroke": style.colour, "stroke_width": 1.6}
                    found.append(tag("path", d=d, fill="none", **line))
                found.append(_marker(style, *self._at(one, other)))
            return "".join(found)

        self._add(draw, label, style, "points")

    def bars(
        self, left: Any, right: Any, height: Any, label: str, style: Style
    ) -> None:
        """Filled bars from the bottom."""

        def draw() -> str:
            found = []
            every = map(_floats, (left, right, height))
            for one, other, value in zip(*every, strict=True):
                start, up = self._at(one, value)
                end, down = self._at(other, self.y.low)
                wide, high = max(end - start, 0.5), max(down - up, 0.0)
                found.append(tag("rect", x=start, y=up, width=wide, height=high))
            return tag("g", "".join(found), fill=style.colour, opacity="0.25")

        self._add(draw, label, style, "band")

    def field(self, values: Any, limit: float) -> None:
        """A matrix over the whole frame, row 0 at the bottom, orange above zero and
        purple below."""

        def draw() -> str:
            f, matrix = self.frame(), [_floats(row) for row in values]
            width = (f["right"] - f["left"]) / len(matrix[0])
            height = (f["bottom"] - f["top"]) / len(matrix)
            return "".join(
                tag(
                    "rect",
                    x=f["left"] + j * width,
                    y=f["bottom"] - (i + 1) * height,
                    width=width + 0.6,
                    height=height + 0.6,
                    fill=diverging(value / limit),
                )
                for i, row in enumerate(matrix)
                for j, value in enumerate(row)
            )

        self._drawn.append(draw)

    def level(self, y: float, label: str, style: Style) -> None:
        """A horizontal line."""
        self.line([self.x.low, self.x.high], [y, y], label, style, 1.6)

    def svg(self) -> str:
        """The picture."""
        inside, f = "".join(draw() for draw in self._drawn), self.frame()
        clip = f"clip{abs(hash((self.title, self.width, f['top']))) % 10**8}"
        wide, high = f["right"] - f["left"], f["bottom"] - f["top"]
        box = tag("rect", x=f["left"], y=f["top"], width=wide, height=high)
        style = f"{_FONT};width:100%;max-width:{self.width}px;height:auto;display:block"
        head = _text(f["left"], 18, self.title, font_size=14, font_weight=600)
        clipped = tag("clipPath", box, id=clip)
        clipped += tag("g", inside, clip_path=f"url(#{clip})")
        return tag(
            "svg",
            head + self._keys() + self._grid() + clipped,
            class_="iclab-chart",
            viewBox=f"0 0 {self.width} {self.height}",
            role="img",
            aria_label=self.title,
            style=style,
        )

    def _add(self, draw: Callable[[], str], label: str, style: Style, kind: str):
        self._drawn.append(draw)
        if label:
            self._legend.append((label, style, kind))

    def _at(self, x: float, y: float) -> tuple[float, float]:
        f = self.frame()
        across = f["left"] + self.x.position(x) * (f["right"] - f["left"])
        up = f["bottom"] - self.y.position(y) * (f["bottom"] - f["top"])
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

    def _grid(self) -> str:
        f, found = self.frame(), []
        faint = {"stroke": "currentColor", "opacity": "0.12"}
        left, right, top, bottom = (f[k] for k in ("left", "right", "top", "bottom"))
        for tick in self.x.ticks():
            across, _ = self._at(tick, self.y.low)
            found += [
                tag("path", d=f"M{across:.1f} {top}V{bottom}", **faint),
                _text(across, bottom + 16, number(tick), text_anchor="middle"),
            ]
        for tick in self.y.ticks():
            _, up = self._at(self.x.low, tick)
            found += [
                tag("path", d=f"M{left} {up:.1f}H{right}", **faint),
                _text(left - 7, up + 4, number(tick), text_anchor="end"),
            ]
        frame = {"d": f"M{left} {top}V{bottom}H{right}", "fill": "none"}
        label: dict[str, Any] = {"text_anchor": "middle", "font_size": 12.5}
        turned = f"translate(15 {(top + bottom) / 2}) rotate(-90)"
        found += [
            tag("path", **frame, stroke="currentColor", opacity="0.6"),
            _text((left + right) / 2, self.height - 8, self.x.label, **label),
            _text(0, 0, self.y.label, transform=turned, **label),
        ]
        return tag("g", "".join(found), font_size=11.5)

    def _rows(self) -> list[list[tuple[str, Style, str]]]:
        """Entries of the legend, in as many rows as they need."""
        rows: list[list[tuple[str, Style, str]]] = []
        free = 0.0
        for entry in self._legend:
            wide = 44 + _LETTER * len(entry[0])
            if not rows or free < wide:
                rows, free = [*rows, []], self.width - 76
            rows[-1].append(entry)
            free -= wide
        return rows

    def _keys(self) -> str:
        found = []
        for i, row in enumerate(self._rows()):
            across, up = 62.0, 35.0 + 18 * i
            for label, style, kind in row:
                if kind == "band":
                    box = {"x": across, "y": up - 8, "width": 26, "height": 10}
                    key = tag("rect", **box, fill=style.colour, opacity="0.35")
                elif kind == "line":
                    line = {"stroke_width": 2.4, "stroke_dasharray": style.dash}
                    d = f"M{across} {up - 3}h26"
                    key = tag("path", d=d, stroke=style.colour, **line)
                else:
                    key = _marker(style, across + 13, up - 3)
                found += [key, _text(across + 32, up + 1, label, font_size=12)]
                across += 44 + _LETTER * len(label)
        return "".join(found)


def curves(
    x: Any,
    named: Mapping[str, Sequence[Any]],
    *,
    labels: tuple[str, str],
    log: bool = False,
) -> str:
    """Curves (value, or value, lower and upper) as a picture.

    `labels` are those of the axes; `log` makes the vertical one logarithmic.
    """
    places = _floats(x)
    few = len(places) <= _FEW
    ends = Axis(labels[0], min(places), max(places))
    across = around([places], labels[0]) if few else ends
    up = around([one for some in named.values() for one in some], labels[1], log=log)
    chart = Chart(across, up, title="", width=560, height=340)
    for i, (name, (value, *ends)) in enumerate(named.items()):
        style = STYLES[i % len(STYLES)]
        if ends:
            chart.band(places, _floats(ends[0]), _floats(ends[1]), "", style)
        chart.line(places, value, name if len(named) > 1 else "", style)
        if few:
            chart.points(places, value, "", style)
    return chart.svg()


def diverging(value: float) -> str:
    """Colour of a number between −1 and 1: purple, white, orange."""
    value = min(max(value, -1.0), 1.0) if math.isfinite(value) else 0.0
    end = (179, 88, 6) if value > 0 else (84, 39, 136)
    middle = (247, 247, 247)
    mixed = (round(m + (e - m) * abs(value)) for m, e in zip(middle, end, strict=True))
    return "#" + "".join(f"{one:02x}" for one in mixed)


def heat_map(
    matrix: Any, limit: float, title: str, *, rows: str, columns: str, width: int = 600
) -> str:
    """A matrix as a picture, row 0 on top."""
    n, k = len(matrix), len(matrix[0])
    x = Axis(columns, 0.5, k + 0.5, whole=True)
    y = Axis(rows, n + 0.5, 0.5, whole=True)
    chart = Chart(x, y, title=title, width=width, height=90 + max(110, width * n // k))
    chart.field(matrix[::-1], limit)
    return chart.svg()


def _text(x: float, y: float, words: str, **attributes: object) -> str:
    inside = html.escape(words)
    return tag("text", inside, x=x, y=y, fill="currentColor", **attributes)


def _marker(style: Style, x: float, y: float) -> str:
    line = {"stroke": style.colour, "stroke_width": 2.4}
    ends = line if style.marker == "cross" else {}
    outline = f"M{x:.1f} {y:.1f}{_MARKERS.get(style.marker, _CIRCLE)}"
    return tag("path", class_="mark", d=outline, fill=style.colour, **ends)


def _floats(values: Any) -> list[float]:
    """Numbers of a list or an array of any shape, one after the other."""
    values = values.tolist() if hasattr(values, "tolist") else values
    if isinstance(values, int | float):
        return [float(values)]
    return [one for entry in values for one in _floats(entry)]


def _nice(step: float) -> float:
    """The next of 1, 2, 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(f * power for f in (1, 2, 5, 10) if f * power >= step * (1 - 1e-9))
