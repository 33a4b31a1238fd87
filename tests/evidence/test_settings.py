"""Settings of figures: values by scale, changes that are checked, words."""

from dataclasses import dataclass, fields, replace
from typing import Literal

import numpy as np
import pytest

from iclab.evidence import (
    SCALES,
    Evidence,
    Figure,
    describe_settings,
    judge_figure,
    largest,
    setting,
    setting_text,
    smallest,
)
from tests.refusals import refused


@dataclass(frozen=True)
class Settings:
    """Of a figure that nobody draws."""

    dimension: int = setting("Dimension d.", 10, smoke=4, least=2)
    loops: tuple[int, ...] = setting("Numbers of loops.", (1, 2, 3), paper=(1, 5))
    rate: float = setting("Rate of Adam.", 0.02)
    blind: bool = setting("Without positions.", False)
    clock: Literal["operations", "seconds"] = setting("What is equal.", "operations")


@dataclass(frozen=True)
class Named(Settings):
    """Some that another one names."""

    clip: float | None = setting("Bound.", None)
    decay: float = setting("Decay.", 0.0, least=0)
    protocol: Literal["text", "code"] = setting(
        "Whose choices.",
        "text",
        paper="code",
        names={"code": {"clip": 0.01, "dimension": 20}},
    )


def test_a_setting_names_values_of_others():
    figure = replace(FIGURE, settings=Named)

    def found(scale, **changes):
        one = figure.settings_at(scale, changes)
        return one.clip, one.dimension

    assert found("desk") == (None, 10)
    assert found("paper") == (0.01, 20)
    assert found("smoke", protocol=" code ") == (0.01, 20)
    assert found("smoke", protocol="code", clip="none", dimension="7") == (None, 7)
    assert found("paper", protocol="text") == (None, 10)
    assert figure.own_changes("desk", {"protocol": "code"}) == {"protocol": "code"}
    both = {"protocol": "code", "dimension": "10"}
    assert figure.own_changes("desk", both) == {"protocol": "code", "dimension": 10}
    assert figure.own_changes("desk", {**both, "dimension": 20}) == {"protocol": "code"}
    assert describe_settings(Named)[0].values["paper"] == 20


def test_numbers_that_may_be_none_or_zero():
    figure = replace(FIGURE, settings=Named)
    assert figure.settings_at("desk", {"clip": 0.5, "decay": "0"}).clip == 0.5
    assert setting_text(None) == "none"
    with refused("me/figure-1: `clip` must be a positive number or none, got -1.0"):
        figure.settings_at("desk", {"clip": "-1"})
    with refused("me/figure-1: `clip` must be a number, got 'x'"):
        figure.settings_at("desk", {"clip": "x"})
    with refused("me/figure-1: `decay` must be a number ≥ 0, got -1.0"):
        figure.settings_at("desk", {"decay": "-1"})
    with refused("me/figure-1: `protocol` must be text or code, got 'none'"):
        figure.settings_at("desk", {"protocol": "none"})


def _jobs(settings):
    return {f"L = {L}": {"d": settings.dimension} for L in settings.loops}


def _expect(tables):
    return [
        Evidence("Rises", largest([t["x"] for t in tables.values()]), ">=", 5.0),
        Evidence("Beyond", smallest([]), ">=", 1.0),
        Evidence("The third", float(tables["L = 3"]["x"]), ">=", 1.0),
    ]


def _unused(*_):
    raise AssertionError


FIGURE = Figure("me/figure-1", "", _jobs, _unused, _unused, _expect, settings=Settings)


def test_every_scale_has_its_values():
    found = {scale: FIGURE.settings_at(scale) for scale in SCALES}
    assert [found[scale].dimension for scale in SCALES] == [4, 10, 10]
    assert [found[scale].loops for scale in SCALES] == [(1, 2, 3), (1, 2, 3), (1, 5)]
    assert list(FIGURE.jobs(found["paper"])) == ["L = 1", "L = 5"]


def test_changes_are_read_from_text_and_from_values():
    words = {"dimension": "1e1", "loops": "2, 7", "rate": "1e-3", "blind": "yes"}
    values = {"dimension": 10, "loops": [2, 7], "rate": 1e-3, "blind": True}
    new = FIGURE.settings_at("smoke", words | {"clock": "seconds"})
    assert new == FIGURE.settings_at("smoke", values | {"clock": "seconds"})
    assert new == Settings(10, (2, 7), 1e-3, True, "seconds")


def test_lists_arrays_and_whole_floats_are_values_too():
    for loops in (range(2, 4), np.array([2, 3]), [2.0, 3.0]):
        assert FIGURE.settings_at("desk", {"loops": loops}).loops == (2, 3)
    new = FIGURE.settings_at("desk", {"dimension": 1e1, "rate": np.float64(0.5)})
    assert (new.dimension, new.rate) == (10, 0.5)


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (0.001, "0.001"),
        (0.1, "0.1"),
        (2.0, "2"),
        (1e-5, "1e-05"),
        (0.123456789, "0.123456789"),
        (1 / 3, "0.3333333333333333"),
        (1.5e300, "1.5e+300"),
        (np.float64(0.1), "0.1"),
    ],
)
def test_the_text_of_a_value_reads_back_as_it(rate, text):
    assert setting_text(rate) == text
    assert FIGURE.settings_at("desk", {"rate": text}).rate == rate


def test_only_what_differs_from_the_scale_is_a_change():
    changes = {"dimension": "10", "loops": "1,2,3"}
    assert FIGURE.own_changes("desk", changes) == {}
    assert FIGURE.own_changes("smoke", changes) == {"dimension": 10}


@pytest.mark.parametrize(
    ("name", "value", "refusal"),
    [
        ("dimension", "1", "`dimension` must be a whole number ≥ 2, got 1"),
        ("dimension", "2.5", "`dimension` must be a whole number ≥ 2, got 2.5"),
        ("dimension", "inf", "`dimension` must be a whole number ≥ 2, got inf"),
        ("dimension", True, "`dimension` must be a whole number ≥ 2, got True"),
        (
            "loops",
            "1,,2",
            "`loops[1]` must be a whole number ≥ 1, got ''",
        ),
        ("loops", 3, "`loops` must be different whole numbers ≥ 1 (1,2,3), got 3"),
        (
            "loops",
            "2,2",
            "`loops` must be different whole numbers ≥ 1 (1,2,3), got (2, 2)",
        ),
        ("rate", "nan", "`rate` must be a positive number, got nan"),
        ("rate", -1.0, "`rate` must be a positive number, got -1.0"),
        ("blind", "perhaps", "`blind` must be true or false, got 'perhaps'"),
        ("clock", "days", "`clock` must be operations or seconds, got 'days'"),
        ("dimensoin", "3", "unknown setting 'dimensoin': did you mean dimension?"),
        (
            "x",
            "3",
            "unknown setting 'x': its settings are dimension, loops, rate, blind, "
            "clock",
        ),
    ],
)
def test_what_is_not_a_setting_is_refused(name, value, refusal):
    with refused(f"me/figure-1: {refusal}"):
        FIGURE.settings_at("desk", {name: value})


def test_a_figure_without_settings_is_given_the_scale():
    plain = Figure("me/figure-2", "", _jobs, _unused, _unused, _expect)
    assert plain.settings_at("smoke") == "smoke"
    with pytest.raises(ValueError, match="me/figure-2 has no settings: no changes of"):
        plain.settings_at("smoke", {"dimension": "3"})


def test_settings_in_words():
    first, second, *_, last = describe_settings(Settings)
    assert first.takes == "a whole number ≥ 2"
    assert first.values == {"smoke": 4, "desk": 10, "paper": 10}
    assert second.text == "Numbers of loops."
    assert setting_text(second.values["paper"]) == "1,5"
    assert last.takes == "operations or seconds"
    assert [setting_text(one) for one in (0.02, False, "a")] == ["0.02", "false", "a"]


def test_other_settings_make_a_verdict_exploratory():
    tables = {f"L = {L}": {"x": float(L)} for L in (1, 3)}
    assert judge_figure(FIGURE, tables).verdict == "fails"
    result = judge_figure(FIGURE, tables, exploratory=True)
    assert result.verdict == "exploratory"
    assert [one.value for one in result.evidence] == [3.0, 3.0]
    assert result.missing == ("Beyond",)


def test_a_missing_table_is_said():
    result = judge_figure(FIGURE, {"L = 1": {"x": 9.0}}, exploratory=True)
    assert result.evidence == ()
    assert result.missing == (
        "what we find in the figure: that needs the table `L = 3`",
    )
    assert judge_figure(FIGURE, {"L = 1": {"x": 9.0}}).verdict == "undecided"


def test_settings_are_frozen():
    for field in fields(Settings):
        with pytest.raises(AttributeError):
            setattr(FIGURE.settings_at("desk"), field.name, None)
