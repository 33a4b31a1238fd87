"""The `iclab` command: turns words into objects and steps aside."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from iclab._memory import keep_freed_memory
from iclab._on_use import names_on_use

if TYPE_CHECKING:
    from iclab.cli._python import (
        check as check,
        entries as entries,
        reproduce as reproduce,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        keep_freed_memory()
        from iclab.cli._main import main

        return main(arguments)
    except KeyboardInterrupt:  # while the program itself was loading
        print("iclab: interrupted", file=sys.stderr)
        return 130


__getattr__, __dir__ = names_on_use(__name__, __file__)
