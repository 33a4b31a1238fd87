"""Everything that can be checked or drawn, by id; reading this runs nothing."""

import ast
import importlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iclab._reader import checked, require
from iclab.evidence import Claim, Entry, Figure, Paper, figure_of, is_key
from iclab.papers._calls import theory_calls
from iclab.papers._found import found_claim
from iclab.papers._opening import OpenPaper, every_paper, why_closed
from iclab.runs import VARIABLE

# How alike the key of another paper must be to be meant: years make all of them alike.
_ALIKE = 0.75


# The number of an equation, as a locator has it.
_NUMBERED = r"\(((?:[A-Z0-9]+\.)?\d+)\)"


class UnknownId(ValueError):
    """An id that names nothing; the message says which one may have been meant."""


@checked
@dataclass(frozen=True)
class Method:
    """How a result is checked, in the words of the file that checks it.

    `theory` names the functions of `iclab.theory` behind its prediction.
    """

    summary: str
    steps: tuple[tuple[str, str], ...]
    file: Path
    theory: tuple[str, ...] = ()


@checked
def select(ids: Sequence[str] = ()) -> tuple[Entry, ...]:
    """Entries that `ids` name, in the papers' order; a paper's key means all of it.

    `key/equation-4.1` is also what has (4.1) in its locator. No ids at all means
    everything.
    """
    entries = tuple(entry for opened in every_paper() for entry in opened.entries)
    if not ids:
        return entries
    wanted: set[str] = set()
    for word in ids:
        found = [entry.id for entry in entries if word in (entry.id, entry.paper)]
        found = found or [one.id for one in entries if _has_equation(one, word)]
        if not found:
            raise UnknownId(_unknown(word, entries))
        wanted.update(found)
    return tuple(entry for entry in entries if entry.id in wanted)


@checked
def find_paper(word: str) -> OpenPaper:
    """The paper that an id or a key belongs to."""
    key = word.partition("/")[0]
    for one in every_paper():
        if one.key == key:
            return one
    keys = [one.key for one in every_paper()]
    reason = why_closed(word)
    hint = f": {reason}" if reason else _suggestion(key, keys, _ALIKE)
    raise UnknownId(f"unknown paper {word!r}{hint}")


@checked
def paper(word: str) -> Paper:
    """The paper that an id or a key belongs to."""
    return find_paper(word).paper


@checked
def module_name(entry: Entry) -> str:
    """Module of a result: `zhang2023/theorem-4.1` is in `zhang2023.theorem_4_1`."""
    return find_paper(entry.paper).module(entry)


@checked
def load_claim(entry: Entry) -> Claim:
    """The claim behind an entry; this imports what it needs to run."""
    require(entry.kind == "claim", "entry", "a claim", entry.id)
    return found_claim(module_name(entry), **contents_say(entry))


@checked
def load_figure(entry: Entry) -> Figure:
    """The figure behind an entry; this imports what it needs to run."""
    require(entry.kind == "figure", "entry", "a figure", entry.id)
    return figure_of(importlib.import_module(module_name(entry)), entry.base)


def contents_say(entry: Entry) -> dict[str, Any]:
    """What a claim's file must agree with, in plain values."""
    return {
        "id": entry.base,
        "erratum": entry.erratum is not None,
        "remark": entry.remark is not None,
    }


@checked
def method(entry: Entry) -> Method:
    """Docstrings of a result's file, read without importing it."""
    own = find_paper(entry.paper)
    file = own.file(entry)
    tree = ast.parse(file.read_text(encoding="utf-8"))
    names = ("predict", "measure", "decoy", "compute", "draw", "expect")
    steps = tuple(
        (node.name, " ".join((ast.get_docstring(node) or "").split()))
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name in names
    )
    theory = theory_calls(file, own.package)
    return Method(ast.get_docstring(tree) or "", steps, file, theory)


def _has_equation(entry: Entry, word: str) -> bool:
    """Whether `key/equation-4.1` is in an entry's locator, by itself or in a range."""
    asked = re.fullmatch(r"([^/]+)/(?:eq|equation)-(.+)", word)
    if asked is None or asked[1] != entry.paper:
        return False
    part, number = _equation(asked[2])
    ranges = re.finditer(rf"{_NUMBERED}(?:[–-]{_NUMBERED})?", entry.locator)
    for first, last in (found.groups() for found in ranges):
        start, end = _equation(first), _equation(last or first)
        if start[0] == end[0] == part and start[1] <= number <= end[1]:
            return True
    return False


def _equation(words: str) -> tuple[str, int]:
    """`C.13` is number 13 of part C; -1 is no number."""
    part, _, number = words.lower().rpartition(".")
    return part, int(number) if number.isdigit() else -1


def _unknown(word: str, entries: Sequence[Entry]) -> str:
    names = [entry.id for entry in entries]
    keys = sorted({entry.paper for entry in entries})
    tails = {name.partition("/")[2]: name for name in names}
    key = word.partition("/")[0]
    reason = why_closed(word)
    if reason is not None:
        hint = f": {reason}"
    elif word in tails:
        hint = f": did you mean {tails[word]}?"
    elif "/" in word and key not in keys:
        # Nothing like it in another paper is meant, but perhaps its key.
        hint = _suggestion(key, keys, _ALIKE)
    else:
        hint = _suggestion(word, [*keys, *names])
    return f"unknown id {word!r}{hint}"


def _suggestion(word: str, names: Sequence[str], alike: float = 0.5) -> str:
    import difflib  # for mistakes only

    close = difflib.get_close_matches(word, names, n=1, cutoff=alike)
    if close:
        return f": did you mean {close[0]}?"
    if is_key(word) and word not in names:
        own = f"--paper DIR or {VARIABLE} the folder of a paper of your own"
        return f": `iclab list` names all of them, {own}"
    return ": `iclab list` names all of them"
