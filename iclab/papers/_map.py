"""The map of a paper: all that it asserts, in its order, and what answers it."""

import re
import tomllib
from dataclasses import dataclass
from typing import Any

from iclab._reader import checked, read
from iclab.papers._opening import OpenPaper

MAP = "map.toml"


@checked
@dataclass(frozen=True)
class Statement:
    """A sentence or a display of a paper, in a few words of ours.

    `at` says where it stands in its section. `by` names the entries that answer it;
    `note` says why there are none, or what they leave open.
    """

    at: str
    says: str
    by: tuple[str, ...] = ()
    note: str = ""

    def __post_init__(self):
        if not self.at or not self.says:
            raise ValueError(f"{self.at or self.says}: `at` and `says` must be there")
        if not self.by and not self.note:
            raise ValueError(f"{self.at}: `by` names an entry, or `note` says why not")


@checked
@dataclass(frozen=True)
class Section:
    """A section of a paper and what it asserts, in its order."""

    title: str
    statements: tuple[Statement, ...]


@checked
@dataclass(frozen=True)
class PaperMap:
    """All that a paper asserts; `complete` once every entry has its place in it."""

    sections: tuple[Section, ...]
    complete: bool

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The statements of all sections, in the paper's order."""
        return tuple(one for section in self.sections for one in section.statements)


@checked
def paper_map(opened: OpenPaper) -> PaperMap | None:
    """The map of a paper, from `map.toml` in its folder; None if it has none."""
    file = opened.folder / MAP
    if not file.is_file():
        return None
    try:
        return _read(tomllib.loads(file.read_text(encoding="utf-8")), opened.key)
    except ValueError as wrong:
        raise ValueError(f"{opened.key}/{MAP}: {wrong}") from None


def _read(found: dict[str, Any], key: str) -> PaperMap:
    sections = read(found.get("section"), list[dict[str, Any]], "section")
    complete = read(found.get("complete", True), bool, "complete")
    return PaperMap(tuple(_section(one, key) for one in sections), complete)


def _section(found: dict[str, Any], key: str) -> Section:
    title = read(found.get("title"), str, "title")
    rows = read(found.get("rows"), list[dict[str, Any]], f"rows of {title}")
    try:
        return Section(title, tuple(_statement(row, key) for row in rows))
    except (TypeError, ValueError) as wrong:
        raise ValueError(f"{title}: {wrong}") from None


def _statement(row: dict[str, Any], key: str) -> Statement:
    named = row.pop("by", [])
    names = read([named] if isinstance(named, str) else named, list[str], "by")
    return Statement(**row, by=tuple(f"{key}/{name}" for name in names))


@checked
def numbers_of(locator: str) -> list[tuple[str, tuple[int, ...]]]:
    """Numbers in a place of a paper: `Lemma C.2, (C.9)–(C.11)` is C.2, C.9, C.11."""
    found = re.findall(r"(?<![\w.])(?:([A-Z])\.?)?(\d+(?:\.\d+)*)", locator)
    return [
        (letter, tuple(int(part) for part in digits.split(".")))
        for letter, digits in found
    ]
