"""A run in a process of its own, which tests may interrupt or kill.

Run: python -m tests.runs.program FOLDER
"""

import sys
from pathlib import Path

from iclab.runs import Job, Processes, Store, run_jobs


def jobs(folder):
    """One that ends at once, then some that are held."""
    config = {"folder": str(folder)}
    first = Job("tests.runs.work:square", {"n": 3})
    return [first, *(Job("tests.runs.work:hold", config, seed) for seed in range(3))]


def main(folder):
    """Run all jobs in two processes; Ctrl-C ends with 130."""
    try:
        for _ in run_jobs(
            jobs(folder), store=Store(folder / "store"), engine=Processes(2)
        ):
            pass
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
