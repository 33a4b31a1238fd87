"""`iclab verify FOLDER`: run a sample of what a folder holds anew, and compare.

Checksums have no key, so whoever edits a file can sign it again. This looks again.
"""

import argparse
import random
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iclab import papers
from iclab._files import refuse_links
from iclab.cli._commands import print_json, say
from iclab.cli._mistake import UserMistake
from iclab.cli._python import reproduce_options
from iclab.cli._reproduce import Ended, run_anew
from iclab.cli._signals import Stopped
from iclab.results import (
    STORE,
    NoResults,
    Record,
    Run,
    Wrong,
    claim_record,
    differences,
    first,
    read_drawn,
    read_run,
    stored_tables,
    table_differences,
)
from iclab.runs import EngineProblem, Store

# Of what was trained otherwise: what `iclab reproduce` has words for.
_PRECISIONS = ("float32", "float64", "bfloat16")
# How many differences of an item are said before the rest is counted.
_MOST = 3


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


def verify_folder(options: argparse.Namespace) -> int:
    """Say what differs; 1 if anything does."""
    found = verify(
        options.folder,
        items=options.items,
        seed=options.seed,
        jobs=options.jobs,
        cache=options.cache,
    )
    for problem in first(found.problems):
        say(options, problem)
    if options.json:
        print_json([one.json() for one in found.items])
    else:
        print("\n".join(_lines(found)))
    if found.stopped is not None:
        say(options, f"{found.stopped.word}; nothing is kept")
        return found.stopped.exit_code
    return 0 if found.agrees else 1


def verify(
    folder: str | Path,
    *,
    items: int = 10,
    seed: int | None = None,
    jobs: int | None = None,
    cache: str | None = None,
) -> Verification:
    """Draw items of a folder, run them in a scratch place, and compare every number.

    Each is run with its own scale, seeds and settings. Without a `seed` nobody can know
    beforehand which are drawn.
    """
    try:
        run = read_run(folder)
    except NoResults as reason:
        raise UserMistake(str(reason)) from None
    seed = secrets.randbelow(2**31) if seed is None else seed
    known, problems = _known(run)
    if not known:
        raise UserMistake(f"nothing in {folder} can be run again")
    drawn = random.Random(seed).sample(sorted(known), min(items, len(known)))
    groups: dict[str, list[str]] = {}
    how: dict[str, Mapping[str, Any]] = {}
    for id in [id for id in run.records if id in drawn]:
        one = _how(run, run.records[id])
        # Settings are an item's own, and may be such as it does not have.
        name = f"{one} {id if one['set'] else ''}"
        groups.setdefault(name, []).append(id)
        how[name] = one
    found: dict[str, Verified] = {}
    stopped = None
    with tempfile.TemporaryDirectory(prefix="iclab-verify-") as scratch:
        for name, ids in groups.items():
            bases = [id.partition("@")[0] for id in ids]
            asked = {**how[name], "jobs": jobs, "cache": cache, "command": "verify"}
            try:
                ended = run_anew(reproduce_options(bases, asked, {"out": scratch}))
            except UserMistake as mistake:
                if not how[name]["set"]:
                    raise
                found |= {id: Verified(run.records[id], [str(mistake)]) for id in ids}
                continue
            found |= _compared(run, ids, ended)
            stopped = ended.run.stopped
            if stopped is not None:
                break
    order = [found[id] for id in run.records if id in found]
    return Verification(seed, len(known), order, problems, stopped)


def _known(run: Run) -> tuple[list[str], list[str]]:
    """Items of a folder that can be run again, and sentences about the others."""
    there = {entry.id: entry.kind for entry in papers.select()}
    known, problems = [], list(run.problems)
    for id, record in run.records.items():
        if there.get(id.partition("@")[0]) != record.kind:
            problems.append(
                f"{id} is in no paper that is open here: name it by --paper"
            )
        elif "weights" in record.settings:
            problems.append(f"{id} needs files that the folder does not hold")
        elif not record.failed:  # nothing was decided
            known.append(id)
    return known, problems


def _how(run: Run, record: Record) -> dict[str, Any]:
    """Options of `iclab reproduce` with which an item was run."""
    how: dict[str, Any] = {"scale": record.scale, "seed": record.seed}
    how["seeds"] = 1 if record.scatter is None else len(record.scatter.seeds)
    how["set"] = [f"{name}={text}" for name, text in record.settings.items()]
    try:
        drawn = read_drawn(run.folder, record.id) if record.kind == "figure" else None
    except Wrong:
        drawn = None
    made = {} if drawn is None else drawn.made
    how["retrain"] = made.get("retrain") is True
    precision = made.get("precision")
    how["precision"] = precision if precision in _PRECISIONS else None
    return how


def _compared(run: Run, ids: Sequence[str], ended: Ended) -> dict[str, Verified]:
    """What of a group was run, held against its records."""
    anew = {record.id: record for record in ended.records}
    found = {}
    for id in ids:
        before, after = run.records[id], anew.get(id)
        if after is None:
            if ended.run.stopped is None:
                odd = [f"it is another item now: {', '.join(anew)}"]
                found[id] = Verified(before, odd)
            continue
        kept = _kept_claim if before.kind == "claim" else _kept_tables
        stored = [f"in the store: {one}" for one in kept(run, before, after, ended)]
        found[id] = Verified(before, [*differences(before, after), *stored])
    return found


def _kept_tables(run: Run, before: Record, after: Record, ended: Ended) -> list[str]:
    """What differs in a figure's tables, where the folder has them."""
    there = stored_tables(before, run.folder)
    now = stored_tables(after, ended.folder)
    return [] if there is None or now is None else table_differences(there, now)


def _kept_claim(run: Run, before: Record, after: Record, ended: Ended) -> list[str]:
    """What differs in that result of a claim of which `iclab reproduce` takes it."""
    try:
        refuse_links(run.folder, STORE)
        store = Store(run.folder / STORE, read_only=True)
    except (EngineProblem, OSError):
        return []
    work = ended.run.work
    kept = store.find(work.jobs[before.id][""])
    if kept is None:
        return store.problems
    made: Any = {"seed": before.seed, "scale": before.scale}
    try:
        record = claim_record(work.entry(before.id), kept.result, **made)
    except Wrong as reason:
        return [str(reason)]
    return differences(record, after)


def _lines(found: Verification) -> list[str]:
    count = len(found.items)
    items = "1 item" if count == 1 else f"{count} items"
    lines = [f"ran {items} of {found.of} again, drawn with --seed {found.seed}"]
    for one in found.items:
        word = "differs" if one.differences else "agrees "
        lines.append(f"{word}  {one.record.id}{_made(one.record)}")
        lines += [f"    {text}" for text in one.differences[:_MOST]]
        rest = len(one.differences) - _MOST
        lines += [f"    and {rest} more"] if rest > 0 else []
    differ = sum(bool(one.differences) for one in found.items)
    return [*lines, f"{count - differ} of {count} agree, {differ} differ"]


def _made(record: Record) -> str:
    facts = [record.scale, f"seed {record.seed}"]
    facts += [f"iclab {record.iclab}"] if record.iclab else []
    return f" ({', '.join(facts)})"
