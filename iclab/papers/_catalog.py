"""Everything that can be checked or drawn, by id; reading this runs nothing."""

import ast
import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from iclab.evidence import Claim, Entry, Figure, Paper
from iclab.papers._rooms import Room, rooms

_T = TypeVar("_T", Claim, Figure)


class UnknownId(ValueError):
    """An id that names nothing; the message says which one may have been meant."""


@dataclass(frozen=True)
class Method:
    """How a result is checked, in the words of the file that checks it."""

    summary: str
    steps: tuple[tuple[str, str], ...]


def select(ids: Sequence[str] = ()) -> tuple[Entry, ...]:
    """Entries that `ids` name, in the papers' order; a paper's key means all of it.

    No ids at all means everything.
    """
    entries = tuple(entry for room in rooms() for entry in room.entries)
    if not ids:
        return entries
    wanted: set[str] = set()
    for word in ids:
        found = [entry.id for entry in entries if word in (entry.id, entry.paper)]
        if not found:
            raise UnknownId(_unknown(word, entries))
        wanted.update(found)
    return tuple(entry for entry in entries if entry.id in wanted)


def room(word: str) -> Room:
    """The room that an id or a key belongs to."""
    key = word.partition("/")[0]
    for one in rooms():
        if one.key == key:
            return one
    keys = [one.key for one in rooms()]
    raise UnknownId(f"unknown paper {word!r}{_suggestion(key, keys)}")


def paper(word: str) -> Paper:
    """The paper that an id or a key belongs to."""
    return room(word).paper


def module_name(entry: Entry) -> str:
    """Module of a result: `zhang2023/theorem-4.1` is in `zhang2023.theorem_4_1`."""
    return room(entry.paper).module(entry)


def load_claim(entry: Entry) -> Claim:
    """The claim behind an entry; this imports what it needs to run."""
    return _loaded(entry, "CLAIM", Claim)


def load_figure(entry: Entry) -> Figure:
    """The figure behind an entry; this imports what it needs to run."""
    return _loaded(entry, "FIGURE", Figure)


def _loaded(entry: Entry, name: str, kind: type[_T]) -> _T:
    found: Any = getattr(importlib.import_module(module_name(entry)), name, None)
    file = room(entry.paper).file(entry).name
    if not isinstance(found, kind):
        raise ValueError(f"{entry.id}: {file} must have {name}, a {kind.__name__}")
    if found.id != entry.base:
        raise ValueError(f"{entry.id}: {name} in {file} has the id {found.id!r}")
    return found


def method(entry: Entry) -> Method:
    """Docstrings of a result's file, read without importing it."""
    tree = ast.parse(room(entry.paper).file(entry).read_text(encoding="utf-8"))
    names = ("predict", "measure", "decoy", "compute", "draw", "expect")
    steps = tuple(
        (node.name, " ".join((ast.get_docstring(node) or "").split()))
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name in names
    )
    return Method(ast.get_docstring(tree) or "", steps)


def _unknown(word: str, entries: Sequence[Entry]) -> str:
    names = [entry.id for entry in entries]
    keys = sorted({entry.paper for entry in entries})
    tails = {name.partition("/")[2]: name for name in names}
    if word in tails:
        return f"unknown id {word!r}: did you mean {tails[word]}?"
    return f"unknown id {word!r}{_suggestion(word, [*keys, *names])}"


def _suggestion(word: str, names: Sequence[str]) -> str:
    import difflib  # for mistakes only

    close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    return (
        f": did you mean {close[0]}?" if close else ": `iclab list` names all of them"
    )
