"""The runner says `fails` and `undecided` when it should, and nothing better."""

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from iclab.evidence import (
    Claim,
    Entry,
    Evidence,
    Figure,
    Measured,
    Printed,
    Sentence,
    at_least,
    at_most,
    averaged,
    case_key,
    case_verdict,
    judge_figure,
    rounded,
    run_claim,
    says,
    slope,
    solved,
)


def _claim(
    predicted: Any = 1.0,
    value: Any = 1.0,
    error: float = 0.1,
    decoy: float | None = 2.0,
    relation: Any = "=",
    printed: Printed | None = None,
) -> Claim:
    return Claim(
        "paper/claim",
        cases=lambda scale: {"only": None},
        predict=lambda case: predicted,
        measure=lambda case, key, scale: Measured(value, error, "because"),
        decoy=lambda case: decoy,
        relation=relation,
        printed=printed,
    )


def test_what_a_claim_returns_is_looked_at():
    claim = replace(_claim(), measure=lambda case, key, scale: 1.0)
    sentence = (
        r"^paper/claim: `measure` of a claim must return a Measured\(value, error,"
        r" reason\), as `averaged` makes one, got a float$"
    )
    with pytest.raises(TypeError, match=sentence):
        run_claim(claim, "smoke", 0)
    claim = replace(_claim(), cases=lambda scale: [1, 2])
    with pytest.raises(TypeError, match=r"a dict by name, got a list$"):
        run_claim(claim, "smoke", 0)


def _verdict(claim):
    return run_claim(claim, "smoke", 0).verdict


@pytest.mark.parametrize(
    ("relation", "predicted", "value", "error", "decoy", "verdict"),
    [
        ("=", 1.0, 1.05, 0.1, 2.0, "holds"),
        ("=", 1.0, 1.2, 0.1, 2.0, "fails"),
        ("=", 1.0, 1.5, 0.6, 2.0, "undecided"),
        ("=", 1.0, 1.0, math.inf, 2.0, "undecided"),
        ("=", 1.0, math.nan, 0.1, 2.0, "fails"),
        ("=", 1.0, 1.0, math.nan, 2.0, "fails"),
        ("=", math.nan, 1.0, 0.1, 2.0, "fails"),
        ("<=", 1.0, 0.9, 0.01, 0.5, "holds"),
        ("<=", 1.0, 1.0, 0.01, 0.5, "holds"),
        ("<=", 1.0, 1.1, 0.01, 0.5, "fails"),
        ("<=", 1.0, 0.4, 0.01, 0.5, "undecided"),
        (">=", 1.0, 1.1, 0.01, 2.0, "holds"),
        (">=", 1.0, 0.9, 0.01, 2.0, "fails"),
        (">=", 1.0, 3.0, 0.01, 2.0, "undecided"),
        (">=", 1.0, math.nan, 0.01, 2.0, "fails"),
    ],
)
def test_verdict_of_a_case(relation, predicted, value, error, decoy, verdict):
    claim = _claim(predicted, value, error, decoy, relation)
    assert _verdict(claim) == verdict


def test_one_wrong_entry_of_an_array_fails():
    measured = Measured(np.array([1.0, 2.0]), 0.1, "")
    assert case_verdict(measured, "=", np.array([1.0, 2.5]), np.zeros(2)) == "fails"


def test_one_entry_is_enough_to_reject_a_decoy():
    measured = Measured(np.array([1.0, 2.0]), 0.1, "")
    right, decoy = np.array([1.0, 2.0]), np.array([1.0, 3.0])
    assert case_verdict(measured, "=", right, decoy) == "holds"


def test_a_claim_without_any_decoy_is_undecided():
    assert _verdict(_claim(decoy=None)) == "undecided"


def test_printed_statement_that_fails_makes_a_correction():
    printed = Printed(predict=lambda case: 3.0)
    result = run_claim(_claim(printed=printed), "smoke", 0)
    assert result.verdict == "corrected"
    counterexample = result.cases[-1]
    assert (counterexample.case, counterexample.printed) == ("only", True)
    assert counterexample.title == "as printed: only"
    assert counterexample.json()["printed"] is True
    assert counterexample.verdict == "fails"
    assert counterexample.json()["predicted"] == 3.0


def test_printed_statement_that_does_not_fail_is_no_erratum():
    printed = Printed(predict=lambda case: 1.0)
    assert _verdict(_claim(printed=printed)) == "undecided"


def test_a_slip_beside_the_statement_leaves_it_alone():
    printed = Printed(predict=lambda case: 3.0, nearby=True)
    result = run_claim(_claim(printed=printed), "smoke", 0)
    assert result.verdict == "holds"
    assert [case.case for case in result.cases] == ["only"]
    (slip,) = result.slips
    assert (slip.case, slip.printed, slip.verdict) == ("only", True, "fails")
    no_slip = Printed(predict=lambda case: 1.0, nearby=True)
    assert _verdict(_claim(printed=no_slip)) == "undecided"
    assert _verdict(_claim(predicted=5.0, printed=printed)) == "fails"


def test_wrong_correction_fails():
    printed = Printed(predict=lambda case: 3.0)
    assert _verdict(_claim(predicted=5.0, printed=printed)) == "fails"


def test_printed_statement_may_speak_of_something_else():
    printed = Printed(
        predict=lambda case: case,
        cases=lambda scale: {"small": 1.0, "large": 2.0},
        measure=lambda case, key, scale: Measured(1.0, 0.1, ""),
        relation=">=",
    )
    result = run_claim(_claim(printed=printed), "smoke", 0)
    assert [case.verdict for case in result.cases] == ["holds", "holds", "fails"]
    assert result.verdict == "corrected"


def test_json_of_a_case_is_plain():
    claim = _claim(value=np.array([1.0, math.inf]), predicted=np.ones(2), error=0.1)
    (case,) = run_claim(claim, "smoke", 0).cases
    assert case.json() == {
        "case": "only",
        "printed": False,
        "relation": "=",
        "predicted": [1.0, 1.0],
        "measured": [1.0, "inf"],
        "error": 0.1,
        "decoy": 2.0,
        "reason": "because",
        "verdict": "fails",
        "labels": [],
    }


def test_case_key_depends_on_seed_and_name_only():
    import jax

    draw = lambda key: float(jax.random.normal(key))  # noqa: E731
    assert draw(case_key(1, "a")) == draw(case_key(1, "a"))
    assert draw(case_key(1, "a")) != draw(case_key(2, "a"))
    assert draw(case_key(1, "a")) != draw(case_key(1, "b"))


def test_measure_gets_its_own_key_and_the_scale():
    seen = []

    def measure(case, key, scale):
        seen.append((case, scale))
        return Measured(1.0, 0.1, "")

    claim = Claim(
        "paper/claim",
        cases=lambda scale: {"a": 1, "b": 2},
        predict=lambda case: 1.0,
        measure=measure,
        decoy=lambda case: 2.0,
    )
    assert run_claim(claim, "paper", 3).seed == 3
    assert seen == [(1, "paper"), (2, "paper")]


@pytest.mark.parametrize(
    ("measure", "given"),
    [
        (lambda case: Measured(case, 0.1, "nothing"), "nothing"),
        (lambda case, scale: Measured(case, 0.1, scale), "desk"),
        (lambda case, *, key: Measured(case, 0.1, str(key.shape)), "()"),
        (
            lambda case, scale, key: Measured(case, 0.1, scale + str(key.shape)),
            "desk()",
        ),
    ],
)
def test_measure_is_given_what_it_names(measure, given):
    for claim in (
        replace(_claim(), cases=lambda scale: {"one": 1.0}, measure=measure),
        replace(
            _claim(printed=Printed(lambda case: 3.0, measure=measure)),
            cases=lambda scale: {"one": 1.0},
        ),
    ):
        assert run_claim(claim, "desk", 0).cases[-1].reason == given


def test_numbers_are_given_the_printed_cases_if_they_name_them():
    def numbers(cases, printed):
        return {"ours": list(cases), "theirs": printed["only"].predicted}

    claim = replace(_claim(printed=Printed(lambda case: 3.0)), numbers=numbers)
    with_printed = run_claim(
        replace(claim, numbers=lambda c: {"n": len(c)}), "smoke", 0
    )
    assert run_claim(claim, "smoke", 0).numbers == {"ours": ["only"], "theirs": 3.0}
    assert with_printed.numbers == {"n": 1}


def _figure(*evidence):
    return Figure(
        "paper/figure",
        "title",
        jobs=lambda scale: {},
        compute=lambda settings, key: {},
        draw=lambda tables: None,  # pyright: ignore[reportArgumentType]
        expect=lambda tables: evidence,
    )


def test_figure_verdicts():
    good = Evidence("small", 1.0, "<=", 2.0)
    bad = Evidence("large", 1.0, ">=", 2.0)
    assert judge_figure(_figure(good), {}).verdict == "holds"
    assert judge_figure(_figure(good, bad), {}).verdict == "fails"
    assert judge_figure(_figure(), {}).verdict == "undecided"


GOOD = Evidence("small", 1.0, "<=", 2.0, name="small")
BAD = Evidence("large", 1.0, ">=", 2.0)
SEEN = Sentence("It is small.", "caption", (GOOD,))
MISSED = Sentence("It is large.", "caption", (GOOD, BAD))


@pytest.mark.parametrize(
    ("evidence", "said", "verdict"),
    [
        ([GOOD], [SEEN], "holds"),
        ([], [SEEN], "holds"),
        ([GOOD], [SEEN, MISSED], "corrected"),
        ([GOOD], [SEEN, replace(MISSED, main=False)], "corrected"),
        ([GOOD], [SEEN, replace(MISSED, caveat="d = 5 for 20")], "exploratory"),
        ([GOOD], [SEEN, replace(MISSED, caveat="d = 5", main=False)], "holds"),
        ([GOOD], [SEEN, replace(SEEN, tests=())], "exploratory"),
        ([GOOD], [SEEN, replace(SEEN, tests=(), main=False)], "holds"),
        ([BAD], [SEEN, MISSED], "fails"),
    ],
)
def test_a_figure_is_judged_by_what_its_paper_says(evidence, said, verdict):
    figure = replace(_figure(*evidence), paper_statements=lambda tables: said)
    result = judge_figure(figure, {})
    assert result.verdict == verdict
    assert result.paper_statements == tuple(said)
    assert result.numbers == {"small": 1.0}


def test_of_several_numbers_the_one_nearest_to_the_bound_counts():
    few = at_most("small", np.array([[1.0, 3.0]]), 2.0, "two", name="n")
    assert few == Evidence("small", 3.0, "<=", 2.0, "two", name="n")
    some = at_least("large", [1.0, 3.0], 2, "two", post_hoc=True)
    assert some == Evidence("large", 1.0, ">=", 2.0, "two", post_hoc=True)
    assert at_most("none", [], 2.0).value is at_least("none", None, 2.0).value is None
    assert not few.holds
    assert at_least("one", 2.0, 2.0).holds


def test_a_paper_says_something_with_its_tests():
    one = says("It is large.", "caption", GOOD, BAD, main=False, caveat="d = 5")
    assert one == replace(MISSED, main=False, caveat="d = 5")


def test_states_of_a_sentence():
    states = [one.state for one in (SEEN, MISSED, replace(SEEN, tests=()))]
    assert states == ["confirmed", "not confirmed", "not tested"]


def test_numbers_of_a_claim_come_from_its_cases():
    numbers = lambda cases: {"found": cases["only"].measured, "all": len(cases)}  # noqa: E731
    claim = replace(_claim(value=math.inf), numbers=numbers)
    assert run_claim(claim, "smoke", 0).numbers == {"found": "inf", "all": 1}


def test_evidence_that_is_not_a_number_never_holds():
    for relation in ("=", "<=", ">="):
        assert not Evidence("", math.nan, relation, 1.0).holds
    assert Evidence("", 1.0, "=", 1.0).holds


def test_computed_tolerances():
    assert rounded(1.0, 100, 3.0).error == 100 * 3.0 * np.finfo(float).eps
    assert averaged(0.0, 0.1, 10, "coins").error == 0.5
    assert averaged(0.0, 0.1, 10, "coins").reason == "5 standard errors over 10 coins"
    assert solved(0.0, 1e-8, 100, 2.0).error == pytest.approx(2e-6)


def test_slope_of_a_line_and_its_error():
    x = np.arange(10.0)
    value, error = slope(x, 3 * x + 1)
    assert value == pytest.approx(3)
    assert error == pytest.approx(0, abs=1e-12)
    noisy = 3 * x + np.random.default_rng(0).normal(size=10)
    value, error = slope(x, noisy)
    assert abs(value - 3) < 4 * error


def test_erratum_and_correction_go_together():
    with pytest.raises(ValueError, match="an erratum and its correction go together"):
        Entry("paper/claim", "claim", "Theorem 1", "True.", erratum="Not quite.")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"remark": "A slip."}, "an erratum or a remark goes with its class"),
        ({"erratum_class": "false"}, "an erratum or a remark goes with its class"),
        (
            {
                "erratum": "",
                "correction": "",
                "remark": "A slip.",
                "erratum_class": "false",
            },
            "an erratum or a remark, not both",
        ),
        ({"credit": "(5) has it."}, "credit goes with an erratum or a remark"),
    ],
)
def test_errata_and_remarks_have_a_class(fields, message):
    with pytest.raises(ValueError, match=re.escape(f"paper/claim: {message}")):
        Entry("paper/claim", "claim", "Theorem 1", "True.", **fields)


def test_classes_are_five():
    # Types are checked in this suite: they may object before the entry does.
    fields: dict[str, Any] = {"remark": "A slip.", "erratum_class": "typo"}
    with pytest.raises(Exception, match="typo"):
        Entry("paper/claim", "claim", "Theorem 1", "True.", **fields)


def test_an_entry_takes_the_numbers_of_a_run():
    entry = Entry(
        "paper/claim",
        "claim",
        "Theorem 1",
        "The loss is small«: {loss:.2f}».",
        remark="Not 0«, {loss:.1%} of 1¦».",
        erratum_class="wording",
    )
    filled = entry.filled({"loss": 0.125})
    assert filled.statement == "The loss is small: 0.12."
    assert filled.remark == "Not 0, 12.5 % of 1."
    assert entry.filled({}).statement == "The loss is small."
    assert entry.filled({}).remark == "Not 0."


def test_whoever_listens_hears_of_every_case():
    seen = []

    def each(steps):
        for number, step in enumerate(steps):
            seen.append((number, len(steps)))
            yield step

    printed = Printed(predict=lambda case: 2.0)
    result = run_claim(_claim(printed=printed), "smoke", 0, each=each)
    plain = run_claim(_claim(printed=printed), "smoke", 0)
    assert [case.case for case in result.cases] == [case.case for case in plain.cases]
    assert seen == [(n, len(result.cases)) for n in range(len(result.cases))]


def test_a_moved_bound_is_reported_and_decides_nothing():
    one = at_most("small", 0.3, 0.1, "said before", moved=0.5)
    assert not one.holds
    assert one.history == "moved after a run to ≤ 0.5, which holds"
    assert one.json()["moved"] == 0.5
    with pytest.raises(ValueError, match="is not `moved` as well"):
        at_most("small", 0.3, 0.1, post_hoc=True, moved=0.5)
