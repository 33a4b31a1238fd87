"""Results as notebooks show them."""

import re
import warnings
import xml.etree.ElementTree as ET

import jax
import jax.numpy as jnp
import numpy as np

from iclab.evaluation import Band, Curves, Estimate, PairedCurves, error_curve_of
from iclab.evidence import (
    CaseResult,
    ClaimResult,
    Evidence,
    FigureResult,
    Sentence,
)
from iclab.probes import Filter, Interval
from iclab.show import curves, table
from iclab.training import Trained


def _cells(page: str) -> list[str]:
    return re.findall(r"<td>(.*?)</td>", page)


def _curves() -> Curves:
    key = jax.random.key(0)
    targets = np.array([1.0, -1.0, 0.5, 2.0])
    answers = {"<one>": targets[:, None] + [[0.5, 0.1]] * np.ones((4, 1))}
    return error_curve_of(answers, targets, [3, 7], key=key)


def test_tables_escape_what_they_are_given():
    page = table(["<a>"], [["<b>"], [0.123456], [3], [np.arange(8.0)], [None]])
    assert _cells(page) == [
        "&lt;b&gt;",
        "0.1235",
        "3",
        "[0, 1, 2, 3, …]",
        "",
    ]
    assert "<th>&lt;a&gt;</th>" in page
    ET.fromstring(page)


def test_pictures_are_well_formed_and_have_their_labels():
    svg = curves(
        [1, 2], {"a": ([1, 2], [0.5, 1], [2, 3]), "b": ([1, 3],)}, labels=("x", "y")
    )
    assert svg.startswith("<svg ")
    ET.fromstring(svg)


def test_curves_show_themselves():
    found = _curves()
    page = found._repr_html_()
    cells = _cells(page)
    assert cells[0] == "3"
    assert cells[1] == "0.25 [0.25, 0.25]"
    assert "&lt;one&gt; [90 %]" in page
    assert "<svg " in page
    (curve,) = found.values()
    assert "0.25 [0.25, 0.25]" in curve._repr_html_()
    paired = PairedCurves(curve, curve)
    assert "difference" in paired._repr_html_()
    assert Curves()._repr_html_() == "<p>no curves</p>"
    assert dict(found) == found


def test_bands_and_estimates_show_themselves():
    one = jnp.ones(2)
    assert _cells(Band(one, 0.5 * one, 2 * one)._repr_html_())[:3] == ["1", "0.5", "2"]
    found = Estimate({"risk": jnp.array(0.25)}, {"risk": jnp.array(0.01)}, 500)
    page = found._repr_html_()
    assert _cells(page) == ["[&#x27;risk&#x27;]", "0.25", "0.01"]
    assert "500 draws" in page


def test_trainings_show_themselves():
    page = Trained({"w": 1}, np.array([2.0, 1.0, 0.5]), 2)._repr_html_()
    assert _cells(page) == ["model", "dict", "steps", "2", "last loss", "0.5"]
    assert "<svg " in page
    many = Trained({}, np.ones((3, 2, 5)), 2, stopped_by="the alarm")._repr_html_()
    assert "the alarm" in many
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        none = Trained({}, np.zeros(0), 7)._repr_html_()
        bad = Trained({}, np.array([1.0, np.nan]), 1)._repr_html_()
    assert "<svg " not in none
    assert "NaN" in bad


def test_filters_show_themselves():
    places = np.array([0.5, 1.0, 2.0])
    one = Filter(places, places, places, places, Interval(0.98, 0.97, 0.99))
    assert "R² = 0.98 [0.97, 0.99]" in one._repr_html_()


def test_claims_and_figures_show_themselves():
    case = CaseResult(
        case="d < 3",
        relation="=",
        predicted=np.arange(5.0),
        measured=np.arange(5.0) + 0.5,
        error=1.0,
        decoy=None,
        reason="",
        verdict="holds",
    )
    page = ClaimResult("paper/lemma-1", "holds", (case,), 1.0, 0)._repr_html_()
    assert "<strong>holds</strong> paper/lemma-1" in page
    assert _cells(page) == [
        "d &lt; 3",
        "holds",
        "[0, 1, 2, 3, …]",
        "=",
        "[0.5, 1.5, 2.5, 3.5, …] ± 1",
        "",
    ]
    test = Evidence("the gap closes", 0.5, "<=", 1.0)
    said = Sentence("it closes", "Figure 1", (test,))
    found = FigureResult("paper/figure-1", "holds", (test,), (said,), ("a table",))
    page = found._repr_html_()
    assert "0.5 &lt;= 1" in page
    assert "confirmed" in _cells(page)
    assert "not judged: a table" in page
