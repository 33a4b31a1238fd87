"""Everything that can be checked or drawn, by id; reading this runs nothing."""

import ast
import difflib
import importlib
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from iclab.evidence import Claim, Entry, Figure, Paper
from iclab.papers._bibliography import PAPERS
from iclab.papers.ahn2023.contents import ENTRIES as AHN2023
from iclab.papers.gatmiry2024.contents import ENTRIES as GATMIRY2024
from iclab.papers.yang2024.contents import ENTRIES as YANG2024
from iclab.papers.zhang2023.contents import ENTRIES as ZHANG2023

ENTRIES: tuple[Entry, ...] = (*ZHANG2023, *AHN2023, *YANG2024, *GATMIRY2024)


class UnknownId(ValueError):
    """An id that names nothing; the message says which one may have been meant."""


@dataclass(frozen=True)
class Method:
    """How a result is checked, in the words of the file that checks it."""

    summary: str
    steps: tuple[tuple[str, str], ...]


def select(ids: Sequence[str]) -> tuple[Entry, ...]:
    """Entries that `ids` name, in the papers' order; a paper's key means all of it.

    No ids at all means everything.
    """
    if not ids:
        return ENTRIES
    wanted: set[str] = set()
    for word in ids:
        found = [entry.id for entry in ENTRIES if word in (entry.id, entry.paper)]
        if not found:
            raise UnknownId(_unknown(word))
        wanted.update(found)
    return tuple(entry for entry in ENTRIES if entry.id in wanted)


def paper(word: str) -> Paper:
    """The paper that an id or a key belongs to."""
    key = word.partition("/")[0]
    for one in PAPERS:
        if one.key == key:
            return one
    keys = [one.key for one in PAPERS]
    raise UnknownId(f"unknown paper {word!r}{_suggestion(key, keys)}")


def module_name(entry: Entry) -> str:
    """Module of a result: `zhang2023/theorem-4.1` is in `zhang2023.theorem_4_1`."""
    tail = entry.id.partition("/")[2].replace("-", "_").replace(".", "_")
    return f"iclab.papers.{entry.paper}.{tail}"


def load_claim(entry: Entry) -> Claim:
    """The claim behind an entry; this imports what it needs to run."""
    return importlib.import_module(module_name(entry)).CLAIM


def load_figure(entry: Entry) -> Figure:
    """The figure behind an entry; this imports what it needs to run."""
    return importlib.import_module(module_name(entry)).FIGURE


def method(entry: Entry) -> Method:
    """Docstrings of a result's file, read without importing it."""
    spec = importlib.util.find_spec(module_name(entry))
    assert spec is not None
    assert spec.origin is not None
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    names = ("predict", "measure", "decoy", "compute", "draw", "expect")
    steps = tuple(
        (node.name, " ".join((ast.get_docstring(node) or "").split()))
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name in names
    )
    return Method(ast.get_docstring(tree) or "", steps)


def _unknown(word: str) -> str:
    names = [entry.id for entry in ENTRIES]
    keys = sorted({entry.paper for entry in ENTRIES})
    tails = {name.partition("/")[2]: name for name in names}
    if word in tails:
        return f"unknown id {word!r}: did you mean {tails[word]}?"
    return f"unknown id {word!r}{_suggestion(word, [*keys, *names])}"


def _suggestion(word: str, names: Sequence[str]) -> str:
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    return (
        f": did you mean {close[0]}?" if close else ": `iclab list` names all of them"
    )
