"""`results.json`: a record of every item that was ever run in a folder."""

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from iclab import papers
from iclab.cli._mistake import UserMistake, writing
from iclab.report import FORMAT, RESULTS, NoResults, locked, read_run, write_whole

# Seconds between writes while items end one after the other.
_BETWEEN = 5.0

Record = Mapping[str, Any]


class ResultsFile:
    """The records of this run, joined with those that the folder has already.

    Several programs may do this at once: each reads, joins and writes while the others
    wait. A later result of an item replaces an earlier one, whatever its scale or seed.
    """

    def __init__(self, folder: Path, facts: Mapping[str, Any]):
        self.folder = folder
        self.path = folder / RESULTS
        self._facts = dict(facts)
        self._pending: list[tuple[Record, Callable[[], bool] | None]] = []
        self._written = time.monotonic()
        self.records = self._read()

    def add(self, record: Record, settle: Callable[[], bool] | None = None) -> None:
        """Keep a record, now or soon.

        `settle` is called when no other program writes here: it puts the item's files
        in their place and says whether the record is true of what is there.
        """
        self._pending.append((record, settle))
        if time.monotonic() - self._written > _BETWEEN:
            self.flush()

    def flush(self, **facts: Any) -> None:
        """Write what has been added, and more facts of the run."""
        self._facts |= facts
        with writing(f"to {self.folder}"), locked(self.folder):
            records = self._read()
            for record, settle in self._pending:
                if settle is None or settle():
                    records[record["id"]] = record
            run = {"format": FORMAT, **self._facts, "results": _ordered(records)}
            text = json.dumps(run, indent=1, ensure_ascii=False)
            write_whole(self.path, text + "\n", durable=True)
        self.records = records
        self._pending = []
        self._written = time.monotonic()

    @property
    def missing(self) -> int:
        """How many items have no record here."""
        return sum(entry.id not in self.records for entry in papers.select())

    def _read(self) -> dict[str, Record]:
        if not self.path.exists():
            return {}
        try:
            return dict(read_run(self.folder).records)
        except NoResults as reason:
            raise UserMistake(str(reason)) from None


def _ordered(records: Mapping[str, Record]) -> list[Record]:
    """Records in the papers' order; items that this version does not know come last."""
    known = [entry.id for entry in papers.select()]
    unknown = sorted(set(records) - set(known))
    return [records[id] for id in [*known, *unknown] if id in records]
