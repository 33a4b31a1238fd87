"""How far a case is off, and which of its numbers is farthest off."""

import math
from dataclasses import replace

import numpy as np
import pytest

from iclab.evidence import (
    CaseResult,
    Claim,
    Measured,
    Printed,
    bars_off,
    case_line,
    farthest,
    run_claim,
)


@pytest.mark.parametrize(
    ("relation", "measured", "error", "expected"),
    [
        ("=", 1.3, 0.1, 3.0),
        ("=", 0.7, 0.1, 3.0),
        ("<=", 1.3, 0.1, 3.0),
        ("<=", 0.7, 0.1, -3.0),
        (">=", 0.7, 0.1, 3.0),
        (">=", 1.3, 0.1, -3.0),
        ("=", 1.0, 0.0, 0.0),
        ("=", 1.1, 0.0, math.inf),
        ("=", math.nan, 0.1, math.inf),
        ("=", 1.0, math.nan, 0.0),
        ("=", 1.1, math.inf, 0.0),
    ],
)
def test_how_far_off(relation, measured, error, expected):
    assert bars_off(relation, measured, 1.0, error) == pytest.approx(expected)


CASE = CaseResult(
    "d=3",
    "=",
    predicted=np.array([1.0, 2.0, 3.0]),
    measured=np.array([1.0, 2.5, 2.9]),
    error=0.1,
    decoy=np.zeros(3),
    reason="because",
    verdict="fails",
    labels=("norm", "step 1", "step 2"),
)


def test_the_entry_farthest_off_has_its_name():
    assert farthest(CASE)[:2] == (1, "step 1")
    assert farthest(CASE).bars == pytest.approx(5)
    assert farthest(replace(CASE, labels=())).name == "number 2 of 3"
    assert farthest(CaseResult("c", "<=", 1.0, 3.0, 1.0, None, "", "fails")) == (
        0,
        "",
        2.0,
    )


def test_a_failure_begins_with_the_entry_farthest_off():
    assert case_line(CASE) == (
        "d=3: step 1 is off by 5 error bars: predicted = 2, measured 2.5 ± 0.1, decoy 0"
    )
    assert case_line(replace(CASE, labels=(), printed=True)).startswith(
        "as printed: d=3: number 2 of 3 is off by 5 error bars: predicted = 2,"
    )
    held = case_line(replace(CASE, verdict="holds"))
    assert "measured [norm 1, step 1 2.5, step 2 2.9] ± 0.1" in held


def _claim(**changes) -> Claim:
    claim = Claim(
        "paper/claim",
        cases=lambda scale: {"two": 2},
        predict=lambda case: np.ones(case),
        measure=lambda case: Measured(np.ones(case), 0.1, ""),
        decoy=lambda case: np.zeros(case),
        labels=lambda case: ["first", "second"],
    )
    return replace(claim, **changes)


def test_a_claim_names_the_numbers_of_its_cases():
    printed = Printed[int](lambda case: 3 * np.ones(case))
    ours, theirs = run_claim(_claim(printed=printed), "smoke", 0).cases
    assert ours.labels == theirs.labels == ("first", "second")
    assert ours.json()["labels"] == ["first", "second"]
    other = replace(printed, measure=lambda case: Measured(np.ones(case), 0.1, ""))
    _, theirs = run_claim(_claim(printed=other), "smoke", 0).cases
    assert theirs.labels == ()
    own = replace(other, labels=lambda case: "ab")
    assert run_claim(_claim(printed=own), "smoke", 0).cases[1].labels == ("a", "b")


def test_there_are_as_many_labels_as_numbers():
    claim = _claim(labels=lambda case: ["first"])
    sentence = (
        r"^paper/claim: `labels` must name all 2 numbers of the case 'two', got 1$"
    )
    with pytest.raises(ValueError, match=sentence):
        run_claim(claim, "smoke", 0)
