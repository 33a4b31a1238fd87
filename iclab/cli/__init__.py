"""The `iclab` command: turns words into requests, and prints. Nothing imports it."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from iclab._memory import keep_freed_memory

if TYPE_CHECKING:
    import argparse

    from iclab.runs import Engine
    from iclab.show import Display


def main(
    arguments: Sequence[str] | None = None,
    *,
    engine: "Engine | None" = None,
    display: "Display | None" = None,
) -> int:
    """Run the command line and return its exit code.

    Commands that run jobs do so with `engine`, and show on `display` how far they are,
    in place of what fits the machine and the terminal.
    """
    try:
        keep_freed_memory()
        from iclab.cli._main import main

        return main(arguments, engine=engine, display=display)
    except KeyboardInterrupt:  # while the program itself was loading
        print("iclab: interrupted", file=sys.stderr)
        return 130


def parser() -> "argparse.ArgumentParser":
    """What reads the words."""
    from iclab.cli._main import parser

    return parser()
