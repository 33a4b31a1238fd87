"""`iclab check`, `iclab reproduce`, `iclab verify`: words as requests, and back."""

import argparse
import dataclasses
import functools
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from iclab import lab, papers
from iclab.cli._commands import print_json, say
from iclab.results import Record, first
from iclab.runs import usable_cores
from iclab.show import counted, display, duration, of

_SLOWEST = 5
_VERDICTS = ("holds", "corrected", "fails", "undecided")
# How many differences of an item are said before the rest is counted.
_MOST = 3


def run(options: argparse.Namespace) -> int:
    """Run claims, and figures if asked to; a report is written of those."""
    start = time.perf_counter()
    request = _request(options)
    if options.dry_run:
        return _say_plan(request, options)
    pages = None
    if request.command == "reproduce":
        from iclab import report as pages
    out = None if options.json else sys.stdout  # JSON has it for itself
    ran = lab.run(
        request,
        engine=options.engine,
        display=options.display or display(stream=out or sys.stderr, out=out),
        pages=pages,
        say=functools.partial(say, options),
        announce=functools.partial(say, options),
    )
    records = ran.records
    if options.json:
        print_json([record.json() for record in records])
    if ran.stopped is not None:
        return _say_stopped(ran, ran.stopped)
    if not options.json:
        counts, page = _summary(records), ""
        if request.command == "reproduce" and ran.folder is not None:
            _say_slowest(ran)
            print(f"results: {ran.folder.path}")
            kept, every = ran.folder.records, papers.select()
            missing = sum(entry.id not in kept for entry in every)
            counts += f", {missing} missing" + (" from this folder" if missing else "")
            page = f"; report: {ran.page}"
        print(f"{counts} ({duration(time.perf_counter() - start)}){page}")
    return 0 if all(record.good for record in records) else 1


def _request(options: argparse.Namespace) -> lab.Request:
    """What is asked for; the command's options have the names of its fields."""
    fields = {field.name for field in dataclasses.fields(lab.Request)}
    asked = {name: one for name, one in vars(options).items() if name in fields}
    if options.command == "reproduce":
        asked["settings"] = _pairs("--set", "NAME=VALUE", options.settings)
        files = _pairs("--weights", "NAME=FILE", options.weights)
        asked["weights"] = {name: Path(file) for name, file in files.items()}
    return lab.Request(**asked)


def _pairs(flag: str, form: str, words: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise lab.Mistake(f"{flag} takes {form}, got {word!r}")
        if name in found:
            raise lab.Mistake(f"{flag} has {name} twice")
        found[name] = value
    return found


def _say_plan(request: lab.Request, options: argparse.Namespace) -> int:
    """Say what would be run, what it would cost, and where."""
    plan = lab.plan(request)
    if options.json:
        print_json(
            [
                {"id": id, "jobs": left.jobs, "to_run": len(left.to_run)}
                | {"seconds": left.seconds}
                for id, left in plan.items.items()
            ]
        )
        return 0
    width = max(map(len, plan.items), default=0)
    for id, left in plan.items.items():
        seconds = left.seconds
        text = "duration unknown" if seconds is None else f"about {duration(seconds)}"
        text = (
            f"{counted(len(left.to_run), 'job')}, {text}" if left.to_run else "cached"
        )
        print(f"{id:<{width}}  {text}")
    cores = options.jobs or usable_cores()
    where = options.cluster or f"{cores} process{'' if cores == 1 else 'es'} here"
    kept = f"results in {options.out}" if options.out else "nothing is kept"
    print(f"{plan.words()}\non {where}; {kept}; nothing was run")
    return 0


def _say_slowest(ran: lab.Ran) -> None:
    """Where the time went, and how much of it was spent before."""
    slowest = sorted(ran.computed, key=lambda id: -ran.computed[id])[:_SLOWEST]
    if slowest:
        print("slowest, all jobs of an item together:")
    for id in slowest:
        print(f"{duration(ran.computed[id]):>12}  {id}")
    count = len(ran.records)
    print(f"cached: {of(count - len(ran.computed), count)}")


def _say_stopped(ran: lab.Ran, stopped: lab.Stopped) -> int:
    """Say what is kept and how to go on."""
    request = ran.work.request
    text = f"{stopped.word}, {of(len(ran.records), len(ran.entries), 'item')} done"
    if request.out is not None:
        same = "the same command" + (" without --force" if request.force else "")
        text += f" and kept in {request.out}: {same} continues"
    text += f"; report: {ran.page}" if ran.page else ""
    print(f"iclab {request.command}: {text}", file=sys.stderr)
    return stopped.exit_code


def _summary(records: Sequence[Record]) -> str:
    """How many items there are, and how many have each verdict."""
    counts = Counter(record.verdict for record in records)
    rare = [verdict for verdict in ("exploratory",) if counts[verdict]]
    verdicts = ", ".join(f"{counts[one]} {one}" for one in [*_VERDICTS, *rare])
    return f"{counted(len(records), 'item')}: {verdicts}"


def verify(options: argparse.Namespace) -> int:
    """Say what differs; 1 if anything does."""
    found = lab.verify(
        options.folder,
        items=options.items,
        seed=options.seed,
        jobs=options.jobs,
        cache=options.cache,
        engine=options.engine,
        display=options.display or display(),
        say=functools.partial(say, options),
    )
    for problem in first(found.problems):
        say(options, problem)
    if options.json:
        print_json([one.json() for one in found.items])
    else:
        print("\n".join(_verified_lines(found)))
    if found.stopped is not None:
        say(options, f"{found.stopped.word}; nothing is kept")
        return found.stopped.exit_code
    return 0 if found.agrees else 1


def _verified_lines(found: lab.Verification) -> list[str]:
    count = len(found.items)
    ran = f"ran {counted(count, 'item')} of {found.of} again"
    lines = [f"{ran}, drawn with --seed {found.seed}"]
    for one in found.items:
        record, word = one.record, "differs" if one.differences else "agrees "
        made = [record.scale, f"seed {record.seed}"]
        made += [f"iclab {record.iclab}"] if record.iclab else []
        lines.append(f"{word}  {record.id} ({', '.join(made)})")
        lines += [f"    {text}" for text in one.differences[:_MOST]]
        rest = len(one.differences) - _MOST
        lines += [f"    and {rest} more"] if rest > 0 else []
    differ = sum(bool(one.differences) for one in found.items)
    return [*lines, f"{count - differ} of {count} agree, {differ} differ"]
