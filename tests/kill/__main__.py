"""`python -m tests.kill --times 1000`: kills, and a table of what was lost."""

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.kill.campaign import Tally, campaign
from tests.kill.targets import TARGETS


def main() -> int:
    """Kill; exit 1 if anything was lost."""
    parser = argparse.ArgumentParser(prog="python -m tests.kill", description=__doc__)
    parser.add_argument(
        "--times", type=int, default=100, metavar="N", help="kills in all (100)"
    )
    parser.add_argument(
        "--only", choices=list(TARGETS), help="one command instead of all, in turn"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the moments (0)")
    options = parser.parse_args()
    names = [options.only] if options.only else list(TARGETS)
    tallies = []
    with tempfile.TemporaryDirectory() as folder:
        for place, name in enumerate(names):
            # As many for each, and one more for the first where that leaves some.
            times = (options.times + len(names) - 1 - place) // len(names)
            target = TARGETS[name](name, Path(folder) / name)
            moments = random.Random(options.seed)
            tallies.append(campaign(target, times, moments))
            print(_table(tallies), flush=True)
    lost = [one for tally in tallies for one in tally.lost]
    print("\n".join(lost) or "nothing was lost")
    return 1 if lost else 0


def _table(tallies: list[Tally]) -> str:
    rows = [Tally.HEAD, *(tally.row() for tally in tallies)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )


if __name__ == "__main__":
    sys.exit(main())
