"""The small pictures of the cases."""

import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from iclab.evidence import CaseResult, Relation
from iclab.report._pictures import Point, in_words, picture, points


def case(
    name, predicted, measured, error, *, relation: Relation = "=", decoy=None
) -> CaseResult:
    """A case whose infinities may be words."""
    sides = [np.asarray(one, float) for one in (predicted, measured, error)]
    return CaseResult(
        name, relation, sides[0], sides[1], sides[2], decoy, "because", "holds"
    )


def _parts(one: CaseResult, name: str) -> list[dict[str, str]]:
    root = ET.fromstring(picture(one))
    return [node.attrib for node in root.iter() if node.get("class") == name]


def test_numbers_of_a_case_are_matched_one_by_one():
    one = case("c", [1.0, "inf"], [1.5, 2.0], 0.1, decoy=[3.0, 4.0])
    assert points(one) == [Point(1.0, 1.5, 0.1, 3.0), Point(math.inf, 2.0, 0.1, 4.0)]
    assert points(case("c", 1, 2, 0)) == [Point(1.0, 2.0, 0.0, None)]


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (
            case("c", 1.0, 1.0, 0.1, decoy=2.0),
            "Prediction inside the error bar; decoy off by 10 error bars.",
        ),
        (
            case("c", 1.0, 1.0, 0.1, decoy=1.05),
            "Prediction inside the error bar; decoy not rejected.",
        ),
        (case("c", 1.0, 3.0, 0.1), "Prediction off by 20 error bars."),
        (case("c", 1.0, 3.0, 0), "Prediction off, with no error allowed."),
        (case("c", 1.0, "nan", 0.1), "Not a number, so inside no error bar."),
        (
            case("c", 1.0, 0.9, 0.01, relation="<=", decoy=0.5),
            "Bound kept; decoy broken by 40 error bars.",
        ),
        (
            case("c", 1.0, 0.5, 0.1, relation=">="),
            "Bound broken by 5 error bars.",
        ),
    ],
)
def test_in_words(one, words):
    assert in_words(one) == words


def test_one_number_is_a_strip_in_order():
    one = case("c", 1.0, 1.1, 0.2, decoy=3.0)
    (predicted,) = _parts(one, "predicted")
    (measured,) = _parts(one, "measured")
    (decoy,) = _parts(one, "decoy")
    x = float(decoy["d"][1:].split()[0]) + 4
    assert 0 < float(predicted["x1"]) < float(measured["cx"]) < x < 300
    bar = _parts(one, "bar")[0]
    assert float(bar["x1"]) < float(predicted["x1"]) < float(bar["x2"])
    assert not _parts(one, "allowed")


@pytest.mark.parametrize(("relation", "side"), [("<=", "left"), (">=", "right")])
def test_a_bound_shows_what_it_allows(relation, side):
    one = case("c", 1.0, 0.9, 0.01, relation=relation, decoy=1.2)
    (allowed,) = _parts(one, "allowed")
    (predicted,) = _parts(one, "predicted")
    start = float(allowed["x"])
    end = start + float(allowed["width"])
    assert (start if side == "left" else end) == (0 if side == "left" else 300)
    assert float(predicted["x1"]) in (pytest.approx(start), pytest.approx(end))


def test_several_numbers_are_columns_upwards():
    one = case("c", [1.0, 2.0], [1.0, 2.0], [0.1, 0.5], decoy=[3.0, 4.0])
    first, second = _parts(one, "measured")
    assert float(first["cx"]) < float(second["cx"])
    assert float(first["cy"]) > float(second["cy"])
    assert len(_parts(one, "predicted")) == len(_parts(one, "decoy")) == 2


def test_too_many_numbers_are_said_to_be_more():
    one = case("c", [1.0] * 30, [1.0] * 30, 0.1)
    assert len(_parts(one, "measured")) == 24
    assert "first 24 of 30 numbers" in picture(one)


@pytest.mark.parametrize(
    "one",
    [
        case("c", "nan", "inf", 0.1),
        case("c", ["nan", "inf"], ["inf", "-inf"], 0.1, relation=">="),
        case("c", 0.0, 0.0, 0.0),
        case("c", [[1.0, 2.0], [3.0, 1e9]], [[1.0, 2.0], [3.0, 4.0]], 1e-3),
        case("c", [-1e-9, 1.0, 1e6], [-1e-9, 1.0, 1e6], 1e-12, decoy=[0.0, 0.0, 0.0]),
        case("c", 1.0, 2.0, "inf"),
    ],
)
def test_odd_numbers_stay_on_the_picture(one):
    root = ET.fromstring(picture(one))
    assert root.get("aria-label")
    for node in root.iter():
        for name in ("x1", "x2", "cx"):
            if name in node.attrib:
                assert -1 <= float(node.attrib[name]) <= 301
        for name in ("y1", "y2", "cy"):
            if name in node.attrib:
                assert 0 <= float(node.attrib[name]) <= 130


def test_sizes_far_apart_get_a_log_scale():
    assert "log scale" in picture(case("c", [1.0, 1e6], [1.0, 1e6], 0.0))
    assert "log-like scale" in picture(case("c", [-1.0, 1e6], [-1.0, 1e6], 0.0))
    assert "scale" not in picture(case("c", [1.0, 2.0], [1.0, 2.0], 0.0))


def test_the_picture_is_said_in_words():
    text = picture(case("c", 1.0, 1.5, 0.1, decoy=2.0))
    assert "predicted 1, measured 1.5 ± 0.1, decoy 2. Prediction off by" in text


def test_the_number_farthest_off_is_named_and_columns_have_names():
    sides = np.ones(2), np.array([1.0, 1.5]), 0.1
    names = "tail < 1", "norm"
    one = CaseResult("c", "=", *sides, None, "", "fails", labels=names)
    assert in_words(one) == "Prediction off by 5 error bars (norm)."
    titles = [node.text for node in ET.fromstring(picture(one)).iter() if node.text]
    assert titles[:2] == ["tail < 1: 1", "norm: 1.5"]
    assert [point.label for point in points(one)] == list(names)
