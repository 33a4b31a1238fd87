"""A record: what a claim or a figure has come to, or what stopped it."""

import dataclasses
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, get_args

import numpy as np

from iclab._reader import Json, Seconds, Seed, checked
from iclab.evidence import (
    ERRATUM_CLASSES,
    GOOD_VERDICTS,
    SCALES,
    CaseResult,
    Entry,
    ErratumClass,
    Evidence,
    Kind,
    Measured,
    Scale,
    Sentence,
    Verdict,
    case_verdict,
    claim_verdict,
    figure_verdict,
    file_stem,
)
from iclab.results._scatter import Scatter, read_scatter
from iclab.results._schema import RELATIONS, Fields, Wrong, plain, shown

# Kinds of files that a figure has.
FILE_KINDS = ("svg", "pdf", "png", "csv")

_ID = re.compile(r"[A-Za-z0-9_-]+/[A-Za-z0-9][A-Za-z0-9._-]*(@[A-Za-z0-9_.,=+-]+)?")
_DIGEST = re.compile(r"[0-9a-f]{64}")
# A line of a traceback that names a place; a mistake of syntax is in no function.
_FRAME = re.compile(r'^ *File "(.+)", line (\d+)(?:, in ([\w<>.]+))?$', re.M)
# How the names of cases began that run a statement as printed, before they said so in
# a field.
_AS_PRINTED = "as printed: "
# Names that fields had before 0.2; records with them are still read.
_FORMER = {"paper_statements": "said", "post_hoc": "in_view", "caveat": "blame"}
# Numbers of a case are rounded when they are written; a verdict on the very edge of an
# error bar may then come out otherwise.
_EDGE = 1e-6


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

    id: str
    kind: Kind
    verdict: Verdict
    statement: str
    seconds: Seconds
    seed: Seed
    scale: Scale
    correction: str | None = None
    erratum: str | None = None
    erratum_class: ErratumClass | None = None
    remark: str | None = None
    credit: str | None = None
    cases: tuple[CaseResult, ...] = ()
    slips: tuple[CaseResult, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    paper_statements: tuple[Sentence, ...] = ()
    missing: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    numbers: Json = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    jobs: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None
    later: "Failure | None" = None
    scatter: Scatter | None = None
    finished: str | None = None
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
    def good(self) -> bool:
        """Whether the verdict is one with which a command ends well, with every seed
        that was tried.
        """
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

    def told(self, entry: Entry) -> Entry:
        """The entry with the numbers of this record in its texts.

        Without them where they are not such as the texts ask for.
        """
        try:
            return entry.filled(self.numbers)
        except (ValueError, TypeError, LookupError, AttributeError):
            return entry.filled({})

    def json(self) -> dict[str, Any]:
        """The record as the JSON object that the command line prints."""
        found: dict[str, Any] = {
            "id": self.id,
            "kind": self.kind,
            "verdict": self.verdict,
            "statement": self.statement,
        }
        if self.kind == "claim":
            found["correction"] = self.correction
            found["cases"] = [case.json() for case in self.cases]
        else:
            found["evidence"] = [one.json() for one in self.evidence]
            found["files"] = list(self.files)
        found |= {"seconds": self.seconds, "seed": self.seed}
        if self.failed:
            found["error"] = self.error
        elif self.kind == "claim":
            texts = ("erratum", "erratum_class", "remark", "credit")
            found["numbers"] = dict(self.numbers)
            found["slips"] = [case.json() for case in self.slips]
            found |= {name: getattr(self, name) for name in texts}
        else:
            found["paper_statements"] = [one.json() for one in self.paper_statements]
            found["numbers"] = dict(self.numbers)
        for name in ("settings", "missing", "jobs"):
            if few := getattr(self, name):
                found[name] = dict(few) if isinstance(few, Mapping) else list(few)
        if self.later is not None:
            found["later"] = dataclasses.asdict(self.later)
        if self.scatter is not None:
            found["scatter"] = self.scatter.json()
        made = ("scale", "finished", "iclab", "commit")
        return found | {name: getattr(self, name) for name in made}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self.json() == other.json()

    def __hash__(self) -> int:
        return hash((self.id, self.verdict, self.seed, self.scale))


@checked
@dataclass(frozen=True)
class Failure:
    """What stopped an attempt, and when; `iclab` and `commit` say whose."""

    error: str
    finished: str | None = None
    iclab: str | None = None
    commit: str | None = None

    @property
    def reason(self) -> str:
        """What the traceback comes down to, in a line."""
        return last_line(self.error)


@checked
def read_record(value: Any) -> Record:
    """A record from a JSON object; `Wrong` says what is wrong with it."""
    fields = Fields(value)
    id = fields.matching("id", "like zhang2023/theorem-4.1", _id)
    kind = fields.one_of("kind", get_args(Kind))
    statements = _known(fields, "paper_statements")
    record = Record(
        id=id,
        kind=kind,
        verdict=fields.one_of("verdict", get_args(Verdict)),
        statement=fields.text("statement", lines=True),
        seconds=fields.seconds("seconds"),
        seed=fields.whole("seed"),
        scale=fields.one_of("scale", SCALES),
        correction=fields.text("correction", None, lines=True),
        erratum=fields.text("erratum", None, lines=True),
        erratum_class=fields.one_of("erratum_class", tuple(ERRATUM_CLASSES), None),
        remark=fields.text("remark", None, lines=True),
        credit=fields.text("credit", None, lines=True),
        cases=fields.each("cases", _case) if kind == "claim" else (),
        slips=fields.each("slips", _case, ()) if kind == "claim" else (),
        evidence=fields.each("evidence", _evidence) if kind == "figure" else (),
        paper_statements=(
            fields.each(statements, _sentence, ()) if kind == "figure" else ()
        ),
        missing=fields.texts("missing", ()),
        files=_files(fields, id) if kind == "figure" else (),
        numbers=fields.mapping("numbers", "numbers", plain, {}),
        settings=fields.mapping("settings", "texts", _setting, {}),
        jobs=fields.mapping("jobs", "names of jobs", _digest, {}),
        error=fields.text("error", None, lines=True),
        later=_later(value.get("later")),
        scatter=read_scatter(value.get("scatter")),
        finished=fields.moment("finished", None),
        iclab=fields.text("iclab", None),
        commit=fields.text("commit", None),
    )
    _see_verdict(record, judged=statements in fields)
    return record


@checked
def claim_record(
    entry: Entry, result: Mapping[str, Any], *, seed: Seed, scale: Scale
) -> Record:
    """The record of a claim from what its job found; `Wrong` if that cannot be so."""
    fields = Fields(result, "result")
    record = Record(
        id=entry.id,
        kind="claim",
        verdict=fields.one_of("verdict", get_args(Verdict)),
        statement=entry.statement,
        seconds=fields.seconds("seconds"),
        seed=seed,
        scale=scale,
        cases=fields.each("cases", _case),
        slips=fields.each("slips", _case, ()),
        numbers=fields.mapping("numbers", "numbers", plain, {}),
    )
    _see_verdict(record, judged=True)
    told = record.told(entry)
    texts = ("statement", "correction", "erratum", "erratum_class", "remark", "credit")
    return dataclasses.replace(record, **{name: getattr(told, name) for name in texts})


def read_findings(
    fields: Fields,
) -> tuple[tuple[Evidence, ...], tuple[Sentence, ...], tuple[str, ...]]:
    """What was found in a figure: evidence, sentences, and what could not be judged."""
    return (
        fields.each("evidence", _evidence),
        fields.each(_known(fields, "paper_statements"), _sentence),
        fields.texts("missing"),
    )


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
    frames = [
        (PurePath(file), line, name) for file, line, name in _FRAME.findall(error)
    ]
    stem = file_stem(id)
    homes = {file.parent for file, _, _ in frames if file.stem == stem}
    own = [frame for frame in frames if frame[0].parent in homes]
    if not own:
        return ""
    file, line, name = own[-1]
    return f"{file.name}, line {line}" + (f", in {name}" if name else "")


def _case(fields: Fields) -> CaseResult:
    name = fields.text("case")
    former = "printed" not in fields and name.startswith(_AS_PRINTED)
    case = CaseResult(
        case=name.removeprefix(_AS_PRINTED) if former else name,
        printed=former or fields.flag("printed", False),
        relation=fields.one_of("relation", RELATIONS),
        predicted=fields.array("predicted"),
        measured=fields.array("measured"),
        error=fields.array("error"),
        decoy=fields.array("decoy", None),
        reason=fields.text("reason", lines=True),
        verdict=fields.one_of("verdict", ("holds", "fails", "undecided")),
        labels=fields.texts("labels", ()),
    )
    shape = _shape(case)
    if case.labels and len(case.labels) != math.prod(shape):
        raise Wrong(f"the case {shown(name)} must have a label for each of its numbers")
    if 0 in shape:
        raise Wrong(f"the case {shown(name)} has no numbers")
    if case.verdict not in _verdicts(case):
        raise Wrong(
            f"the case {shown(name)} says {case.verdict}, and its numbers do not"
        )
    return case


def _shape(case: CaseResult) -> tuple[int, ...]:
    """The shape of a case's numbers, which the largest of its sides has.

    Two sides that are stretched along each other would make an array of any size.
    """
    sides = [case.predicted, case.measured, case.error]
    sides += [] if case.decoy is None else [case.decoy]
    shapes = [np.shape(side) for side in sides]
    try:
        joint = np.broadcast_shapes(*shapes)
    except ValueError:
        joint = None
    if joint is None or joint not in shapes:
        raise Wrong(f"the case {shown(case.case)} has sides of different shapes")
    return joint


def _verdicts(case: CaseResult) -> set[str]:
    """What the numbers of a case come to, as far as rounding leaves that open."""
    found = set()
    with np.errstate(all="ignore"):
        for sign in (0.0, -_EDGE, _EDGE):
            error = np.asarray(case.error) * (1 + sign)
            measured = Measured(case.measured, error, case.reason)
            found.add(case_verdict(measured, case.relation, case.predicted, case.decoy))
    return found


def _known(fields: Fields, name: str) -> str:
    """The name of a field, or the former one if a record has that."""
    former = _FORMER[name]
    return former if former in fields and name not in fields else name


def _evidence(fields: Fields) -> Evidence:
    return Evidence(
        statement=fields.text("statement"),
        value=fields.number("value"),
        relation=fields.one_of("relation", RELATIONS),
        bound=fields.number("bound"),
        reason=fields.text("reason", "", lines=True),
        post_hoc=fields.flag(_known(fields, "post_hoc"), False),
        name=fields.text("name", ""),
    )


def _sentence(fields: Fields) -> Sentence:
    return Sentence(
        statement=fields.text("statement"),
        place=fields.text("place"),
        tests=fields.each("tests", _evidence),
        main=fields.flag("main"),
        caveat=fields.text(_known(fields, "caveat"), ""),
        note=fields.text("note", ""),
    )


def _files(fields: Fields, id: str) -> tuple[str, ...]:
    names = fields.texts("files")
    known = file_names(id)
    for name in names:
        if name not in known:
            kinds = ", ".join(FILE_KINDS)
            raise Wrong(
                f"`files` must be figures/{id} with one of {kinds}, got {shown(name)}"
            )
    if len(set(names)) < len(names):
        raise Wrong("`files` must be different, and one is there twice")
    return names


def _later(value: Any) -> Failure | None:
    if value is None:
        return None
    fields = Fields(value, "later")
    return Failure(
        error=fields.text("error", lines=True),
        finished=fields.moment("finished", None),
        iclab=fields.text("iclab", None),
        commit=fields.text("commit", None),
    )


def _see_verdict(record: Record, *, judged: bool) -> None:
    """See that a verdict is what was found; older figures were judged otherwise."""
    expected: Verdict
    if record.failed:
        expected = "undecided"
    elif record.kind == "claim":
        expected = claim_verdict(list(record.cases))
    elif record.is_variant:
        expected = "exploratory"
    elif judged:
        expected = figure_verdict(record.evidence, record.paper_statements)
    else:
        return
    if record.verdict != expected:
        raise Wrong(
            f"`verdict` must be {expected}, which is what was found, got"
            f" {shown(record.verdict)}"
        )


def _id(value: Any) -> str:
    if not isinstance(value, str) or _ID.fullmatch(value) is None:
        raise ValueError
    return value


def _digest(value: Any) -> str:
    if not isinstance(value, str) or _DIGEST.fullmatch(value) is None:
        raise ValueError
    return value


def _setting(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return plain(value)
