"""The `iclab` command: turns words into objects and steps aside."""

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        from iclab.cli._main import main

        return main(arguments)
    except KeyboardInterrupt:  # while the program itself was loading
        print("iclab: interrupted", file=sys.stderr)
        return 130
