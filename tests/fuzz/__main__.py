"""`python -m tests.fuzz --calls 100000`: many calls, in a process that may die."""

import argparse
import collections
import concurrent.futures
import functools
import multiprocessing
import sys
from pathlib import Path

from iclab.runs import provenance
from tests.fuzz.campaign import (
    ANSWERED,
    NOTHING,
    REFUSED,
    SECONDS,
    Ended,
    lost,
    serve,
)

# A process that says nothing for so long, by the clock of a machine that may be busy,
# is in compiled code that hears no signal.
_SILENCE = 60 * SECONDS

_UNEXPECTED = "unexpected"

_HEAD = """# Calls with drawn arguments

`python -m tests.fuzz` wrote this. Every public function, class and method is called
with arguments drawn from its signature, a quarter of them nonsense; the number of a
call decides all of it. A call is answered with finite numbers, or refused by a
`ValueError` or `TypeError` that names the argument (errors of our own kinds, missing
files and missing modules may name the value); everything else is unexpected, and so
are 20 seconds of processor time and the death of the process. Where no object to call
a method of could be made from its class's signature, the call counts for nothing.

"""


def main() -> int:
    """Make the calls; exit 1 if one ended as it should not."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--calls", type=int, default=10_000, metavar="N")
    parser.add_argument(
        "--first", type=int, default=0, metavar="N", help="number of the first call"
    )
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="functions whose name has this text"
    )
    parser.add_argument(
        "--processes", type=int, default=1, metavar="N", help="at the same time"
    )
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="write a table of this, in Markdown"
    )
    options = parser.parse_args()
    first, last, side = options.first, options.first + options.calls, options.processes
    ends = [first + options.calls * part // side for part in range(side + 1)]
    with concurrent.futures.ThreadPoolExecutor(side) as pool:
        parts = pool.map(functools.partial(_made, options.only), ends, ends[1:])
        made = [one for part in parts for one in part]
    found = [one for one in made if one.surprise is not None]
    kinds = collections.Counter(one.callee for one in found)
    for name, times in kinds.most_common():
        print(f"{times:6}  {name}")
    text = table(made)
    print(text)
    if options.record is not None:
        commit = str(provenance()["commit"])[:12]
        said = f"Calls {first} to {last - 1}; commit {commit}."
        options.record.write_text(f"{_HEAD}{text}\n\n{said}\n", encoding="utf-8")
    return 1 if found else 0


def _made(only: str, first: int, last: int) -> list[Ended]:
    """Calls one after the other, in one process as long as it lives."""
    made: list[Ended] = []
    number = first
    while number < last:
        number = _until_death(number, last, only, made)
    return made


def table(made: list[Ended]) -> str:
    """How calls ended, by folder, in Markdown."""
    folders = sorted({one.callee.partition(".")[0] for one in made})
    rows: list[tuple[str, ...]] = [
        ("folder", "callables", "calls", ANSWERED, REFUSED, NOTHING, _UNEXPECTED)
    ]
    rows.append(("---",) * 7)
    for folder in [*folders, "all"]:
        of = [one for one in made if folder in ("all", one.callee.partition(".")[0])]
        ends = [_UNEXPECTED if one.surprise is not None else one.how for one in of]
        counts = collections.Counter(ends)
        names = len({one.callee for one in of})
        kinds = [counts[kind] for kind in (ANSWERED, REFUSED, NOTHING, _UNEXPECTED)]
        rows.append((folder, *map(str, (names, len(of), *kinds))))
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _until_death(first: int, last: int, only: str, made: list[Ended]) -> int:
    """Calls in one process; returns the number of the next call to make."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, first, last, only))
    process.start()
    theirs.close()
    number, why = first, f"no answer in {_SILENCE} s"
    try:
        while number < last and ours.poll(_SILENCE):
            made.append(ours.recv())
            if made[-1].surprise is not None:
                print(made[-1].surprise, flush=True)
            number += 1
        if number == last:
            return last
    except EOFError:
        process.join()
        why = f"the process ended with {process.exitcode}"
    finally:
        process.kill()
        process.join()
    made.append(lost(number, only, why))
    print(made[-1].surprise, flush=True)
    return number + 1


if __name__ == "__main__":
    sys.exit(main())
