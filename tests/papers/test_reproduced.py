"""Everything at smoke scale, by `iclab reproduce` itself: verdicts, pictures, report.

A claim comes out as its paper has it, or corrected where the paper errs. Asked for by
`pytest -m everything`: `iclab reproduce` does the same work at a larger scale.
"""

import csv
import json
import re
from collections import Counter

import pytest

import iclab
from iclab import papers
from tests.cli.cheap import complaints

pytestmark = pytest.mark.everything

CLAIMS = [entry for entry in papers.select() if entry.kind == "claim"]
FIGURES = [entry for entry in papers.select() if entry.kind == "figure"]


@pytest.mark.parametrize("entry", CLAIMS, ids=lambda entry: entry.id)
def test_claim(entry, reproduced):
    record = reproduced.records[entry.id]
    expected = "holds" if entry.erratum is None else "corrected"
    bad = [case for case in record.cases if case.verdict != "holds"]
    assert record.verdict == expected, record.error or bad
    # Every number that the texts ask for comes from the run, or may be left out.
    words = [record.statement, record.erratum or "", record.correction or ""]
    assert not any(mark in word for word in words for mark in "«»¦")


@pytest.mark.parametrize("entry", FIGURES, ids=lambda entry: entry.id)
def test_figure(entry, reproduced):
    record = reproduced.records[entry.id]
    bad = [one for one in record.evidence if not one.holds]
    assert record.good, record.error or bad
    assert all(one.holds and one.reason for one in record.evidence)
    beyond = entry.locator.startswith("beyond the paper")
    assert bool(record.paper_statements) != (beyond or entry.paper == "findings")
    for sentence in record.paper_statements:
        assert sentence.place
        assert sentence.tests or sentence.note
        assert all(test.reason for test in sentence.tests)
    kinds = [name.rpartition(".")[2] for name in record.files]
    assert kinds == ["svg", "pdf", "png", "csv"]
    for name in record.files:
        assert (reproduced.folder / name).stat().st_size > 0
    with open(reproduced.folder / record.files[-1], newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0].keys() == {"table", "column", "index", "value"}
    jobs = papers.figure_jobs(entry, "smoke", 0)
    assert {row["table"] for row in rows} == set(jobs)
    tables = iclab.load(entry.id, reproduced.folder)
    assert record.jobs == {name: job.digest for name, job in jobs.items()}
    sizes = [column.size for table in tables.values() for column in table.values()]
    assert sum(sizes) == len(rows)


def test_the_command_ends_well(reproduced):
    assert reproduced.code == 0, reproduced.errors
    assert complaints(reproduced.errors) == ""
    *_, store, results, summary = reproduced.text.splitlines()
    assert store == f"cached: 0 of {len(papers.select())}"
    assert results == f"results: {reproduced.folder / 'results.json'}"
    found = Counter(record.verdict for record in reproduced.records.values())
    counts = (
        f"{len(papers.select())} items: {found['holds']} holds,"
        f" {found['corrected']} corrected, 0 fails, 0 undecided,"
        f" {found['exploratory']} exploratory, 0 missing"
    )
    page = reproduced.folder / "report" / "index.html"
    line = rf"{counts} \([0-9.]+ (s|min)\); report: {re.escape(str(page))}"
    assert re.fullmatch(line, summary)
    assert page.is_file()


def test_the_slowest_are_named(reproduced):
    lines = reproduced.text.splitlines()
    start = lines.index("slowest, all jobs of an item together:") + 1
    found = [re.fullmatch(r" +([0-9.]+) s  (\S+)", line) for line in lines[start:][:5]]
    times = [float(match[1]) for match in found if match]
    assert len(times) == 5
    assert times == sorted(times, reverse=True)


def test_results_are_whole(reproduced):
    run = json.loads((reproduced.folder / "results.json").read_text(encoding="utf-8"))
    assert [one["id"] for one in run["results"]] == [e.id for e in papers.select()]
    assert {(one["scale"], one["seed"]) for one in run["results"]} == {("smoke", 0)}
    assert run["finished"]
