"""A result in a line or a few."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_VERDICTS = ("holds", "corrected", "fails", "undecided")
_INDENT = " " * 11


def result_lines(record: Mapping[str, Any], note: str = "") -> list[str]:
    """An item's verdict; what is not good says why."""
    verdict = record["verdict"]
    head = f"{verdict:<10} {record['id']}  {record['seconds']:.1f} s{note}"
    if "error" in record:
        return [f"{head}  {last_line(record['error'])}"]
    cases = [
        case_line(case)
        for case in record.get("cases", ())
        if verdict in ("fails", "undecided") and case["verdict"] == verdict
    ]
    evidence = [
        evidence_line(one) for one in record.get("evidence", ()) if not one["holds"]
    ]
    return [head, *(_INDENT + line for line in [*cases, *evidence])]


def last_line(error: str) -> str:
    """What a traceback comes down to."""
    lines = error.strip().splitlines()
    return lines[-1].strip() if lines else "unknown error"


def case_line(case: Mapping[str, Any]) -> str:
    """A case in one line: both sides, the error bar, the decoy."""
    text = (
        f"{case['case']}: predicted {case['relation']} {_short(case['predicted'])},"
        f" measured {_short(case['measured'])} ± {_short(case['error'])}"
    )
    if case["decoy"] is not None:
        text += f", decoy {_short(case['decoy'])}"
    return text


def evidence_line(one: Mapping[str, Any]) -> str:
    """What a figure should show in one line: the number and what it is held to."""
    wanted = f"{one['relation']} {one['bound']:.6g}"
    return f"{one['statement']}: {one['value']:.6g}, expected {wanted}"


def summary(records: Sequence[Mapping[str, Any]]) -> str:
    """How many items there are, and how many have each verdict."""
    counts = Counter(record["verdict"] for record in records)
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in _VERDICTS)
    return f"{len(records)} item{'' if len(records) == 1 else 's'}: {verdicts}"


def tally(verdicts: Iterable[str]) -> str:
    """The verdicts that there are, with their numbers."""
    counts = Counter(verdicts)
    return ", ".join(f"{counts[name]} {name}" for name in _VERDICTS if counts[name])


def duration(seconds: float) -> str:
    """A time for people."""
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds / 60:.1f} min"


def _short(value: Any) -> str:
    if isinstance(value, list):
        entries = [_short(entry) for entry in value[:4]]
        return f"[{', '.join(entries)}{', …' if len(value) > 4 else ''}]"
    return f"{value:.6g}" if isinstance(value, (int, float)) else str(value)
