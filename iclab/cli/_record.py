"""`iclab record FOLDER RECORD`: what a run found, small enough to keep."""

import argparse

from iclab import papers
from iclab.cli._commands import say
from iclab.cli._mistake import UserMistake, writing
from iclab.results import NoResults, NotARecord, first, keep_record, read_run
from iclab.show import size


def record(options: argparse.Namespace) -> int:
    """Write results, tables and pictures of a folder to another, and a manifest."""
    try:
        run = read_run(options.folder)
        for problem in first(run.problems):
            say(options, problem)
        with writing(f"to {options.record}"):
            manifest = keep_record(
                run, options.record, [entry.id for entry in papers.select()]
            )
    except (NoResults, NotARecord) as reason:
        raise UserMistake(str(reason)) from None
    items = manifest["items"]
    counts = ", ".join(f"{len(items[name])} {name}" for name in items)
    print(f"{options.record}: {counts} ({size(manifest['bytes'])})")
    for name in manifest["left_out"]:
        print(f"left out: {name}")
    return 0
