"""`iclab check` and `iclab reproduce`: what is run, where it is kept, how it ended."""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iclab import papers
from iclab._files import now, refuse_links
from iclab.cli._commands import print_json, say, write_report
from iclab.cli._costs import plan
from iclab.cli._lines import summary
from iclab.cli._mistake import UserMistake, keeping, writing
from iclab.cli._run import Progress, open_cache, run_items
from iclab.cli._signals import Stopped
from iclab.cli._variants import asked_changes, variants
from iclab.cli._work import Work
from iclab.evidence import Entry
from iclab.results import STORE, Record, ResultsFolder, first, see_drawable
from iclab.runs import (
    Cache,
    EngineProblem,
    Store,
    parsed_sources,
    provenance,
    usable_cores,
)
from iclab.show import counted, duration, of

_SLOWEST = 5


@dataclass(frozen=True)
class Ended:
    """A command that has run: its items, what they came to, and where that is kept."""

    entries: Sequence[Entry]
    run: Progress
    results: ResultsFolder | None = None
    page: Path | None = None
    folder: Path = Path()

    @property
    def records(self) -> list[Record]:
        """What the items came to, in the papers' order."""
        found = self.run.records
        return [found[entry.id] for entry in self.entries if entry.id in found]


def check(options: argparse.Namespace) -> int:
    """Run claims."""
    start = time.perf_counter()
    if options.dry_run:
        store = _looked_at(options.out)
        return _say_plan(_claims(_asked(options), options, store), options, store)
    ended = run_check(options)
    claims, run, records = ended.entries, ended.run, ended.records
    if options.json:
        print_json([record.json() for record in records])
    if run.stopped is not None:
        return _say_stopped(run.stopped, options, records, claims)
    if not options.json:
        print(f"{summary(records)} ({duration(time.perf_counter() - start)})")
    return _exit_code(records)


def run_check(options: argparse.Namespace) -> Ended:
    """Run the claims that are asked for, and print nothing about it."""
    claims = _asked(options)
    store = _store(Path(options.out)) if options.out else None
    cache = open_cache(options)
    with parsed_sources(cache):
        work = _claims(claims, options, store)
    run = run_items(work, options, store, cache=cache)
    _say_problems(options, work)
    return Ended(claims, run)


def _asked(options: argparse.Namespace) -> list[Entry]:
    """The claims among what is asked for."""
    entries = papers.select(options.ids)
    claims = [entry for entry in entries if entry.kind == "claim"]
    if not claims:
        named = ", ".join(options.ids)
        raise UserMistake(f"{named} is a figure: use `iclab reproduce {named}`")
    return claims


def _claims(
    claims: Sequence[Entry], options: argparse.Namespace, store: Store | None
) -> Work:
    return Work(claims, options.scale, options.seed, store=store, seeds=options.seeds)


def reproduce(options: argparse.Namespace) -> int:
    """Run claims and figures, and leave everything and a report in a folder."""
    start = time.perf_counter()
    if options.dry_run:
        store = _looked_at(options.out)
        work, _ = _everything(options, *_named(options), store)
        return _say_plan(work, options, store)
    ended = run_reproduce(options)
    run, results, records = ended.run, ended.results, ended.records
    assert results is not None
    if options.json:
        print_json([record.json() for record in records])
    if run.stopped is not None:
        return _say_stopped(run.stopped, options, records, ended.entries, ended.page)
    if not options.json:
        seconds = time.perf_counter() - start  # with the report
        _say_slowest(run.computed)
        print(f"from the store: {of(len(records) - len(run.computed), len(records))}")
        print(f"results: {results.path}")
        missing = sum(entry.id not in results.records for entry in papers.select())
        counts = f"{summary(records)}, {missing} missing"
        counts += " from this folder" if missing else ""
        print(f"{counts} ({duration(seconds)}); report: {ended.page}")
    return _exit_code(records)


def run_reproduce(options: argparse.Namespace) -> Ended:
    """Run what is asked for into its folder, and print nothing about it."""
    entries, changes = _named(options)  # mistakes first: they leave no folder
    folder = Path(options.out)
    start = time.perf_counter()
    store = _store(folder)
    order = [entry.id for entry in papers.select()]
    with keeping(folder):
        results = ResultsFolder(folder, _facts(options), order)
    for problem in first(results.problems):
        say(options, problem)
    _see_place(folder, entries, results)
    work, cache = _everything(options, entries, changes, store)
    pages: list[Path] = []

    def report(run: Progress) -> None:
        facts = {"finished": now(), "seconds": time.perf_counter() - start}
        with keeping(folder):
            results.flush(**(facts if run.stopped is None else {}))
        pages.append(write_report(options, folder))

    run = run_items(work, options, store, results, cache, after=report)
    (page,) = pages
    _say_problems(options, work)
    return Ended(work.entries, run, results, page)


def _see_place(folder: Path, entries: Sequence[Entry], results: ResultsFolder) -> None:
    """See, before anything is run, that no file of others is where ours will be."""
    from iclab.report import see_report_place

    figures = [entry.id for entry in entries if entry.kind == "figure"]
    with writing(f"to {folder}"):
        for id in figures:
            record = results.records.get(id)
            see_drawable(folder, id, () if record is None else record.files)
        see_report_place(folder, figures)


def run_anew(options: argparse.Namespace) -> Ended:
    """Run what is asked for with a store in its folder, and leave no results there."""
    entries, changes = _named(options)
    store = _store(Path(options.out))
    work, cache = _everything(options, entries, changes, store)
    nowhere = argparse.Namespace(**{**vars(options), "out": None})
    run = run_items(work, nowhere, store, cache=cache)
    return Ended(work.entries, run, folder=Path(options.out))


def _named(
    options: argparse.Namespace,
) -> tuple[Sequence[Entry], Mapping[str, Any]]:
    """Claims and figures that are asked for, and settings that are not their own."""
    entries = papers.select(options.ids)
    changes = asked_changes(options)
    return (variants(entries, options, changes) if changes else entries), changes


def _everything(
    options: argparse.Namespace,
    entries: Sequence[Entry],
    changes: Mapping[str, Any],
    store: Store | None,
) -> tuple[Work, Cache | None]:
    """The work of these items, and the cache that it uses."""
    from iclab.cli._figures import FigureFolder

    scale, seed, cache = options.scale, options.seed, open_cache(options)
    figures = FigureFolder(
        Path(options.out),
        scale,
        seed,
        retrain=options.retrain,
        changes=changes,
        cache=cache,
        device=options.device,
        precision=options.precision,
    )
    seeds = options.seeds
    with parsed_sources(cache):
        work = Work(entries, scale, seed, store=store, figures=figures, seeds=seeds)
    return work, cache


def _looked_at(out: str | None) -> Store | None:
    """The store of a folder, if there is one; nothing is written."""
    place = None if out is None else Path(out) / "store"
    if place is None or not place.is_dir():
        return None
    try:
        return Store(place, read_only=True)
    except EngineProblem as problem:
        raise UserMistake(str(problem)) from None


def _say_plan(work: Work, options: argparse.Namespace, store: Store | None) -> int:
    """Say what would be run, what it would cost, and where."""
    cores = options.jobs or usable_cores()
    foreseen = plan(
        work, work.entries, work.scale, store=store, cores=cores, force=options.force
    )
    rows = [
        {
            "id": id,
            "jobs": len(work.jobs[id]),
            "to_run": len(foreseen.items[id]),
            "seconds": None if id in foreseen.unknown else foreseen.seconds(id),
        }
        for id in foreseen.items
    ]
    if options.json:
        print_json(rows)
        return 0
    width = max(map(len, foreseen.items), default=0)
    for row in rows:
        if not row["to_run"]:
            text = "in the store"
        elif row["seconds"] is None:
            text = f"{counted(row['to_run'], 'job')}, nobody knows how long"
        else:
            text = f"{counted(row['to_run'], 'job')}, about {duration(row['seconds'])}"
        print(f"{row['id']:<{width}}  {text}")
    where = options.cluster or f"{cores} process{'' if cores == 1 else 'es'} here"
    kept = f"; results in {options.out}" if options.out else "; nothing is kept"
    print(f"{foreseen.words()}\non {where}{kept}; nothing was run")
    return 0


def _facts(options: argparse.Namespace) -> dict[str, Any]:
    """What is known of a run at its start."""
    cluster = options.cluster is not None
    return {
        "ids": options.ids,
        "scale": options.scale,
        "seed": options.seed,
        "started": now(),
        "cluster": cluster,
        "processes": None if cluster else options.jobs or usable_cores(),
        "cores": usable_cores(),
        **provenance(),
    }


def _say_problems(options: argparse.Namespace, work: Work) -> None:
    """Name what was there and had to be made again."""
    for problem in first(work.problems):
        say(options, problem)


def _say_slowest(computed: Mapping[str, float]) -> None:
    """Where the time went; what came from the store took none."""
    slowest = sorted(computed, key=lambda id: -computed[id])[:_SLOWEST]
    if slowest:
        print("slowest, all jobs of an item together:")
    for id in slowest:
        print(f"{duration(computed[id]):>12}  {id}")


def _say_stopped(
    stopped: Stopped,
    options: argparse.Namespace,
    records: Sequence[Record],
    entries: Sequence[Entry],
    page: Path | None = None,
) -> int:
    """Say what is kept and how to go on."""
    text = f"{stopped.word}, {of(len(records), len(entries), 'item')} done"
    if options.out:
        same = "the same command" + (" without --force" if options.force else "")
        text += f" and kept in {options.out}: {same} continues"
    text += f"; report: {page}" if page else ""
    print(f"iclab {options.command}: {text}", file=sys.stderr)
    return stopped.exit_code


def _store(folder: Path) -> Store:
    try:
        with writing(f"to {folder}"):
            refuse_links(folder, STORE)
        return Store(folder / STORE)
    except EngineProblem as problem:
        raise UserMistake(str(problem)) from None


def _exit_code(records: Sequence[Record]) -> int:
    return 0 if all(record.good for record in records) else 1
