"""What the pages show: the catalogue's entries, each with its result if it has one."""

import dataclasses
import datetime
import functools
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from iclab._files import read_inside, sha256
from iclab.evidence import CaseResult, Entry, Evidence, Sentence
from iclab.papers import Method, every_paper, find_paper, method, select
from iclab.report._svg import does_more
from iclab.results import Facts, Record, Run, Wrong, checksums, first
from iclab.show import counted, duration, of

# What each verdict means, in the order in which the report names them.
VERDICTS: Mapping[str, str] = {
    "holds": (
        "The prediction lies inside the error bar of the measurement, and a decoy, a"
        " plausible but wrong statement, lies outside. Of a figure: its paper's main"
        " statements about it are confirmed."
    ),
    "corrected": (
        "The statement fails as printed and holds as corrected; both were run. Of a"
        " figure: a sentence of its paper is not confirmed, sizes and settings are not"
        " why, and what we find is there."
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
        " confirmed or not tested at these sizes and settings, which are not the"
        " paper's: they decide nothing. So it is with settings that a user has changed."
    ),
    "missing": (
        "Listed in the contents of its paper, and not run into this folder yet. That is"
        " no verdict: a run of one paper leaves the others missing."
    ),
}

# What the time of a result is.
TIMES = "Those of a result's jobs together, which may run side by side."


@dataclass(frozen=True)
class Item:
    """A claim or a figure, and what the run found."""

    entry: Entry
    record: Record | None
    run: Run

    @property
    def verdict(self) -> str:
        """The stored verdict, or `missing`."""
        return "missing" if self.record is None else self.record.verdict

    @property
    def error(self) -> str | None:
        """Traceback of an item whose program stopped."""
        return None if self.record is None else self.record.error

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
        words = ["iclab", verb, self.entry.base, find_paper(self.entry.paper).flag]
        for name, value in self.settings.items():
            given = value.split(",") if name == "weights" else [f"{name}={value}"]
            flag = "--weights" if name == "weights" else "--set"
            words += [word for one in given for word in (flag, shlex.quote(one))]
        words += ["--scale", self.scale, "--seed", str(self.seed)]
        return " ".join(filter(None, words))

    @property
    def scale(self) -> str:
        """Scale of the result, or what the last run would have given it."""
        return self.run.scale if self.record is None else self.record.scale

    @property
    def seed(self) -> int:
        """Random seed of the result, or what the last run would have given it."""
        return self.run.seed if self.record is None else self.record.seed

    @property
    def finished(self) -> str:
        """When the result was computed."""
        return "" if self.record is None else _moment(self.record.finished)

    @property
    def software(self) -> str:
        """Version and commit of iclab that computed the result."""
        return "" if self.record is None else _software(self.record)

    @property
    def differs(self) -> str:
        """What sets the result apart from those of the last run, if anything does."""
        if self.record is None:
            return ""
        parts = [self.scale] if self.scale != self.run.scale else []
        parts += [f"seed {self.seed}"] if self.seed != self.run.seed else []
        return ", ".join(parts)

    @property
    def later(self) -> str | None:
        """Traceback of a later attempt that stopped."""
        return self._of("later") and self._of("later").error

    @property
    def cases(self) -> Sequence[CaseResult]:
        """Cases of the statement that is meant to hold, the most telling first."""
        ours = [case for case in self._of("cases", ()) if not case.printed]
        return sorted(ours, key=_telling)

    @property
    def printed(self) -> Sequence[CaseResult]:
        """Cases of the statement as printed, or of a slip beside it, which fail."""
        every = [*self._of("cases", ()), *self._of("slips", ())]
        return [case for case in every if case.printed]

    @property
    def counterexamples(self) -> Sequence[CaseResult]:
        """Cases in which the printed statement fails."""
        return [case for case in self.printed if case.verdict == "fails"]

    @property
    def paper_statements(self) -> Sequence[Sentence]:
        """What the paper says that a reader sees in a figure."""
        return self._of("paper_statements", ())

    @property
    def evidence(self) -> Sequence[Evidence]:
        """What we find in a figure, as numbers."""
        return self._of("evidence", ())

    @property
    def settings(self) -> Mapping[str, str]:
        """Settings of a figure that are not its own, if it was drawn with such."""
        return self._of("settings", {})

    @property
    def missing(self) -> Sequence[str]:
        """What could not be judged in a figure."""
        return self._of("missing", ())

    def _of(self, name: str, otherwise: Any = None) -> Any:
        return otherwise if self.record is None else getattr(self.record, name)

    @property
    def files(self) -> Mapping[str, str]:
        """Files of a figure that are there as written, by kind: svg, pdf, png, csv."""
        return self._files[0]

    @property
    def left_out(self) -> Sequence[str]:
        """Sentences about files that are there and are not shown."""
        return self._files[1]

    @functools.cached_property
    def _files(self) -> tuple[Mapping[str, str], Sequence[str]]:
        if self.record is None:
            return {}, []
        return sound_files(self.run.folder, self.record)

    @functools.cached_property
    def method(self) -> Method:
        """How the item is checked, in the words of the file that checks it."""
        return method(self.entry)


def sound_files(folder: Path, record: Record) -> tuple[dict[str, str], list[str]]:
    """Files of a figure that may be shown, by kind; what is wrong with others.

    A checksum vouches for each of them, and a picture in SVG does nothing but show.
    """
    if not record.files:
        return {}, []
    try:
        sums = checksums(folder, record)
    except Wrong as reason:
        path = folder / "figures" / f"{record.id}.json"
        return {}, [f"{path}: {reason}; its pictures are left out"]
    found, problems, unknown = {}, [], False
    for name in record.files:
        kind = PurePosixPath(name).suffix[1:]
        try:
            data = read_inside(folder, name)
        except FileNotFoundError:
            continue
        except OSError as error:
            problems.append(f"{error.strerror}, and is left out")
            continue
        if name not in sums:
            unknown = True
        elif sha256(data) != sums[name]:
            text = "it is not as it was written, and is left out"
            problems.append(f"{folder / name}: {text}")
        elif kind == "svg" and (odd := does_more(data)):
            problems.append(f"{folder / name}: it has {odd}, and is left out")
        else:
            found[kind] = name
    if unknown:
        problems.append(
            f"{folder}: the pictures of {record.id} have no checksums and are left"
            f" out; `iclab reproduce {record.id}` draws them again"
        )
    return found, problems


def _telling(case: CaseResult) -> tuple[bool, bool]:
    """What does not hold comes first, and then what had a decoy to reject."""
    return case.verdict == "holds", case.decoy is None


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
        told = entry.filled({}) if record is None else record.with_numbers(entry)
        found.append(Item(dataclasses.replace(told, id=id), record, run))
    return found


def opening(run: Run) -> str:
    """The run in a sentence."""
    known = run.facts
    text = f"Run at {run.scale} scale with seed {run.seed}"
    if when := _moment(known.started):
        text += f" on {when}"
    if known.seconds is not None:
        text += f" in {duration(known.seconds)}"
        text += ", mostly with cached results" if _kept(run) else ""
    if machine := _machine(known):
        text += f", on {machine}"
    version = (known.versions or {}).get("iclab")
    text += f", by iclab {version}." if version else "."
    if others := _others(run):
        text += f" Of another scale or seed: {others}."
    return text


def _kept(run: Run) -> bool:
    """Whether the last run can hardly have computed all that is here."""
    seconds = run.facts.seconds or 0.0
    return _work(run) > 2 * seconds * (run.facts.processes or math.inf)


def _work(run: Run) -> float:
    """Seconds that all results took."""
    return sum(record.seconds for record in run.records.values())


def _others(run: Run) -> str:
    count = sum(bool(item.differs) for item in items(run))
    return counted(count, "result") if count else ""


def facts(run: Run) -> list[tuple[str, str]]:
    """What was run, when, on what, in how long: whatever the results say of it."""
    known = run.facts
    versions = (known.versions or {}).items()
    software = ", ".join(f"{name} {v}" for name, v in versions if v)
    there = [entry for entry in select() if entry.id in run.records]
    took = "" if known.seconds is None else duration(known.seconds)
    every = len(select())
    found = [
        (
            "In this folder",
            f"{of(len(there), every, 'result')}"
            f" in {counted(len(every_paper()), 'paper')}",
        ),
        ("Left out", " · ".join(first(run.problems))),
        ("Command", "" if known.ids is None else _command(known.ids, run)),
        ("Scale, seed", f"{run.scale}, {run.seed}"),
        ("Other scale or seed", _others(run)),
        ("Started", _moment(known.started)),
        ("Finished", _moment(known.finished) or _unfinished(known)),
        ("Took", took),
        ("Work", f"{duration(_work(run))} of computing, cached results included"),
        ("Times", TIMES),
        ("Machine", _machine(known)),
        ("Python", known.python or ""),
        ("Software", software),
        ("Commit", _commit(known.commit)),
    ]
    return [(name, text) for name, text in found if text]


def _unfinished(known: Facts) -> str:
    return "stopped before its end" if known.started else ""


def _command(asked: Sequence[str], run: Run) -> str:
    words = ["iclab", "reproduce", *asked, "--scale", run.scale]
    return " ".join([*words, "--seed", str(run.seed)])


def _machine(known: Facts) -> str:
    parts = [known.platform or ""]
    if cores := known.cores:
        parts.append(counted(cores, "core"))
    return ", ".join(part for part in parts if part)


def _software(record: Record) -> str:
    version = f"iclab {record.iclab}" if record.iclab else ""
    return ", ".join(part for part in (version, _commit(record.commit)) if part)


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
