"""Two folders of results held against each other."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from iclab._reader import checked, require
from iclab.evidence import CaseResult, Evidence
from iclab.results._folder import Run
from iclab.results._record import Record

# Numbers of figures have no error bars: they count as moved from this share of
# themselves on.
SHARE = 0.1
# Of any number less than this share is the other machine's rounding, and does not show
# in five digits.
_ROUNDING = 1e-5


@checked
@dataclass(frozen=True)
class Moved:
    """A number that differs by more than its error bars, in units of these.

    A number of a figure has no bar unless it was run with several seeds: then `bars` is
    None, and it differs by a tenth and more.
    """

    name: str
    before: float
    after: float
    bars: float | None

    def json(self) -> dict[str, Any]:
        """As the command line prints it."""
        return {
            "name": self.name,
            "before": _plain(self.before),
            "after": _plain(self.after),
            "bars": None if self.bars is None else _plain(self.bars),
        }


@checked
@dataclass(frozen=True)
class Pair:
    """An item in two folders: its records, and the numbers that moved."""

    id: str
    before: Record | None
    after: Record | None
    moved: tuple[Moved, ...] = ()
    shared: int = 0
    same: int = 0

    def __post_init__(self):
        both = self.before is not None and self.after is not None
        rule, found = "none where a record is not there", len(self.moved)
        require(both or not self.moved, "moved", rule, found)

    @property
    def both(self) -> bool:
        """Whether there are two records to hold against each other."""
        return self.before is not None and self.after is not None

    @property
    def differs(self) -> bool:
        """Whether the verdicts are different ones."""
        return (
            self.before is not None
            and self.after is not None
            and self.before.verdict != self.after.verdict
        )

    @property
    def identical(self) -> bool:
        """Whether every number is the same to the last digit that is kept."""
        return self.both and self.shared == self.same

    def json(self) -> dict[str, Any]:
        """As the command line prints it."""
        return {
            "id": self.id,
            "before": self.before and self.before.verdict,
            "after": self.after and self.after.verdict,
            "differs": self.differs,
            "numbers": self.shared,
            "same_numbers": self.same,
            "moved": [one.json() for one in self.moved],
        }


@checked
@dataclass(frozen=True)
class Comparison:
    """All items of two folders, in the order of the first one."""

    before: Run
    after: Run
    pairs: tuple[Pair, ...]

    @property
    def differing(self) -> list[Pair]:
        """Items whose verdicts are different ones."""
        return [pair for pair in self.pairs if pair.differs]

    @property
    def moved(self) -> list[Pair]:
        """Items with numbers that moved."""
        return [pair for pair in self.pairs if pair.moved]

    def only(self, which: Literal["before", "after"]) -> list[str]:
        """Items that one folder alone has: "before" or "after"."""
        other = {"before": "after", "after": "before"}[which]
        return [pair.id for pair in self.pairs if getattr(pair, other) is None]


@checked
def compare(before: Run, after: Run) -> Comparison:
    """Hold the records of two runs against each other, item by item."""
    ids = dict.fromkeys([*before.records, *after.records])
    pairs = [pair(id, before.records.get(id), after.records.get(id)) for id in ids]
    return Comparison(before, after, tuple(pairs))


def pair(id: str, before: Record | None, after: Record | None) -> Pair:
    """An item in two runs, and which of its numbers moved."""
    if before is None or after is None:
        return Pair(id, before, after)
    moved: list[Moved] = []
    shared = same = 0
    for name, one, other, bar in _numbers(before, after):
        shared += 1
        if np.array_equal(one, other, equal_nan=True):
            same += 1
            continue
        found = farthest(name, one, other, bar)
        if found is not None:
            moved.append(found)
    return Pair(id, before, after, tuple(moved), shared, same)


def farthest(
    name: str, before: np.ndarray, after: np.ndarray, bar: np.ndarray | None
) -> Moved | None:
    """The entry that moved farthest, if that is farther than its error bar."""
    with np.errstate(all="ignore"):
        change = np.abs(after - before)
        size = np.maximum(np.abs(before), np.abs(after))
        unseen = (before == after) | (change <= _ROUNDING * size)
        unseen |= np.isnan(before) & np.isnan(after)
        share = np.where(unseen, 0.0, change / (size * SHARE if bar is None else bar))
    share = np.where(np.isnan(share), math.inf, share)
    place = np.unravel_index(int(np.argmax(share)), share.shape)
    if not share[place] > 1:
        return None
    where = f" [{', '.join(map(str, map(int, place)))}]" if share.size > 1 else ""
    bars = None if bar is None else float(share[place])
    return Moved(name + where, float(before[place]), float(after[place]), bars)


def _numbers(
    before: Record, after: Record
) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray | None]]:
    """Names, both values and the common error bar of what two records share."""
    ours, theirs = _by_case(before), _by_case(after)
    for name in [name for name in ours if name in theirs]:
        one, other = ours[name], theirs[name]
        values = [_array(case.measured) for case in (one, other)]
        if values[0].shape == values[1].shape:
            try:
                bars = [
                    np.broadcast_to(_array(case.error), values[0].shape)
                    for case in (one, other)
                ]
            except ValueError:  # a bar of another shape belongs to something else
                continue
            yield name, values[0], values[1], bars[0] + bars[1]
    numbers = [_by_statement(record) for record in (before, after)]
    spread = _spread(before, after)
    for name in [name for name in numbers[0] if name in numbers[1]]:
        one, other = (_array(found[name].value) for found in numbers)
        bar = spread.get(name)
        yield name, one, other, None if bar is None else _array(bar)


def _by_case(record: Record) -> Mapping[str, CaseResult]:
    return {case.title: case for case in (*record.cases, *record.slips)}


def _by_statement(record: Record) -> Mapping[str, Evidence]:
    tests = [test for sentence in record.paper_statements for test in sentence.tests]
    return {one.statement: one for one in (*record.evidence, *tests)}


def _spread(before: Record, after: Record) -> dict[str, float]:
    """How far apart numbers of a figure are for several seeds, where that is known."""
    found: dict[str, float] = {}
    for record in (before, after):
        known = record.scatter
        for name in () if known is None else known.numbers:
            ends = None if known is None else known.spread(name)
            if ends is not None:
                found[name] = max(found.get(name, 0.0), ends[2] - ends[0])
    return found


def _array(value: Any) -> np.ndarray:
    return np.asarray(value, float)


def _plain(number: float) -> float | str:
    return number if math.isfinite(number) else str(number)
