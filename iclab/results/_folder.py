"""A folder of results: read, joined with what a run has found, locked and written."""

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

from iclab import DEFAULT_FOLDER as DEFAULT_FOLDER
from iclab._files import (
    is_signed,
    moment,
    read_inside,
    remove_drafts,
    signed,
    write_inside,
)
from iclab._reader import Json, Seconds, Seed, Whole, checked, is_json, require, short
from iclab.evidence import Scale
from iclab.results._lock import locked
from iclab.results._record import Failure, Record, read_record
from iclab.results._schema import Moment, Wrong, from_json

RESULTS = "results.json"
# The first format had no number; its records did not say their scale.
FORMAT = 2
# Seconds between writes while items end one after the other.
_BETWEEN = 5.0
_WHAT_READING_RAISES = (ValueError, RecursionError, MemoryError)

# Says whether a record is true of the files that are there, and puts them in place.
Settle = Callable[[], bool]


class NoResults(LookupError):
    """A folder without results, or results without what was asked for."""


@checked
@dataclass(frozen=True)
class Facts:
    """How the last run in a folder went; what is not known is None."""

    ids: tuple[str, ...] | None = None
    scale: Scale = "desk"
    seed: Seed = 0
    started: Moment | None = None
    finished: Moment | None = None
    seconds: Seconds | None = None
    cluster: bool | None = None
    processes: Whole | None = None
    cores: Whole | None = None
    python: str | None = None
    platform: str | None = None
    versions: Mapping[str, str | None] | None = None
    commit: str | None = None


@checked
@dataclass(frozen=True)
class Run:
    """What `iclab reproduce` left in a folder, in one run or in several.

    `facts` say how the last run went, and there is a record of every item that any of
    them has finished, with its own scale and seed. `problems` are sentences about what
    is there and cannot be read: the rest is as if that were not.
    """

    folder: Path
    facts: Facts
    records: Mapping[str, Record]
    problems: tuple[str, ...] = ()

    @property
    def scale(self) -> Scale:
        """How much work the last run gave its items."""
        return self.facts.scale

    @property
    def seed(self) -> int:
        """Random seed that the last run gave its items."""
        return self.facts.seed


@checked
def read_run(folder: str | os.PathLike[str]) -> Run:
    """The results that `folder` holds; what cannot be read is named and left out."""
    path = Path(folder) / RESULTS
    found = _object(Path(folder))
    problems: list[str] = []
    records: dict[str, Record] = {}
    for place, value in enumerate(found["results"]):
        try:
            if isinstance(value, dict) and "sha256" not in value:
                raise Wrong("it has no checksum")
            if isinstance(value, dict) and not is_signed(value):
                raise Wrong("it was altered: its checksum does not match")
            record = read_record(value)
            if record.id in records:
                raise Wrong("it is there twice")
            records[record.id] = record
        except _WHAT_READING_RAISES as reason:
            id = value.get("id") if isinstance(value, dict) else None
            name = f" ({short(id)})" if isinstance(id, str) else ""
            text = f"record {place + 1}{name} is left out: {_said(reason)}"
            problems.append(f"{path}: {text}")
    return Run(Path(folder), _facts(found, path, problems), records, tuple(problems))


@checked
def require_results(folder: str | os.PathLike[str]) -> None:
    """See that `folder` has results of ours; each record is read when it is wanted."""
    _object(Path(folder))


@checked
class ResultsFolder:
    """The records of a run, joined with those that the folder has already.

    Several programs may do this at once: each reads, joins and writes while the others
    wait. A later result of an item replaces an earlier one, whatever its scale or seed;
    but where a program has stopped, the result that was there stays, and it is noted
    with it. Records are written in the given `order`, others after these.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        facts: Json,
        order: Iterable[str] = (),
    ):
        self.folder = Path(folder)
        self.path = self.folder / RESULTS
        self._facts = dict(facts)
        self._order = tuple(order)
        self._pending: list[tuple[Record, Settle | None]] = []
        self._written = time.monotonic()
        self._seen: tuple[int, ...] = ()
        self.problems: tuple[str, ...] = ()
        self.records: dict[str, Record] = {}
        self.records = self._read()

    def add(self, record: Record, settle: Settle | None = None) -> None:
        """Keep a record, now or soon.

        `settle` is called when no other program writes here: it puts the item's files
        in their place and says whether the record is true of what is there.
        """
        self._pending.append((record, settle))
        if time.monotonic() - self._written > _BETWEEN:
            self.flush()

    def flush(self, **facts: Any) -> None:
        """Write what has been added, and more facts of the run."""
        require(is_json(facts), "facts", "JSON", short(facts))
        self._facts |= facts
        with locked(self.folder):
            remove_drafts(self.folder)
            records = self._read()
            for record, settle in self._pending:
                if settle is None or settle():
                    records[record.id] = _joined(records.get(record.id), record)
            ordered = [signed(one.json()) for one in self._ordered(records)]
            run = {"format": FORMAT, **self._facts, "results": ordered}
            text = json.dumps(run, indent=1, ensure_ascii=False)
            write_inside(self.folder, RESULTS, text + "\n", durable=True)
            self._seen = self._look()
        self.records = records
        self._pending = []
        self._written = time.monotonic()

    def _read(self) -> dict[str, Record]:
        """The records that are there; those known already if nobody wrote since."""
        seen = self._look()
        if not seen:
            return {}
        if seen == self._seen:
            return dict(self.records)
        run = read_run(self.folder)
        self.problems = self.problems or run.problems
        self._seen = seen
        return dict(run.records)

    def _look(self) -> tuple[int, ...]:
        """What tells one file of results from the next; nothing if there is none."""
        try:
            facts = self.path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return ()
        return facts.st_mode, facts.st_ino, facts.st_size, facts.st_mtime_ns

    def _ordered(self, records: Mapping[str, Record]) -> list[Record]:
        others = sorted(set(records) - set(self._order))
        return [records[id] for id in [*self._order, *others] if id in records]


def _joined(before: Record | None, after: Record) -> Record:
    """The record to keep of two: an error of the program replaces no result."""
    if before is None or before.failed or not after.failed:
        return after
    error = after.error or ""
    later = Failure(error, after.finished, after.iclab, after.commit)
    return replace(before, later=later)


def _object(folder: Path) -> Mapping[str, Any]:
    """What results.json holds, so far as it is ours: an object with a list in it."""
    path = folder / RESULTS
    try:
        content = read_inside(folder, RESULTS)
    except (FileNotFoundError, NotADirectoryError):
        remedy = f"`iclab reproduce --out {folder}` writes them"
        raise NoResults(f"no results in {folder}: {remedy}") from None
    except OSError as error:
        raise NoResults(f"cannot read {path}: {error.strerror}") from None
    found: Any
    try:
        found = json.loads(content.decode("utf-8"))
    except _WHAT_READING_RAISES as reason:
        raise _not_ours(path, f"it is not JSON ({_said(reason)})") from None
    if not isinstance(found, dict):
        raise _not_ours(path, f"it must be an object, got {short(found)}")
    format, records = found.get("format"), found.get("results")
    if isinstance(format, bool) or not isinstance(format, int | None):
        raise _not_ours(path, f"`format` must be {FORMAT}, got {short(format)}")
    if format in (FORMAT, None) and not isinstance(records, list):
        raise _not_ours(path, f"`results` must be a list, got {short(records)}")
    if format != FORMAT:
        raise NoResults(
            f"{path} is of another version of iclab (format {short(format or 1)}, here"
            f" {FORMAT}): move it away, or use another folder"
        )
    return found


def _not_ours(path: Path, reason: str) -> NoResults:
    remedy = "move it away, and `iclab reproduce` writes it again from its cache"
    return NoResults(f"{path} is not what `iclab reproduce` writes: {reason}; {remedy}")


def _facts(found: Mapping[str, Any], path: Path, problems: list[str]) -> Facts:
    """Facts of the last run; one that cannot be read is named, and not known."""
    hints = get_type_hints(Facts, include_extras=True)
    known: dict[str, Any] = {}
    for name in [one.name for one in fields(Facts) if one.name in found]:
        try:
            known[name] = from_json(found[name], hints[name], name)
        except _WHAT_READING_RAISES as reason:
            problems.append(f"{path}: {_said(reason)}; going on without")
    started, finished = known.get("started"), known.get("finished")
    if started and finished and moment(finished) < moment(started):
        text = f"`finished` must not be before `started`, got {finished}"
        problems.append(f"{path}: {text}; going on without")
        del known["finished"]
    return Facts(**known)


def _said(reason: Exception) -> str:
    if isinstance(reason, RecursionError):
        return "it is nested too deeply"
    if isinstance(reason, MemoryError):
        return "it is too large"
    return " ".join(str(reason).split())


@checked
def first(problems: Sequence[str], most: Whole = 10) -> list[str]:
    """The first of many sentences, and how many there are besides."""
    rest = len(problems) - most
    return [*problems[:most], *([f"and {rest} more like these"] if rest > 0 else [])]
