"""The records that the repository keeps: whole, small, and of items that there are."""

import json
from pathlib import Path

import pytest

from iclab import papers
from iclab.results import compare, read_run

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
        words = [one.note for one in record.said]
        words += [one.reason for one in record.evidence]
        said = any("depends on the seed" in one for one in words)
        assert record.scatter.agree or said, id
