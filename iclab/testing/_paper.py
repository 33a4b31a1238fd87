"""What every paper promises."""

import contextlib
import json
import os
from collections.abc import Mapping
from typing import Any

from iclab import papers
from iclab._reader import Seed, checked
from iclab.evidence import (
    GOOD_VERDICTS,
    TEXTS,
    Entry,
    Given,
    MissingTable,
    Scale,
    case_line,
    judge_figure,
    names,
)
from iclab.results import Record, claim_record, read_record
from iclab.testing._compare import fail
from iclab.testing._evidence import check_sides, opened_paper


@checked
def check_paper(
    paper: str | os.PathLike[str], *, scale: Scale | None = "smoke", seed: Seed = 0
) -> None:
    """Check a paper, given as a folder or by the key of one that is known.

    Contents and files agree; both sides of a claim are two (`check_evidence`); every
    claim holds at `scale` with its decoys rejected, or is corrected where its entry has
    an erratum; every figure computes, draws and shows
    what it says, with all of its tables and with any of them alone; and all results are
    plain JSON. Numbers that texts name are found by the run. With `scale=None` nothing
    is run: that is quick.

    This imports the paper's files and runs them.
    """
    opened = opened_paper(paper)
    for entry in opened.entries:
        _check_entry(entry)
        if scale is not None:
            run = _run_claim if entry.kind == "claim" else _run_figure
            _check_texts(entry, run(entry, scale, seed))


def _check_entry(entry: Entry) -> None:
    """An entry says something, and its file is what it says."""
    for name in ("statement", "locator"):
        if not getattr(entry, name).strip():
            fail(f"{entry.id}: its entry has no {name}")
    how = papers.method(entry)
    silent = [
        name for name, text in [("the file", how.summary), *how.steps] if not text
    ]
    if silent:
        fail(f"{entry.id}: no docstring says what {silent[0]} does")
    load = papers.load_figure if entry.kind == "figure" else papers.load_claim
    try:
        load(entry)
    except ValueError as reason:
        raise AssertionError(str(reason)) from reason
    if entry.kind == "claim":
        check_sides(entry)


def _run_claim(entry: Entry, scale: Scale, seed: int) -> Mapping[str, Any]:
    """Check a claim; gives the numbers that its texts may name."""
    result = papers.claim_job(entry, scale, seed).run()
    _check_json(entry, result)
    record = claim_record(entry, result, seed=seed, scale=scale)
    _check_record(record)
    expected = "holds" if entry.erratum is None else "corrected"
    if record.verdict == expected:
        return record.numbers
    reasons = {
        "undecided": "no decoy was rejected",
        "holds": "it has an erratum, and what is printed did not fail",
        "corrected": "what is printed fails, and there is no erratum",
    }
    reason = reasons.get(record.verdict, "")
    bad = [case for case in record.cases if case.verdict == record.verdict]
    if bad:
        case = bad[0]
        reason = f"{case_line(case)} ({case.reason})"
    found = f"got {record.verdict}: {reason}"
    raise AssertionError(f"{entry.id}: the verdict must be {expected}, {found}")


def _run_figure(entry: Entry, scale: Scale, seed: int) -> Mapping[str, Any]:
    """Compute, judge and draw a figure; gives the numbers that its texts may name."""
    jobs = papers.figure_jobs(entry, scale, seed)
    tables = {}
    for name, job in jobs.items():
        _check_json(entry, job.config)
        tables[name] = job.run()
    result, files = papers.judged(entry, tables), list(papers.drawn(entry, tables))
    record = papers.figure_record(entry, result, files, 0.0, seed=seed, scale=scale)
    _check_record(record)
    if len(tables) > 1:
        for name, table in tables.items():
            _check_part(entry, {name: table})
    bad = [one for one in result.evidence if not one.holds]
    if bad:
        one = bad[0]
        found = f"{one.value}, expected {one.relation} {one.bound}"
        fail(f"{entry.id}: what it should show is not there: {one.statement}: {found}")
    if result.verdict not in GOOD_VERDICTS:
        fail(f"{entry.id} is {result.verdict}: it shows nothing, or a main statement"
             " of its paper is not confirmed")  # fmt: skip
    if not all(one.reason for one in result.evidence):
        fail(f"{entry.id}: every bound needs its `reason`")
    return result.numbers


def _check_part(entry: Entry, part: Mapping[str, Any]) -> None:
    """A part of the tables is drawn and judged, or said to be too little."""
    figure = papers.load_figure(entry)
    try:
        judge_figure(figure, part, exploratory=True)
        with contextlib.suppress(MissingTable):
            figure.draw(Given(part))
    except Exception as error:
        only = next(iter(part))
        remedy = "`draw`, `expect` and `paper_statements` take any part of the tables"
        raise AssertionError(
            f"{entry.id}: with the table {only!r} alone,"
            f" {type(error).__name__}: {error}; {remedy}"
        ) from error


def _check_json(entry: Entry, value: Any) -> None:
    try:
        again = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        fail(f"{entry.id}: its settings and results must be plain JSON: {error}")
    if again != _listed(value):
        fail(f"{entry.id}: JSON changes its settings or results: keys must be strings")


def _check_record(record: Record) -> None:
    """A record is written and read again without loss."""
    text = json.dumps(record.json(), allow_nan=False)
    if read_record(json.loads(text)) != record:
        fail(f"{record.id}: its record changes when it is written and read back")


def _listed(value: Any) -> Any:
    """`value` with lists for tuples, as JSON has it."""
    if isinstance(value, (tuple, list)):
        return [_listed(one) for one in value]
    if isinstance(value, Mapping):
        return {name: _listed(one) for name, one in value.items()}
    return value


def _check_texts(entry: Entry, numbers: Mapping[str, Any]) -> None:
    for field in TEXTS:
        text = getattr(entry, field) or ""
        missing = sorted(names(text) - set(numbers))
        if missing:
            fail(f"{entry.id}: its {field} names {missing[0]}, which no run has found")
