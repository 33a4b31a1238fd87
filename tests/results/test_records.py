"""The records that the repository keeps: whole, small, and of items that there are."""

import json
from pathlib import Path
from typing import Any

import pytest

from iclab import papers
from iclab.results import Wrong, compare, read_record, read_run

_RECORDS = Path(__file__).parents[2] / "records"
_KEPT = sorted(path.parent for path in _RECORDS.glob("*/manifest.json"))


@pytest.mark.parametrize("folder", _KEPT, ids=[path.name for path in _KEPT])
def test_records_are_whole_and_small(folder):
    run = read_run(folder)
    assert run.problems == ()
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    ids = {entry.id for entry in papers.select()}
    whole, parts = set(manifest["items"]["whole"]), set(manifest["items"]["in part"])
    assert whole | parts <= set(run.records)
    # Items may come and go after a record was made; most of it is still there.
    assert len(whole & ids) >= 0.8 * len(whole)
    assert manifest["verdicts"] == {id: one.verdict for id, one in run.records.items()}
    files = [path for path in folder.rglob("*") if path.is_file()]
    files = [path for path in files if "report" not in path.relative_to(folder).parts]
    # All claims and figures, tables of a megabyte and more left out.
    assert sum(path.stat().st_size for path in files) < 9_000_000
    named = {name for record in run.records.values() for name in record.files}
    assert all((folder / name).is_file() for name in named)
    assert not compare(run, run).differing


def test_what_has_two_verdicts_says_that_it_depends_on_the_seed():
    records = read_run(_RECORDS / "desk-seeds").records
    assert len(records) > 100
    for id, record in records.items():
        assert record.scatter is not None
        assert len(record.scatter.seeds) == 10
        words = [one.note for one in record.paper_statements]
        words += [one.reason for one in record.evidence]
        said = any("depends on the seed" in one for one in words)
        assert record.scatter.agree or said, id


def _old_claim() -> dict[str, Any]:
    """A record as iclab 0.1 wrote it: the name of a case said that it is printed."""
    case = {"relation": "=", "predicted": 1.0, "measured": 1.0, "error": 0.1}
    case |= {"decoy": 2.0, "reason": "because", "verdict": "holds", "case": "only"}
    wrong = {"case": "as printed: only", "predicted": 3.0, "verdict": "fails"}
    return {
        "id": "zhang2023/theorem-4.2",
        "kind": "claim",
        "verdict": "corrected",
        "statement": "A statement.",
        "seconds": 1.0,
        "seed": 0,
        "scale": "smoke",
        "cases": [case, case | wrong | {"decoy": None}],
    }


def test_printed_cases_of_older_records_are_known_by_their_names():
    ours, printed = read_record(_old_claim()).cases
    assert (ours.case, ours.printed) == ("only", False)
    assert (printed.case, printed.printed) == ("only", True)
    again = read_record(read_record(_old_claim()).json())
    assert [(one.case, one.printed) for one in again.cases] == [
        ("only", False),
        ("only", True),
    ]


def test_the_name_of_a_case_says_nothing_once_a_field_does():
    old = _old_claim()
    old["cases"] = [old["cases"][0] | {"case": "as printed: only", "printed": False}]
    (case,) = read_record(old | {"verdict": "holds"}).cases
    assert (case.case, case.printed) == ("as printed: only", False)


def test_labels_are_kept_one_for_each_number():
    old = _old_claim()
    case = old["cases"][0] | {"measured": [1.0, 1.0], "labels": ["a", "b"]}
    old["verdict"] = "holds"
    assert read_record(old | {"cases": [case]}).cases[0].labels == ("a", "b")
    with pytest.raises(Wrong, match="must have a label for each of its numbers"):
        read_record(old | {"cases": [case | {"labels": ["a"]}]})


def test_former_names_of_fields_are_read():
    """What a paper says of its figure, as iclab 0.1 wrote it."""
    test = {"statement": "Size", "value": 1.0, "relation": "<=", "bound": 2.0}
    test |= {"reason": "twice", "in_view": True, "name": "", "holds": True}
    said = {"statement": "It is small.", "place": "caption", "state": "seen"}
    said |= {"main": True, "blame": "the size", "note": "", "tests": [test]}
    record = read_record(
        {
            "id": "zhang2023/figure-1",
            "kind": "figure",
            "verdict": "holds",
            "statement": "A figure.",
            "seconds": 1.0,
            "seed": 0,
            "scale": "smoke",
            "evidence": [test],
            "files": [],
            "said": [said],
        }
    )
    (sentence,) = record.paper_statements
    assert (sentence.state, sentence.caveat) == ("confirmed", "the size")
    assert sentence.tests[0].post_hoc
    assert record.evidence[0].post_hoc
    new = record.json()
    assert new["paper_statements"][0]["caveat"] == "the size"
    assert not {"said", "blame", "in_view"} & set(str(new).split("'"))
    assert read_record(new) == record
