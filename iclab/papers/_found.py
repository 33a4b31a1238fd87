"""What a module of a room has to offer, held against what the contents say of it.

Part of every claim's job, like the functions that do them.
"""

import importlib
from pathlib import Path
from typing import Any, TypeVar

from iclab.evidence import Claim, Figure

_T = TypeVar("_T", Claim, Figure)


def found_claim(module: str, id: str, *, erratum: bool, remark: bool) -> Claim:
    """The claim `id` of a module; its contents say whether it is printed otherwise.

    A statement that fails as printed is an erratum, and a slip beside one a remark.
    """
    claim = _found(module, id, "CLAIM", Claim)
    beside = claim.printed is not None and claim.printed.beside
    replaced = claim.printed is not None and not beside
    if replaced != erratum:
        raise ValueError(f"{id}: an erratum in contents.py and `printed` go together")
    if beside and not remark:
        raise ValueError(
            f"{id}: a slip beside the claim goes with a remark in contents.py"
        )
    return claim


def found_figure(module: str, id: str) -> Figure:
    """The figure `id` of a module."""
    return _found(module, id, "FIGURE", Figure)


def _found(module: str, id: str, name: str, kind: type[_T]) -> _T:
    code = importlib.import_module(module)
    file = Path(code.__file__ or module).name
    found: Any = getattr(code, name, None)
    if not isinstance(found, kind):
        raise ValueError(f"{id}: {file} must have {name}, a {kind.__name__}")
    if found.id != id:
        raise ValueError(f"{id}: {name} in {file} has the id {found.id!r}")
    return found
