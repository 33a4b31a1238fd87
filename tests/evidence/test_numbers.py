"""Numbers of a run in texts: filled in, left out, or replaced by other words."""

import pytest

from iclab.evidence import filled, names


@pytest.mark.parametrize(
    ("text", "with_numbers", "without"),
    [
        ("No numbers^{1/2}.", "No numbers^{1/2}.", "No numbers^{1/2}."),
        ("Small«, {a:.2f}».", "Small, 0.25.", "Small."),
        ("It is «{a:.0%}¦a part» of 1.", "It is 25 % of 1.", "It is a part of 1."),
        ("«{a:g} and {b:.1e}¦Nothing».", "0.25 and −1.0×10⁻¹².", "Nothing."),
        ("«x^{{{a:g}}}»", "x^{0.25}", ""),
        ("«{c:g}»«{d:.3f}»", "∞3.000", ""),
    ],
)
def test_numbers_are_filled_in_or_left_out(text, with_numbers, without):
    found = {"a": 0.25, "b": -1e-12, "c": "inf", "d": 3}
    assert filled(text, found) == with_numbers
    assert filled(text, {}) == without


def test_a_clause_needs_all_of_its_numbers():
    assert filled("«{a:g} of {b:g}¦some»", {"a": 1.0}) == "some"


def test_names_of_numbers():
    assert names("«{a:.2f} {b}» c «{{d}} {e!r}»") == {"a", "b", "e"}
