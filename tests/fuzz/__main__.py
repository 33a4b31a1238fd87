"""`python -m tests.fuzz --calls 100000`: many calls, in a process that may die."""

import argparse
import collections
import multiprocessing
import sys

from tests.fuzz.campaign import SECONDS, Surprise, serve

# A process that says nothing for this long is in compiled code that hears no signal.
_SILENCE = 3 * SECONDS


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
    options = parser.parse_args()
    found: list[Surprise] = []
    number, last = options.first, options.first + options.calls
    while number < last:
        number = _until_death(number, last, options.only, found)
    kinds = collections.Counter(one.function for one in found)
    for name, times in kinds.most_common():
        print(f"{times:6}  {name}")
    print(f"{options.calls} calls, {len(found)} unexpected")
    return 1 if found else 0


def _until_death(first: int, last: int, only: str, found: list[Surprise]) -> int:
    """Calls in one process; returns the number of the next call to make."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, first, last, only))
    process.start()
    theirs.close()
    number = first
    try:
        while number < last:
            if not ours.poll(_SILENCE):
                return _lost(number, f"no answer in {_SILENCE} s", found)
            surprise = ours.recv()
            if surprise is not None:
                print(surprise, flush=True)
                found.append(surprise)
            number += 1
        return last
    except EOFError:
        process.join()
        return _lost(number, f"the process ended with {process.exitcode}", found)
    finally:
        process.kill()
        process.join()


def _lost(number: int, why: str, found: list[Surprise]) -> int:
    surprise = Surprise(number, "?", "", why)
    print(surprise, flush=True)
    found.append(surprise)
    return number + 1


if __name__ == "__main__":
    sys.exit(main())
