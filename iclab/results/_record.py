"""A record: what a claim or a figure has come to, or what stopped it."""

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Annotated, Any

import numpy as np

from iclab._reader import Json, Rule, Seconds, Seed, checked, require, short
from iclab.evidence import (
    GOOD_VERDICTS,
    CaseResult,
    Entry,
    ErratumClass,
    Evidence,
    Kind,
    Measured,
    Scale,
    Sentence,
    Verdict,
    bars_off,
    case_verdict,
    claim_verdict,
    figure_verdict,
    file_stem,
)
from iclab.results._scatter import Scatter
from iclab.results._schema import Digest, Moment, Text, Wrong, from_json

# Kinds of files that a figure has.
FILE_KINDS = ("svg", "pdf", "png", "csv")

_ID = re.compile(r"[A-Za-z0-9_-]+/[A-Za-z0-9][A-Za-z0-9._-]*(@[A-Za-z0-9_.,=+-]+)?")
Id = Annotated[str, Rule("like zhang2023/theorem-4.1", _ID.fullmatch)]
# A line of a traceback that names a place; a mistake of syntax is in no function.
_FRAME = re.compile(r'^ *File "(.+)", line (\d+)(?:, in ([\w<>.]+))?$', re.M)
# Numbers of a case are rounded when they are written; a verdict on the very edge of an
# error bar may then come out otherwise.
_EDGE = 1e-6
# Texts of an entry that a claim's record has, too.
_TEXTS = ("statement", "correction", "erratum", "erratum_class", "remark", "credit")
# Fields as JSON has them, in this order.
_FIRST = ("id", "kind", "verdict", "statement")
_OF_KIND = {"claim": ("correction", "cases"), "figure": ("evidence", "files")}
_OF_FINISHED = {
    "claim": ("numbers", "slips", *_TEXTS[2:]),
    "figure": ("paper_statements", "numbers"),
}
_IF_ANY = ("error", "settings", "missing", "jobs", "later", "scatter")
_MADE = ("scale", "finished", "iclab", "commit")
# Of a case with many numbers, the one farthest out.
_FARTHEST = "distance to the prediction, in error bars, largest"


@checked
@dataclass(frozen=True, eq=False, kw_only=True)
class Record:
    """What a claim or a figure has come to when it was last run.

    A claim has `cases` (and `slips` nearby), a figure has `evidence`, its
    `paper_statements` and `files`. A failure has an `error`, the traceback of what
    stopped the program, and decides nothing. `numbers` are those that texts quote,
    `missing` is what a figure's tables could not show, `settings` are those that are
    not the figure's own, and `jobs` names the tables in the store. `later` is what
    stopped a later attempt at an item that has this good record. `scatter` is how the
    item ends with several seeds, of which `seed` is the first.
    """

    id: Id
    kind: Kind
    verdict: Verdict
    statement: Text
    seconds: Seconds
    seed: Seed
    scale: Scale
    correction: Text | None = None
    erratum: Text | None = None
    erratum_class: ErratumClass | None = None
    remark: Text | None = None
    credit: Text | None = None
    cases: tuple[CaseResult, ...] = ()
    slips: tuple[CaseResult, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    paper_statements: tuple[Sentence, ...] = ()
    missing: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    numbers: Json = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    jobs: Mapping[str, Digest] = field(default_factory=dict)
    error: Text | None = None
    later: "Failure | None" = None
    scatter: Scatter | None = None
    finished: Moment | None = None
    iclab: str | None = None
    commit: str | None = None

    @property
    def paper(self) -> str:
        """Key of the paper: the part of the id before the slash."""
        return self.id.partition("/")[0]

    @property
    def is_variant(self) -> bool:
        """Whether this is a figure with settings that are not its own."""
        return "@" in self.id

    @property
    def failed(self) -> bool:
        """Whether the program stopped, so that nothing was decided."""
        return self.error is not None

    @property
    def every_case(self) -> tuple[CaseResult, ...]:
        """The cases, and those of slips nearby."""
        return (*self.cases, *self.slips)

    @property
    def tests(self) -> tuple[Evidence, ...]:
        """The evidence, and the tests of what the paper says."""
        return (
            *self.evidence,
            *(test for one in self.paper_statements for test in one.tests),
        )

    @property
    def good(self) -> bool:
        """Whether the verdict counts as success, with every seed that was tried."""
        if self.scatter is not None:
            return self.scatter.good == len(self.scatter.seeds)
        return self.verdict in GOOD_VERDICTS

    @property
    def reason(self) -> str:
        """What the traceback of a failure comes down to, in a line.

        With the last line of the item's own code, or of what lies beside it, if it went
        through that.
        """
        error = self.error or ""
        place = _place(error, self.id)
        return f"{last_line(error)} ({place})" if place else last_line(error)

    def file(self, kind: str) -> str | None:
        """Name of a figure's file, in the folder of results; None if there is none."""
        found = [name for name in self.files if name.endswith(f".{kind}")]
        return found[0] if found else None

    def with_numbers(self, entry: Entry) -> Entry:
        """The entry with the numbers of this record in its texts.

        Without them where they are not such as the texts ask for.
        """
        try:
            return entry.filled(self.numbers)
        except (ValueError, TypeError, LookupError, AttributeError):
            return entry.filled({})

    def json(self) -> dict[str, Any]:
        """The record as the JSON object that the command line prints."""
        names = [*_FIRST, *_OF_KIND[self.kind], "seconds", "seed"]
        names += [] if self.failed else _OF_FINISHED[self.kind]
        names += [one for one in _IF_ANY if getattr(self, one) not in (None, (), {})]
        return {name: _as_json(getattr(self, name)) for name in (*names, *_MADE)}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self.json() == other.json()

    def __hash__(self) -> int:
        return hash((self.id, self.verdict, self.seed, self.scale))


@checked
@dataclass(frozen=True)
class Failure:
    """What stopped an attempt, and when; `iclab` and `commit` say whose."""

    error: Text
    finished: Moment | None = None
    iclab: str | None = None
    commit: str | None = None

    @property
    def reason(self) -> str:
        """What the traceback comes down to, in a line."""
        return last_line(self.error)

    def json(self) -> dict[str, Any]:
        """As results.json has it."""
        return dataclasses.asdict(self)


@checked
def read_record(value: Any, name: str = "") -> Record:
    """A record from a JSON object; `Wrong` says what is wrong with it.

    `name` is where the object stands, in messages.
    """
    record = from_json(value, Record, name)
    for case in record.every_case:
        _see_case(case)
    unknown = [one for one in record.files if one not in file_names(record.id)]
    if unknown or len(set(record.files)) < len(record.files):
        kinds = ", ".join(FILE_KINDS)
        rule = f"figures/{record.id} with one of {kinds}, each once"
        found = short((unknown or record.files)[0])
        raise Wrong(f"`files` must be {rule}, got {found}")
    _see_verdict(record, judged=bool({"said", "paper_statements"} & value.keys()))
    return record


@checked
def claim_record(
    entry: Entry, result: Mapping[str, Any], *, seed: Seed, scale: Scale
) -> Record:
    """The record of a claim from what its job found; `Wrong` if that cannot be so."""
    names = ("verdict", "seconds", "cases", "slips", "numbers")
    found = {name: result[name] for name in names if name in result}
    found |= {"id": entry.id, "kind": "claim", "statement": entry.statement}
    record = read_record(found | {"seed": seed, "scale": scale}, "result")
    told = record.with_numbers(entry)
    return dataclasses.replace(record, **{name: getattr(told, name) for name in _TEXTS})


@checked
def scatter(records: Sequence[Record]) -> Scatter:
    """The scatter of an item's records, one for every seed."""
    require(len(records) > 0, "records", "a list of records", short(records))
    found = [_numbers(record) for record in records]
    names = dict.fromkeys(name for numbers in found for name in numbers)
    return Scatter(
        tuple(record.seed for record in records),
        tuple(record.verdict for record in records),
        {name: tuple(numbers.get(name) for numbers in found) for name in names},
    )


def _numbers(record: Record) -> dict[str, float]:
    """The finite numbers of a record by name, those of a case with many as one."""
    found = {}
    for case in record.cases:
        measured = np.asarray(case.measured, float)
        if measured.ndim == 0:
            found[case.title] = float(measured)
        else:
            off = bars_off(case.relation, measured, case.predicted, case.error)
            largest = np.max(off[np.isfinite(off)], initial=-np.inf)
            found[f"{case.title}: {_FARTHEST}"] = float(largest)
    found |= {
        one.statement: float(one.value) for one in record.tests if one.value is not None
    }
    return {name: one for name, one in found.items() if np.isfinite(one)}


def _as_json(value: Any) -> Any:
    """A field as JSON: lists, objects, and what says itself how."""
    if isinstance(value, tuple):
        return [_as_json(one) for one in value]
    if isinstance(value, Mapping):
        return dict(value)
    return value.json() if hasattr(value, "json") else value


@checked
def file_names(id: str) -> tuple[str, ...]:
    """Files that the figure `id` may have in a folder of results."""
    return tuple(f"figures/{id}.{kind}" for kind in FILE_KINDS)


@checked
def last_line(error: str) -> str:
    """What a traceback comes down to."""
    lines = error.strip().splitlines()
    return lines[-1].strip() if lines else "unknown error"


def _place(error: str, id: str) -> str:
    """Where a traceback was last in the folder of an item; "" if it was never there."""
    frames = [(PurePath(file), *rest) for file, *rest in _FRAME.findall(error)]
    homes = {file.parent for file, *_ in frames if file.stem == file_stem(id)}
    for file, line, name in reversed(frames):
        if file.parent in homes:
            return f"{file.name}, line {line}" + (f", in {name}" if name else "")
    return ""


def _see_case(case: CaseResult) -> None:
    """See that the sides of a case fit together, and that its verdict is theirs."""
    name, sides = f"the case {short(case.case)}", [case.predicted, case.measured]
    sides += [case.error] if case.decoy is None else [case.error, case.decoy]
    shapes = [np.shape(side) for side in sides]
    try:
        joint = np.broadcast_shapes(*shapes)
    except ValueError:
        joint = None
    # Two sides that are stretched along each other would make an array of any size.
    if joint is None or joint not in shapes:
        raise Wrong(f"{name} has sides of different shapes")
    if case.labels and len(case.labels) != math.prod(joint):
        raise Wrong(f"{name} must have a label for each of its numbers")
    if 0 in joint:
        raise Wrong(f"{name} has no numbers")
    with np.errstate(all="ignore"):
        for edge in (0.0, -_EDGE, _EDGE):
            error = np.asarray(case.error) * (1 + edge)
            measured = Measured(case.measured, error, case.reason)
            decided = case_verdict(measured, case.relation, case.predicted, case.decoy)
            if decided == case.verdict:
                return
    raise Wrong(f"{name} says {case.verdict}, and its numbers do not")


def _see_verdict(record: Record, *, judged: bool) -> None:
    """See that a verdict is what was found; older figures were judged otherwise."""
    expected: Verdict = "undecided"
    if record.kind == "claim" and not record.failed:
        expected = claim_verdict(record.cases, record.slips)
    elif not record.failed:
        if not judged and not record.is_variant:
            return
        found = (record.evidence, record.paper_statements)
        expected = figure_verdict(*found, exploratory=record.is_variant)
    if record.verdict != expected:
        raise Wrong(
            f"`verdict` must be {expected}, which is what was found, got"
            f" {record.verdict!r}"
        )
