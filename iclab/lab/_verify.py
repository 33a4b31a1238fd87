"""Run a sample of what a folder holds anew, and compare.

Checksums have no key, so whoever edits a file can sign it again. This looks again.
"""

import dataclasses
import os
import random
import secrets
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from iclab import papers
from iclab._files import refuse_links
from iclab._reader import Natural, Seed, checked
from iclab.lab._mistake import Mistake, mistakes
from iclab.lab._request import Precision, Request
from iclab.lab._run import Ran, Say, run
from iclab.lab._signals import Stopped
from iclab.results import (
    STORE,
    Record,
    Run,
    Wrong,
    claim_record,
    differences,
    read_drawn,
    read_run,
    stored_tables,
    table_differences,
)
from iclab.runs import Engine, EngineProblem, Store
from iclab.show import Display


@checked
@dataclass(frozen=True)
class Verified:
    """An item that was run again: its record, and sentences about what differs."""

    record: Record
    differences: Sequence[str]

    def json(self) -> dict[str, Any]:
        """As the command line prints it."""
        made = {"scale": self.record.scale, "seed": self.record.seed}
        found = {"agrees": not self.differences, "differences": list(self.differences)}
        return {"id": self.record.id, "kind": self.record.kind, **made, **found}


@checked
@dataclass(frozen=True)
class Verification:
    """A sample of a folder, drawn with `seed` from `of` items, that was run again.

    `problems` are about what the folder holds and cannot be run again.
    """

    seed: int
    of: int
    items: Sequence[Verified]
    problems: Sequence[str]
    stopped: Stopped | None = None

    @property
    def agrees(self) -> bool:
        """Whether all that was looked at is as it was stored."""
        return not self.problems and not any(one.differences for one in self.items)


@checked
@mistakes()
def verify(
    folder: str | os.PathLike[str],
    *,
    items: Natural = 10,
    seed: Seed | None = None,
    jobs: Natural | None = None,
    cache: Path | None = None,
    engine: Engine | None = None,
    display: Display | None = None,
    say: Say = lambda text: None,
) -> Verification:
    """Draw items of a folder, run them in a scratch place, and compare every number.

    Each is run with its own scale, seeds and settings. Without a `seed` nobody can know
    beforehand which are drawn. The rest is as in `run`.
    """
    kept = read_run(folder)
    seed = secrets.randbelow(2**31) if seed is None else seed
    known, problems = _known(kept)
    if not known:
        raise Mistake(f"nothing in {folder} can be run again")
    drawn = random.Random(seed).sample(sorted(known), min(items, len(known)))
    groups: dict[str, tuple[Request, list[str]]] = {}
    for id in [id for id in kept.records if id in drawn]:
        request = _request(kept, kept.records[id])
        # Settings are an item's own, and may be such as it does not have.
        name = f"{request} {id if request.settings else ''}"
        groups.setdefault(name, (request, []))[1].append(id)
    found: dict[str, Verified] = {}
    stopped = None
    with tempfile.TemporaryDirectory(prefix="iclab-verify-") as scratch:
        where: Any = {"jobs": jobs, "cache": cache, "out": Path(scratch)}
        for request, ids in groups.values():
            where["ids"] = tuple(id.partition("@")[0] for id in ids)
            request = dataclasses.replace(request, **where)
            how: Any = {"engine": engine, "display": display, "announce": say}
            try:
                anew = run(request, **how, say=say)
            except Mistake as mistake:
                if not request.settings:
                    raise
                found |= {id: Verified(kept.records[id], [str(mistake)]) for id in ids}
                continue
            found |= _compared(kept, ids, anew)
            stopped = anew.stopped
            if stopped is not None:
                break
    order = [found[id] for id in kept.records if id in found]
    return Verification(seed, len(known), order, problems, stopped)


def _known(kept: Run) -> tuple[list[str], list[str]]:
    """Items of a folder that can be run again, and sentences about the others."""
    there = {entry.id: entry.kind for entry in papers.select()}
    known, problems = [], list(kept.problems)
    for id, record in kept.records.items():
        if there.get(id.partition("@")[0]) != record.kind:
            problems.append(f"{id} is in no paper that is open here: open its paper")
        elif "weights" in record.settings:
            problems.append(f"{id} needs files that the folder does not hold")
        elif not record.failed:  # nothing was decided
            known.append(id)
    return known, problems


def _request(kept: Run, record: Record) -> Request:
    """The request with which an item was run."""
    try:
        drawn = read_drawn(kept.folder, record.id) if record.kind == "figure" else None
    except Wrong:
        drawn = None
    made = {} if drawn is None else drawn.made
    precision = made.get("precision")
    return Request(
        command="reproduce",
        scale=record.scale,
        seed=record.seed,
        seeds=1 if record.scatter is None else len(record.scatter.seeds),
        settings=record.settings,
        retrain=made.get("retrain") is True,
        precision=precision if precision in get_args(Precision) else None,
    )


def _compared(kept: Run, ids: Sequence[str], anew: Ran) -> dict[str, Verified]:
    """What of a group was run, held against its records."""
    records = {record.id: record for record in anew.records}
    found = {}
    for id in ids:
        before, after = kept.records[id], records.get(id)
        if after is None:
            if anew.stopped is None:
                odd = [f"it is another item now: {', '.join(records)}"]
                found[id] = Verified(before, odd)
            continue
        in_store = _kept_claim if before.kind == "claim" else _kept_tables
        stored = [f"in the store: {one}" for one in in_store(kept, before, after, anew)]
        found[id] = Verified(before, [*differences(before, after), *stored])
    return found


def _kept_tables(kept: Run, before: Record, after: Record, anew: Ran) -> list[str]:
    """What differs in a figure's tables, where the folder has them."""
    there = stored_tables(before, kept.folder)
    now = stored_tables(after, anew.work.request.out or Path())
    return [] if there is None or now is None else table_differences(there, now)


def _kept_claim(kept: Run, before: Record, after: Record, anew: Ran) -> list[str]:
    """What differs in that result of a claim of which `run` takes it."""
    try:
        refuse_links(kept.folder, STORE)
        store = Store(kept.folder / STORE, read_only=True)
    except (EngineProblem, OSError):
        return []
    result = store.find(anew.work.jobs[before.id][before.seed, ""])
    if result is None:
        return store.problems
    made: Any = {"seed": before.seed, "scale": before.scale}
    try:
        entry = anew.work.entries[before.id]
        record = claim_record(entry, result.result, **made)
    except Wrong as reason:
        return [str(reason)]
    return differences(record, after)
