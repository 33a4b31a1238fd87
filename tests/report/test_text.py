"""Words, numbers and formulas of the report."""

import re
import xml.etree.ElementTree as ET

import pytest

from iclab import papers
from iclab.report._text import mathml, rich, without_braces


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tr(Γ⁻²)^{-1/4}", "tr(Γ⁻²)<sup>−1/4</sup>"),
        ("e_{d+1} ∈ ‖U‖_F²", "e<sub>d+1</sub> ∈ ‖U‖<sub>F</sub>²"),
        ("W_PV, W_KQᵀ", "W<sub>PV</sub>, W<sub>KQ</sub>ᵀ"),
        ("ℓ_rdm = R_jU_Σ", "ℓ<sub>rdm</sub> = R<sub>j</sub>U<sub>Σ</sub>"),
        ("Σ^½A_10", "Σ<sup>½</sup>A<sub>10</sub>"),
        ("|x|^(-1/2)", "|x|<sup>−1/2</sup>"),
        ("x < y & `a_b`", "x &lt; y &amp; <code>a_b</code>"),
        ("one ` alone_i", "one ` alone<sub>i</sub>"),
        ("a _ b ^ c", "a _ b ^ c"),
    ],
)
def test_marks_become_tags(text, expected):
    assert rich(text) == expected


def test_plain_text_has_no_braces():
    assert without_braces("tr(Γ)^{1/4}, e_{d+1}") == "tr(Γ)^1/4, e_d+1"


FORMULAS = [entry for entry in papers.select() if entry.formula]


@pytest.mark.parametrize("entry", FORMULAS, ids=lambda entry: entry.id)
def test_every_formula_becomes_mathml(entry):
    text = mathml(entry.formula)
    root = ET.fromstring(text)
    assert root.tag.endswith("math")
    # What the converter does not know it leaves standing: a command, a column mark.
    left = "".join(root.itertext())
    assert not re.search(r"[\\&]", left), left
    for brace in "{}":  # those of sets are meant
        assert left.count(brace) == entry.formula.count(f"\\{brace}"), left


def test_capital_greek_stands_upright_and_functions_keep_their_distance():
    text = mathml(r"\operatorname{tr}(\Gamma)\operatorname{tr}\gamma")
    assert '<mi mathvariant="normal">&#x00393;</mi>' in text
    assert "<mi>&#x003B3;</mi>" in text
    assert 'rspace="0">tr</mo>' in text
    assert 'rspace="0.167em">tr</mo>' in text
