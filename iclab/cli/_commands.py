"""What each command does."""

import argparse
import json
import os
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iclab import papers
from iclab.cli._display import Display, case_line, evidence_line
from iclab.evidence import Entry, Scale
from iclab.runs import Job, Outcome, Store, provenance, run_jobs

if TYPE_CHECKING:
    from iclab.report import Run

_VERDICTS = ("holds", "corrected", "fails", "undecided")
DEFAULT_FOLDER = "iclab-results"


class UserMistake(Exception):
    """Something that the user can put right; said in one line."""


def usable_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def list_entries(options: argparse.Namespace) -> int:
    """Name every claim and figure."""
    entries = papers.select(options.ids)
    if options.json:
        _print_json([_entry_json(entry) for entry in entries])
        return 0
    width = max(len(entry.id) for entry in entries)
    room = max(_columns() - width - 4, 20)
    for entry in entries:
        mark = "!" if entry.erratum else " "
        text = textwrap.shorten(entry.statement, room, placeholder=" …")
        print(f"{entry.id:<{width}} {mark} {text}")
    if any(entry.erratum for entry in entries):
        print("\n! fails as printed: `iclab show ID` says why and what holds instead")
    return 0


def show(options: argparse.Namespace) -> int:
    """Say what a result states, how it is checked, and what the last run found."""
    entries = papers.select(options.ids)
    run = _last_run(Path(options.out))
    last = {} if run is None else run.records
    if options.json:
        _print_json(
            [
                _entry_json(entry)
                | {"method": _method_json(entry), "last_result": last.get(entry.id)}
                for entry in entries
            ]
        )
        return 0
    for number, entry in enumerate(entries):
        if number:
            print()
        print(f"{entry.id}: {papers.paper(entry.id).title}, {entry.locator}")
        _field("statement", entry.statement)
        _field("hypotheses", entry.hypotheses)
        _field("erratum", entry.erratum)
        _field("correction", entry.correction)
        how = papers.method(entry)
        _field("check", how.summary)
        for name, text in how.steps:
            _field(name, text)
        verb = "check" if entry.kind == "claim" else "reproduce"
        _field("run it", f"iclab {verb} {entry.id}")
        if run is not None and entry.id in run.records:
            _show_last(run.records[entry.id], run.facts)
    return 0


def report(options: argparse.Namespace) -> int:
    """Write the HTML report of a folder of results again."""
    print(f"report: {_write_report(Path(options.folder))}")
    return 0


def cite(options: argparse.Namespace) -> int:
    """Print BibTeX, each paper once."""
    found = {one.key: one for one in map(papers.paper, options.ids)}
    print("\n\n".join(one.bibtex for one in found.values()))
    return 0


def check(options: argparse.Namespace) -> int:
    """Run claims."""
    entries = papers.select(options.ids)
    claims = [entry for entry in entries if entry.kind == "claim"]
    if not claims:
        named = ", ".join(options.ids)
        raise UserMistake(f"{named} is a figure: use `iclab reproduce {named}`")
    store = _store(options.out) if options.out else None
    start = time.perf_counter()
    records = _run(claims, options, store, None)
    if options.json:
        _print_json(records)
    else:
        print(f"{_summary(records)} ({_duration(time.perf_counter() - start)})")
    return _exit_code(records)


def reproduce(options: argparse.Namespace) -> int:
    """Run claims and figures, and leave everything and a report in a folder."""
    entries = papers.select(options.ids)
    folder = Path(options.out or DEFAULT_FOLDER)
    store = _store(folder)
    started, start = _now(), time.perf_counter()
    records = _run(entries, options, store, folder / "figures")
    seconds = time.perf_counter() - start
    run = {
        "ids": options.ids,
        "scale": options.scale,
        "seed": options.seed,
        "started": started,
        "finished": _now(),
        "seconds": seconds,
        "processes": options.jobs,
        "cores": usable_cores(),
        **provenance(),
        "results": records,
    }
    target = folder / "results.json"
    _write_whole(target, json.dumps(run, indent=1, ensure_ascii=False))
    page = _write_report(folder)
    if options.json:
        _print_json(records)
    else:
        missing = len(papers.ENTRIES) - len(records)
        counts = f"{_summary(records)}, {missing} missing"
        print(f"results: {target}")
        print(f"{counts} ({_duration(seconds)}); report: {page}")
    return _exit_code(records)


def _run(
    entries: Sequence[Entry],
    options: argparse.Namespace,
    store: Store | None,
    figures: Path | None,
) -> list[dict[str, Any]]:
    """Run entries in processes; records come back in the papers' order."""
    scale: Scale = options.scale
    seed: int = options.seed
    jobs: dict[str, dict[str, Job]] = {}
    for entry in entries:
        if entry.kind == "claim":
            jobs[entry.id] = {"": papers.claim_job(entry, scale, seed)}
        else:
            jobs[entry.id] = papers.figure_jobs(entry, scale, seed)
    owner = {job.digest: (id, name) for id in jobs for name, job in jobs[id].items()}
    by_id = {entry.id: entry for entry in entries}
    done: dict[str, dict[str, Outcome]] = {id: {} for id in jobs}
    records: dict[str, dict[str, Any]] = {}
    every = [job for group in jobs.values() for job in group.values()]
    with Display(len(every), quiet=options.json) as display:
        for outcome in run_jobs(every, store=store, processes=options.jobs):
            id, name = owner[outcome.job.digest]
            done[id][name] = outcome
            display.advance(outcome.job.label)
            if len(done[id]) == len(jobs[id]):
                records[id] = _record(by_id[id], done[id], seed, figures)
                display.finished(records[id])
    return [records[entry.id] for entry in entries]


def _record(
    entry: Entry, outcomes: Mapping[str, Outcome], seed: int, figures: Path | None
) -> dict[str, Any]:
    seconds = sum(outcome.seconds for outcome in outcomes.values())
    errors = [outcome.error for outcome in outcomes.values() if outcome.error]
    if errors:
        return papers.failed_record(entry, errors[0], seconds, seed)
    results = {name: outcome.result for name, outcome in outcomes.items()}
    if entry.kind == "claim":
        result = results[""]
        assert result is not None
        return papers.claim_record(entry, result, seed)
    assert figures is not None
    tables = {name: result for name, result in results.items() if result is not None}
    judged, files = papers.finish_figure(entry, tables, figures)
    return papers.figure_record(entry, judged, files, seconds, seed)


def _summary(records: Sequence[Mapping[str, Any]]) -> str:
    counts = Counter(record["verdict"] for record in records)
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in _VERDICTS)
    return f"{len(records)} item{'' if len(records) == 1 else 's'}: {verdicts}"


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds / 60:.1f} min"


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _last_run(folder: Path) -> "Run | None":
    """The run in `folder`, if there is one."""
    from iclab.report import NoResults, read_run

    try:
        return read_run(folder)
    except NoResults:
        return None


def _show_last(record: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    """What the last run found for an item, case by case."""
    when = f", {facts['started'][:10]}" if facts.get("started") else ""
    scale, seed = facts.get("scale"), record["seed"]
    time = _duration(record["seconds"])
    _field("last result", f"{record['verdict']} ({scale}, seed {seed}, {time}{when})")
    if "error" in record:
        _field("", record["error"].strip().splitlines()[-1])
    for case in record.get("cases", ()):
        _field("", f"{case['verdict']}: {case_line(case)}")
    for one in record.get("evidence", ()):
        _field("", f"{'holds' if one['holds'] else 'fails'}: {evidence_line(one)}")


def _write_report(folder: Path) -> Path:
    from iclab.report import NoResults, build_report

    try:
        return build_report(folder)
    except NoResults as reason:
        raise UserMistake(str(reason)) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserMistake(f"cannot write the report in {folder}: {reason}") from None


def _store(folder: str | Path) -> Store:
    try:
        return Store(Path(folder) / "store")
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserMistake(f"cannot write to {folder}: {reason}") from None


def _write_whole(path: Path, text: str) -> None:
    """Write a file that is never seen half written."""
    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.write_text(text + "\n", encoding="utf-8")
        os.replace(draft, path)
    except OSError as error:
        raise UserMistake(f"cannot write {path}: {error.strerror}") from None


def _exit_code(records: Sequence[Mapping[str, Any]]) -> int:
    good = all(record["verdict"] in ("holds", "corrected") for record in records)
    return 0 if good else 1


def _entry_json(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "kind": entry.kind,
        "paper": entry.paper,
        "locator": entry.locator,
        "statement": entry.statement,
        "hypotheses": entry.hypotheses,
        "erratum": entry.erratum,
        "correction": entry.correction,
        "formula": entry.formula,
    }


def _method_json(entry: Entry) -> dict[str, str]:
    how = papers.method(entry)
    return {"check": how.summary, **dict(how.steps)}


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=1, ensure_ascii=False))


def _field(name: str, text: str | None) -> None:
    """A named paragraph, wrapped to the terminal and indented."""
    if not text:
        return
    lead, rest = f"  {name:<11} ", " " * 14
    print(textwrap.fill(text, max(_columns(), 40), initial_indent=lead,
                        subsequent_indent=rest))  # fmt: skip


def _columns() -> int:
    if sys.stdout.isatty():
        return os.get_terminal_size(sys.stdout.fileno()).columns
    return 100
