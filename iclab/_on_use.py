"""Folders that give their names when asked, so that `iclab list` loads only words.

Such a folder lists its names as every other does, under `if TYPE_CHECKING:`, where
people, type checkers and the hash of a job's source read them. At run time a name is
imported from its file when it is first used.
"""

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Gives names to what is in the folders: no part of the names of jobs.
__computes__ = False


def names_on_use(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of the package whose `__init__.py` is `file`."""
    places = _listed(Path(file))
    space = vars(sys.modules[package])

    def __getattr__(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        space[name] = getattr(importlib.import_module(places[name]), name)
        return space[name]

    def __dir__() -> list[str]:
        private = {name for name in space if name.startswith("_")}
        return sorted(private | set(places))

    return __getattr__, __dir__


def _listed(file: Path) -> dict[str, str]:
    """The module of every name that is listed under `if TYPE_CHECKING:`."""
    return {
        alias.name: node.module
        for block in ast.parse(file.read_bytes()).body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
    }
