"""What the pages show: the catalogue's entries, each with its result if it has one."""

import dataclasses
import datetime
import functools
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from iclab.evidence import AS_PRINTED, Entry
from iclab.papers import Method, method, room, rooms, select
from iclab.report._results import Run
from iclab.report._text import duration

# What each verdict means, in the order in which the report names them.
VERDICTS: Mapping[str, str] = {
    "holds": (
        "The prediction lies inside the error bar of the measurement, and a decoy, a"
        " plausible but wrong statement, lies outside. Of a figure: the main sentences"
        " that its paper says of it are seen."
    ),
    "corrected": (
        "The statement fails as printed and holds as corrected; both were run. Of a"
        " figure: a sentence of its paper is not seen, sizes and settings are not to"
        " blame, and what we find is there."
    ),
    "fails": (
        "The prediction lies outside the error bar, or what we find in a figure is not"
        " there."
    ),
    "undecided": (
        "The error bar is too wide to tell the statement from its decoy, or the"
        " program stopped with an error."
    ),
    "exploratory": (
        "Of a figure: what we find is there, but a main sentence of its paper is not"
        " seen or not tested at these sizes and settings, which are not the paper's:"
        " they decide nothing. So it is with settings that a user has changed."
    ),
    "missing": "Not run in this folder yet.",
}


@dataclass(frozen=True)
class Item:
    """A claim or a figure, and what the run found."""

    entry: Entry
    record: Mapping[str, Any] | None
    run: Run

    @property
    def verdict(self) -> str:
        """The stored verdict, or `missing`."""
        return "missing" if self.record is None else self.record["verdict"]

    @property
    def error(self) -> str | None:
        """Traceback of an item whose program stopped."""
        return None if self.record is None else self.record.get("error")

    @property
    def name(self) -> str:
        """The id without its paper: the item's place on the paper's page."""
        return self.entry.id.partition("/")[2]

    @property
    def href(self) -> str:
        """Where the item is, from any page of the report."""
        return f"{self.entry.paper}.html#{self.name}"

    @property
    def command(self) -> str:
        """The command that runs the item again as it was run, or that runs it now."""
        verb = "check" if self.entry.kind == "claim" else "reproduce"
        words = ["iclab", verb, self.entry.base, room(self.entry.paper).flag]
        for name, value in self.settings.items():
            given = value.split(",") if name == "weights" else [f"{name}={value}"]
            flag = "--weights" if name == "weights" else "--set"
            words += [word for one in given for word in (flag, shlex.quote(one))]
        words += ["--scale", self.scale, "--seed", str(self.seed)]
        return " ".join(filter(None, words))

    @property
    def scale(self) -> str:
        """Scale of the result, or what the last run would have given it."""
        return self.run.scale if self.record is None else self.record["scale"]

    @property
    def seed(self) -> int:
        """Random seed of the result, or what the last run would have given it."""
        return self.run.seed if self.record is None else self.record["seed"]

    @property
    def finished(self) -> str:
        """When the result was computed."""
        return "" if self.record is None else _moment(self.record.get("finished"))

    @property
    def software(self) -> str:
        """Version and commit of iclab that computed the result."""
        record = self.record or {}
        version = f"iclab {record['iclab']}" if record.get("iclab") else ""
        parts = (version, _commit(record.get("commit")))
        return ", ".join(part for part in parts if part)

    @property
    def differs(self) -> str:
        """What sets the result apart from those of the last run, if anything does."""
        if self.record is None:
            return ""
        parts = [self.scale] if self.scale != self.run.scale else []
        parts += [f"seed {self.seed}"] if self.seed != self.run.seed else []
        return ", ".join(parts)

    @property
    def cases(self) -> Sequence[Mapping[str, Any]]:
        """Cases of the statement that is meant to hold, the most telling first."""
        ours = [case for case in self._cases if not case["case"].startswith(AS_PRINTED)]
        return sorted(ours, key=_telling)

    @property
    def printed(self) -> Sequence[Mapping[str, Any]]:
        """Cases of the statement as printed, or of a slip beside it, which fail."""
        slips = [] if self.record is None else self.record.get("slips", [])
        every = [*self._cases, *slips]
        found = [case for case in every if case["case"].startswith(AS_PRINTED)]
        return [
            {**case, "case": case["case"].removeprefix(AS_PRINTED)} for case in found
        ]

    @property
    def counterexamples(self) -> Sequence[Mapping[str, Any]]:
        """Cases in which the printed statement fails."""
        return [case for case in self.printed if case["verdict"] == "fails"]

    @property
    def said(self) -> Sequence[Mapping[str, Any]]:
        """What the paper says that a reader sees in a figure."""
        return [] if self.record is None else self.record.get("said", [])

    @property
    def _cases(self) -> Sequence[Mapping[str, Any]]:
        return [] if self.record is None else self.record.get("cases", [])

    @property
    def evidence(self) -> Sequence[Mapping[str, Any]]:
        """What we find in a figure, as numbers."""
        return [] if self.record is None else self.record.get("evidence", [])

    @property
    def settings(self) -> Mapping[str, str]:
        """Settings of a figure that are not its own, if it was drawn with such."""
        return {} if self.record is None else self.record.get("settings", {})

    @property
    def missing(self) -> Sequence[str]:
        """What could not be judged in a figure."""
        return [] if self.record is None else self.record.get("missing", [])

    @functools.cached_property
    def files(self) -> Mapping[str, str]:
        """Files of a figure that are there, by their kind: svg, pdf, png, csv."""
        names = [] if self.record is None else self.record.get("files", [])
        kinds = {PurePosixPath(name).suffix[1:]: name for name in names}
        return {
            kind: name
            for kind, name in kinds.items()
            if (self.run.folder / name).is_file()
        }

    @functools.cached_property
    def method(self) -> Method:
        """How the item is checked, in the words of the file that checks it."""
        return method(self.entry)


def _telling(case: Mapping[str, Any]) -> tuple[bool, bool]:
    """What does not hold comes first, and then what had a decoy to reject."""
    return case["verdict"] == "holds", case["decoy"] is None


def items(run: Run) -> list[Item]:
    """Every entry of the catalogue, in the papers' order, with its run's numbers.

    A figure that was drawn with settings of one's own as well is there once more.
    """
    return [item for entry in select() for item in _items_of(entry, run)]


def _items_of(entry: Entry, run: Run) -> list[Item]:
    """An entry, and beside it what was drawn with settings of one's own."""
    others = sorted(id for id in run.records if id.startswith(f"{entry.id}@"))
    found = []
    for id in [entry.id, *others]:
        record = run.records.get(id)
        filled = entry.filled((record or {}).get("numbers", {}))
        found.append(Item(dataclasses.replace(filled, id=id), record, run))
    return found


def opening(run: Run) -> str:
    """The run in a sentence."""
    known = run.facts
    text = f"Run at {run.scale} scale with seed {run.seed}"
    if when := _moment(known.get("started")):
        text += f" on {when}"
    if "seconds" in known:
        text += f" in {duration(known['seconds'])}"
        text += ", mostly with results from before" if _kept(run) else ""
    if machine := _machine(known):
        text += f", on {machine}"
    version = (known.get("versions") or {}).get("iclab")
    text += f", by iclab {version}." if version else "."
    if others := _others(run):
        text += f" Of another scale or seed: {others}."
    return text


def _kept(run: Run) -> bool:
    """Whether the last run can hardly have computed all that is here."""
    capacity = run.facts["seconds"] * (run.facts.get("processes") or math.inf)
    return _work(run) > 2 * capacity


def _work(run: Run) -> float:
    """Seconds that all results took."""
    return sum(record["seconds"] for record in run.records.values())


def _others(run: Run) -> str:
    count = sum(bool(item.differs) for item in items(run))
    return f"{count} result{'' if count == 1 else 's'}" if count else ""


def facts(run: Run) -> list[tuple[str, str]]:
    """What was run, when, on what, in how long: whatever the results say of it."""
    known = run.facts
    versions = dict(known.get("versions") or {})
    software = ", ".join(f"{name} {v}" for name, v in versions.items() if v)
    there = [entry for entry in select() if entry.id in run.records]
    asked = known.get("ids")
    every = len(select())
    found = [
        ("In this folder", f"{len(there)} of {every} results of {len(rooms())} papers"),
        ("Command", "" if asked is None else _command(asked, run)),
        ("Scale, seed", f"{run.scale}, {run.seed}"),
        ("Other scale or seed", _others(run)),
        ("Started", _moment(known.get("started"))),
        ("Finished", _moment(known.get("finished")) or _unfinished(known)),
        ("Took", duration(known["seconds"]) if "seconds" in known else ""),
        ("Work", f"{duration(_work(run))} of computing, results from before included"),
        ("Machine", _machine(known)),
        ("Python", str(known.get("python") or "")),
        ("Software", software),
        ("Commit", _commit(known.get("commit"))),
    ]
    return [(name, text) for name, text in found if text]


def _unfinished(known: Mapping[str, Any]) -> str:
    return "stopped before its end" if known.get("started") else ""


def _command(asked: Sequence[str], run: Run) -> str:
    words = ["iclab", "reproduce", *asked, "--scale", run.scale]
    return " ".join([*words, "--seed", str(run.seed)])


def _machine(known: Mapping[str, Any]) -> str:
    parts = [str(known.get("platform") or "")]
    if cores := known.get("cores"):
        parts.append(f"{cores} core{'' if cores == 1 else 's'}")
    return ", ".join(part for part in parts if part)


def _commit(commit: str | None) -> str:
    if not commit:
        return ""
    changed = commit.endswith("+")
    return commit.rstrip("+")[:12] + (", with changes on top" if changed else "")


def _moment(stamp: str | None) -> str:
    """An ISO time for people; the stored times are in UTC."""
    if not stamp:
        return ""
    time = datetime.datetime.fromisoformat(stamp)
    return f"{time.day} {time:%B %Y, %H:%M} UTC"
