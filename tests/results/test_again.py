"""An item that was run twice: what may differ, and what is said to."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from iclab.evidence import CaseResult, Evidence, Sentence
from iclab.results import (
    Prediction,
    Record,
    Scatter,
    Wrong,
    differences,
    see_predicted,
    table_differences,
)

CASE = CaseResult(
    case="d = 2",
    relation="=",
    predicted=np.array([1.0, 1e-17]),
    measured=np.array([1.0, 0.0]),
    error=0.1,
    decoy=2.0,
    reason="round-off",
    verdict="holds",
)
SCATTER = Scatter((0, 1), ("holds", "holds"), {"d = 2: distance": (0.1, None)})
CLAIM = Record(
    id="zhang2023/lemma-5.1",
    kind="claim",
    verdict="holds",
    statement="So it is.",
    seconds=1.5,
    seed=0,
    scale="desk",
    cases=(CASE,),
    numbers={"share": 0.5, "sizes": [1, 2], "word": "nan"},
    scatter=SCATTER,
)
TEST = Evidence("The loss", 0.5, "<=", 1.0)
SAID = Sentence("It falls.", "caption", (Evidence("Fall", 0.2, "<=", 1.0),))
FIGURE = Record(
    id="ahn2023/figure-1",
    kind="figure",
    verdict="holds",
    statement="A picture.",
    seconds=2.5,
    seed=0,
    scale="desk",
    evidence=(TEST,),
    paper_statements=(SAID,),
)
TABLES = {"a": {"x": np.array([1.0, 2.0, np.nan]), "name": np.array(["p", "q"])}}


def _case(**change: Any) -> Record:
    return replace(CLAIM, cases=(replace(CASE, **change),))


def _test(**change: Any) -> Record:
    return replace(FIGURE, evidence=(replace(TEST, **change),))


@pytest.mark.parametrize(
    "before",
    [
        CLAIM,
        FIGURE,
        _case(measured=np.array([1.15, 0.0])),
        _case(predicted=np.array([1.0 + 1e-10, 2e-17])),
        _case(error=0.15),
        replace(CLAIM, seconds=9.0, statement="Older words.", finished=None),
        _test(value=0.52),
    ],
    ids=["claim", "figure", "bars", "rounding", "bar", "words", "less than a tenth"],
)
def test_what_may_differ(before):
    after = CLAIM if before.kind == "claim" else FIGURE
    assert differences(before, after) == []


@pytest.mark.parametrize(
    ("before", "said"),
    [
        (
            _case(measured=np.array([1.5, 0.0])),
            "d = 2 [0]: 1.5, and now 1 (2.5 error bars)",
        ),
        (
            _case(predicted=np.array([1.05, 0.0])),
            "the case 'd = 2' has `predicted` [0] 1.05, and today 1",
        ),
        (_case(decoy=3.0), "the case 'd = 2' has `decoy` 3, and today 2"),
        (_case(decoy=None), "the case 'd = 2' has `decoy` none, and today of shape ()"),
        (_case(relation="<="), "the case 'd = 2' has the relation <=, and today ="),
        (
            _case(error=1.0),
            "the case 'd = 2' has error bars more than twofold apart from those of now",
        ),
        (_case(verdict="fails"), "the case 'd = 2' fails, and now holds"),
        (
            _case(case="d = 3"),
            "its cases are not those that the claim has today: with 'd = 3'",
        ),
        (
            replace(CLAIM, cases=(CASE, replace(CASE, case="d = 3"))),
            "its cases are not those that the claim has today: with 'd = 3'",
        ),
        (
            replace(CLAIM, cases=()),
            "its cases are not those that the claim has today: without 'd = 2'",
        ),
        (replace(CLAIM, verdict="fails"), "the verdict is fails, and now holds"),
        (
            replace(CLAIM, numbers={**CLAIM.numbers, "share": 0.9}),
            "quoted share: 0.9, and now 0.5 (no error bar)",
        ),
        (
            replace(CLAIM, scatter=replace(SCATTER, verdicts=("holds", "fails"))),
            "its verdicts by seed are holds with seed 0; fails with seed 1, and now"
            " holds with all of 2 seeds",
        ),
        (_test(value=0.9), "The loss: 0.9, and now 0.5 (no error bar)"),
        (_test(bound=2.0), "'The loss' asks for <= 2, and now for <= 1"),
        (_test(relation=">="), "'The loss' asks for >= 1, and now for <= 1"),
        (
            replace(FIGURE, evidence=()),
            "its statements are not those that the figure has today",
        ),
        (
            replace(FIGURE, paper_statements=(replace(SAID, statement="It rises."),)),
            "other statements of the paper are confirmed than before",
        ),
    ],
    ids=lambda one: one[:30] if isinstance(one, str) else "",
)
def test_what_may_not(before, said):
    after = CLAIM if before.kind == "claim" else FIGURE
    assert said in differences(before, after)


def test_the_farthest_number_is_said_first():
    cases = [replace(CASE, case=f"d = {d}") for d in (2, 3)]
    far = [
        replace(case, measured=np.array([value, 0.0]))
        for case, value in zip(cases, (1.5, 3.0), strict=True)
    ]
    records = [replace(CLAIM, cases=tuple(one), scatter=None) for one in (far, cases)]
    assert differences(*records)[0] == "d = 3 [0]: 3, and now 1 (10 error bars)"


def test_a_program_that_stops_is_a_difference():
    stopped = replace(CLAIM, verdict="undecided", cases=(), error="ValueError: no\n")
    assert differences(CLAIM, stopped) == ["it stopped: ValueError: no"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"x": np.array([1.0, 2.1, np.nan])}, []),
        (
            {"x": np.array([1.0, 3.0, np.nan])},
            ["a, x [1]: 3, and now 2 (0.5 of the column's largest)"],
        ),
        (
            {"x": np.array([1.0, 2.0, 0.0])},
            ["a, x [2]: 0, and now NaN (inf of the column's largest)"],
        ),
        ({"x": np.zeros((3, 1))}, ["a, x: another kind of array"]),
        ({"x": np.array(["1", "2", "3"])}, ["a, x: another kind of array"]),
        ({"name": np.array(["p", "r"])}, ["a, name: other words"]),
        ({"y": np.zeros(0)}, ["the table 'a' has 'x, name, y', and now 'x, name'"]),
    ],
    ids=lambda one: "" if isinstance(one, dict) else str(one)[:30],
)
def test_tables(change, said):
    assert table_differences({"a": TABLES["a"] | change}, TABLES) == said


def test_tables_have_names():
    other = "its tables are 'b', and now 'a'"
    assert table_differences({"b": TABLES["a"]}, TABLES) == [other]


def test_infinities_are_themselves():
    case = replace(CASE, predicted=np.array([np.inf, np.nan]))
    see_predicted([case], [Prediction.of(case)])
    with pytest.raises(Wrong, match=r"`predicted` \[0\] ∞, and today −∞"):
        see_predicted(
            [case],
            [replace(Prediction.of(case), predicted=np.array([-np.inf, np.nan]))],
        )
