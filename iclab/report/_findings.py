"""Records that show themselves in a notebook, as the report shows them."""

import base64
import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

from iclab._files import read_inside
from iclab._reader import checked
from iclab.evidence import ERRATUM_CLASSES, Entry
from iclab.papers import UnknownId, select
from iclab.report._build import asset, environment
from iclab.report._items import Item
from iclab.results import Facts, Record, Run


@checked
@dataclass(frozen=True, eq=False, kw_only=True)
class Finding(Record):
    """A record, and the folder that has its pictures.

    It is equal to the record of the same run. A notebook shows it with its verdict, its
    numbers and its picture.
    """

    folder: Path | None = None

    @classmethod
    def of(cls, record: Record, folder: Path | None = None) -> "Finding":
        """The same record, with a folder."""
        own = {
            field.name: getattr(record, field.name)
            for field in dataclasses.fields(Record)
        }
        return cls(**own, folder=folder)

    def __repr__(self) -> str:
        return f"<{self.id}: {self.verdict}>"

    def _repr_html_(self) -> str:
        return _html([self])


@checked
class Findings(Sequence[Finding]):
    """What a run has found, in the papers' order; one of them also by its id.

    `page` is the first page of the report, where there is one.
    """

    def __init__(
        self,
        records: Iterable[Record],
        folder: Path | None = None,
        page: Path | None = None,
    ):
        self._found = tuple(Finding.of(record, folder) for record in records)
        self.page = page

    @overload
    def __getitem__(self, place: int | str) -> Finding: ...
    @overload
    def __getitem__(self, place: slice) -> "Findings": ...
    def __getitem__(self, place: int | str | slice) -> "Finding | Findings":
        if isinstance(place, slice):
            some = Findings((), page=self.page)
            some._found = self._found[place]
            return some
        if isinstance(place, int):
            return self._found[place]
        for one in self._found:
            if one.id == place:
                return one
        there = ", ".join(one.id for one in self._found)
        raise KeyError(f"{place} is not here: there is {there}")

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._found)

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdict of every item, by id."""
        return {one.id: one.verdict for one in self}

    @property
    def good(self) -> bool:
        """Whether every verdict counts as success."""
        return all(one.good for one in self)

    def __repr__(self) -> str:
        return f"Findings({self.verdicts})"

    def _repr_html_(self) -> str:
        return _html(self._found)


def _html(found: Sequence[Finding]) -> str:
    """Records on a page of their own style, without a file beside them."""
    pages = environment()
    pages.globals |= {"classes": ERRATUM_CLASSES}
    css = asset("findings.css", ".iclab-findings")
    items = [(item := _item(one), _picture(item)) for one in found]
    return pages.get_template("findings.html").render(items=items, css=css)


def _item(record: Finding) -> Item:
    """The record with its entry; of an unknown paper, with what it says itself."""
    try:
        (entry,) = select([record.id.partition("@")[0]])
        entry = dataclasses.replace(record.with_numbers(entry), id=record.id)
    except UnknownId:
        entry = Entry(record.id, record.kind, record.id, record.statement)
    run = Run(record.folder or Path(), Facts(), {record.id: record})
    return Item(entry, record, run)


def _picture(item: Item) -> str | None:
    """A figure's picture as an address that needs no file."""
    record = item.record
    if not isinstance(record, Finding) or record.folder is None:
        return None
    if (name := item.files.get("svg")) is None:
        return None
    data = base64.b64encode(read_inside(record.folder, name)).decode()
    return f"data:image/svg+xml;base64,{data}"
