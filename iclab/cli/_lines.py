"""A result in a line or a few."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from iclab.show import counted, duration, number

if TYPE_CHECKING:
    from iclab.evidence import CaseResult, Evidence, Sentence
    from iclab.results import Record

_VERDICTS = ("holds", "corrected", "fails", "undecided")
# Named in a summary only where there are some.
_RARE = ("exploratory",)
_INDENT = " " * 11


def result_lines(record: "Record", note: str = "") -> list[str]:
    """An item's verdict; what is not good says why."""
    verdict = record.verdict
    head = f"{verdict:<10} {record.id}  {duration(record.seconds)}{note}"
    if record.scatter is not None:
        head += f"  ({record.scatter.words})"
    if record.failed:
        return [f"{head}  {record.reason}"]
    cases = [
        case_line(case)
        for case in record.cases
        if verdict in ("fails", "undecided") and case.verdict == verdict
    ]
    evidence = [evidence_line(one) for one in record.evidence if not one.holds]
    said = [
        sentence_line(one)
        for one in record.paper_statements
        if one.state == "not confirmed" or (one.main and one.state != "confirmed")
    ]
    missing = [f"not judged: {one}" for one in record.missing]
    return [head, *(_INDENT + line for line in [*cases, *evidence, *said, *missing])]


def case_line(case: "CaseResult") -> str:
    """A case in one line: both sides, the error bar, the decoy."""
    from iclab.evidence import case_line  # with NumPy, which words do not need

    return case_line(case)


def evidence_line(one: "Evidence") -> str:
    """What a figure should show in one line: the number and what it is held to."""
    wanted = f"{one.relation} {number(one.bound)}"
    return f"{one.statement}: {number(one.value)}, expected {wanted}"


def sentence_line(one: "Sentence") -> str:
    """What a paper says of its figure, whether it is confirmed, and why perhaps not."""
    text = f"{one.state}: {one.statement} ({one.place})"
    numbers = [number(test.value, 4) for test in one.tests if not test.holds]
    text += f": {', '.join(numbers)}" if numbers else ""
    reasons = [] if one.state == "confirmed" else [one.caveat, one.note]
    return "; ".join([text, *(reason for reason in reasons if reason)])


def summary(records: Sequence["Record"]) -> str:
    """How many items there are, and how many have each verdict."""
    counts = Counter(record.verdict for record in records)
    named = [*_VERDICTS, *(verdict for verdict in _RARE if counts[verdict])]
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in named)
    return f"{counted(len(records), 'item')}: {verdicts}"


def tally(verdicts: Iterable[str]) -> str:
    """The verdicts that there are, with their numbers."""
    counts = Counter(verdicts)
    every = (*_VERDICTS, *_RARE)
    return ", ".join(f"{counts[name]} {name}" for name in every if counts[name])
