"""`python -m tests.kill --times 1000`: kills, and a table of what was lost."""

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.kill import record
from tests.kill.campaign import campaign
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
    parser.add_argument(
        "--record",
        type=Path,
        metavar="DIR",
        help="keep what is found in DIR/kills.csv and .md; kills that stand there count"
        " among those asked for, so that a campaign that was stopped goes on",
    )
    options = parser.parse_args()
    names = [options.only] if options.only else list(TARGETS)
    rows = record.read(options.record)
    with tempfile.TemporaryDirectory() as folder:
        for place, name in enumerate(names):
            # As many for each, and one more for the first where that leaves some.
            times = (options.times + len(names) - 1 - place) // len(names)
            before = [row for row in rows if row["command"] == name]
            times -= sum(int(row["kills"]) for row in before)
            target = TARGETS[name](name, Path(folder) / name)

            def moments(number: int, name: str = name) -> random.Random:
                return random.Random(f"{options.seed}/{name}/{number}")

            for tally in campaign(target, times, moments, len(before)):
                rows.append(record.keep(options.record, tally, options.seed))
                print(f"{name}: {tally.kills} kills", *tally.lost, sep="\n  ")
                sys.stdout.flush()
    print(record.table(rows))
    return 1 if any(row["lost"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
