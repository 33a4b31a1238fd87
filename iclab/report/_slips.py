"""What every page says of errata and of notes, in the same words."""

from collections.abc import Iterable

from iclab.evidence import ERRATUM_CLASSES, Entry
from iclab.report._items import Item

# What a page of errata is not: with this it opens.
NOT = (
    (
        "No verdict on a paper.",
        "Most of what was checked holds as printed, by a computation that shares no"
        " formula with it; that is on other pages, and only the rest is here.",
    ),
    (
        "No comparison with the publisher's text.",
        "We read texts that were extracted from PDF files of preprints. Where one"
        " letter, root or exponent decides, the slip may be that of our copy: the entry"
        " then says “in our copy” and is a note, unless a second place in the paper"
        " repeats it.",
    ),
    (
        "A note is no failure.",
        "The statement beside it holds. What does not is a step of a proof, a remark, a"
        " letter that another line has right, or a reading that a kinder one replaces."
        " In doubt we read for the authors.",
    ),
)


def by_weight(some: Iterable[Item]) -> list[Item]:
    """Errata or notes, the heaviest class first, each in the papers' order."""
    weights = {name: weight for weight, name in enumerate(ERRATUM_CLASSES)}
    return sorted(some, key=lambda item: weights[item.entry.erratum_class or "false"])


def slip(entry: Entry) -> list[tuple[str, str]]:
    """What is wrong, or beside the point: labels and texts."""
    kind = entry.erratum_class
    if entry.remark:
        # The statement itself holds.
        kind = "a false step" if kind == "false" else kind
    label = f"{'What is wrong' if entry.erratum else 'Note'} ({kind})"
    parts = [
        ("In the paper", entry.quote and f"“{entry.quote}”"),
        (label, entry.erratum or entry.remark),
        ("By hand", entry.counterexample),
        ("The paper has it right", entry.credit),
    ]
    return [(label, text) for label, text in parts if text]


def said_of(entry: Entry) -> list[tuple[str, str]]:
    """All that is said of an erratum or a note: the statement, the slip, what holds."""
    first = "As printed" if entry.erratum else "Statement"
    parts = [
        (first, entry.statement),
        ("Assumes", entry.hypotheses),
        *slip(entry),
        ("What holds", entry.correction),
    ]
    return [(label, text) for label, text in parts if text]
