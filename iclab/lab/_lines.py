"""A result in a line or a few."""

from iclab import evidence
from iclab._reader import checked
from iclab.evidence import Evidence, Sentence
from iclab.results import Record
from iclab.show import duration, number

_INDENT = " " * 11


@checked
def result_lines(record: Record, *, cached: bool = False) -> list[str]:
    """An item's verdict; what is not good says why."""
    verdict = record.verdict
    head = f"{verdict:<10} {record.id}  {duration(record.seconds)}"
    head += ", cached" if cached else ""
    if record.scatter is not None:
        head += f"  ({record.scatter.words})"
    if record.failed:
        return [f"{head}  {record.reason}"]
    bad = verdict in ("fails", "undecided")
    lines = [
        *(evidence.case_line(c) for c in record.cases if bad and c.verdict == verdict),
        *(evidence_line(one) for one in record.evidence if not one.holds),
        *(
            sentence_line(one)
            for one in record.paper_statements
            if one.state == "not confirmed" or (one.main and one.state != "confirmed")
        ),
        *(f"not judged: {one}" for one in record.missing),
    ]
    return [head, *(_INDENT + line for line in lines)]


@checked
def evidence_line(one: Evidence) -> str:
    """What a figure should show in one line: the number and what it is held to."""
    wanted = f"{one.relation} {number(one.bound)}"
    wanted += f" ({one.history})" if one.moved is not None else ""
    return f"{one.statement}: {number(one.value)}, expected {wanted}"


@checked
def sentence_line(one: Sentence) -> str:
    """What a paper says of its figure, whether it is confirmed, and why perhaps not."""
    text = f"{one.state}: {one.statement} ({one.place})"
    numbers = [number(test.value, 4) for test in one.tests if not test.holds]
    text += f": {', '.join(numbers)}" if numbers else ""
    reasons = [] if one.state == "confirmed" else [one.caveat, one.note]
    return "; ".join([text, *(reason for reason in reasons if reason)])
