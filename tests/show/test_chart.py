"""Charts as SVG."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from iclab.show import STYLES, Axis, Chart, around, diverging, heat_map


def _paths(svg: str) -> list[str]:
    return re.findall(r'class="curve"[^>]* d="([^"]*)"', svg)


def test_a_point_lies_where_the_axes_say():
    chart = Chart(Axis("x", 0, 10), Axis("y", 1, 100, log=True), title="t")
    chart.line([0, 10], [1, 10], "", STYLES[0])
    f = chart.frame()
    middle = (f["top"] + f["bottom"]) / 2
    wanted = f"M{f['left']:.1f} {f['bottom']:.1f}L{f['right']:.1f} {middle:.1f}"
    assert _paths(chart.svg()) == [wanted]


def test_curves_break_where_there_is_no_number():
    chart = Chart(Axis("x", 0, 1), Axis("y", 0, 1), title="t")
    chart.line([0, 0.5, 1], [0, np.nan, 1], "", STYLES[0])
    (path,) = _paths(chart.svg())
    assert path.count("M") == 2


def test_everything_is_well_formed_and_words_are_escaped():
    chart = Chart(Axis("<x>", 0, 1), Axis("a & b", 0, 1), title='"q" <b>')
    x, y = np.linspace(0, 1, 3), np.array([0.1, np.inf, 0.9])
    chart.band(x, y - 0.1, y + 0.1, "<band>", STYLES[0])
    chart.points(x, y, "points", STYLES[1], lower=y - 0.1, upper=y + 0.1)
    chart.bars(x[:-1], x[1:], [0.2, 0.4], "bars", STYLES[2])
    chart.field(np.array([[-1.0, np.nan], [0.0, 2.0]]), 1.0)
    chart.line(x, 1e300 * y, "huge", STYLES[3])
    root = ET.fromstring(chart.svg())
    assert "<band>" in [text.text for text in root.iter("text")]
    ET.fromstring(heat_map(np.eye(3, 5), 1.0, "A", rows="i", columns="j"))


@pytest.mark.parametrize(
    ("axis", "ticks"),
    [
        (Axis("", 0, 1), [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (Axis("", -3, 3), [-2, 0, 2]),
        (Axis("", 0.5, 3.5, whole=True), [1, 2, 3]),
        (Axis("", 3.5, 0.5, whole=True), [1, 2, 3]),
        (Axis("", 0.1, 10, log=True), [0.1, 0.2, 0.5, 1, 2, 5, 10]),
        (Axis("", 1e-6, 1e6, log=True), [1e-6, 1e-4, 0.01, 1, 100, 1e4, 1e6]),
    ],
)
def test_ticks_are_round_numbers(axis, ticks):
    assert axis.ticks() == pytest.approx(ticks)


def test_an_axis_has_room_for_all_that_is_finite():
    axis = around([[1.0, np.nan], [5.0, np.inf]], "")
    assert axis.low < 1 < 5 < axis.high
    assert axis.high < 10
    log = around([[0.0, 1e-3], [-1.0, 10.0]], "", log=True)
    assert 0 < log.low < 1e-3 < 10 < log.high
    assert around([[]], "").low < around([[]], "").high
    assert around([[2.0, 2.0]], "").low < 2 < around([[2.0, 2.0]], "").high
    assert around([[1.0, 2.0]], "", zero=True).low == 0


def test_colours_of_fields():
    assert diverging(0) == "#f7f7f7"
    assert diverging(5) == diverging(1) == "#b35806"
    assert diverging(-1) == "#542788"
    assert diverging(float("nan")) == diverging(0)
