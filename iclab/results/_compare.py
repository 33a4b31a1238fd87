"""Two folders of results compared."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from iclab._reader import checked, require
from iclab.evidence import as_json
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
        return {name: as_json(value) for name, value in asdict(self).items()}


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
        rule, found = "none where a record is not there", len(self.moved)
        require(self.both or not self.moved, "moved", rule, found)

    @property
    def both(self) -> bool:
        """Whether there are two records to compare."""
        return self.before is not None and self.after is not None

    @property
    def differs(self) -> bool:
        """Whether the verdicts are different ones."""
        if self.before is None or self.after is None:
            return False
        return self.before.verdict != self.after.verdict

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
    """Compare the records of two runs, item by item."""
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
    name: str,
    before: np.ndarray,
    after: np.ndarray,
    bar: np.ndarray | None,
    *,
    rounding: float = _ROUNDING,
) -> Moved | None:
    """The entry that moved farthest, if that is farther than its error bar."""
    with np.errstate(all="ignore"):
        change = np.abs(after - before)
        size = np.maximum(np.abs(before), np.abs(after))
        unseen = (before == after) | (change <= rounding * size)
        unseen |= np.isnan(before) & np.isnan(after)
        share = np.where(unseen, 0.0, change / (size * SHARE if bar is None else bar))
    share = np.where(np.isnan(share), math.inf, share)
    place = np.unravel_index(int(np.argmax(share)), share.shape)
    if not share[place] > 1:
        return None
    where = f" [{', '.join(map(str, map(int, place)))}]" if share.size > 1 else ""
    bars = None if bar is None else float(share[place])
    return Moved(name + where, float(before[place]), float(after[place]), bars)


def floats(value: Any) -> np.ndarray:
    """Numbers of a record as an array."""
    return np.asarray(value, float)


def _numbers(
    before: Record, after: Record
) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray | None]]:
    """Names, both values and the common error bar of what two records share."""
    ours, theirs = (
        {case.title: case for case in record.every_case} for record in (before, after)
    )
    for name in [name for name in ours if name in theirs]:
        cases = (ours[name], theirs[name])
        one, other = (floats(case.measured) for case in cases)
        try:
            bars = [np.broadcast_to(floats(case.error), one.shape) for case in cases]
        except ValueError:  # a bar of another shape belongs to something else
            continue
        if one.shape == other.shape:
            yield name, one, other, bars[0] + bars[1]
    tests = [
        {one.statement: one.value for one in record.tests} for record in (before, after)
    ]
    spread = _spread(before, after)
    for name in [name for name in tests[0] if name in tests[1]]:
        one, other = (floats(found[name]) for found in tests)
        yield name, one, other, spread.get(name)


def _spread(before: Record, after: Record) -> dict[str, np.ndarray]:
    """How far apart numbers of a figure are for several seeds, where that is known."""
    found: dict[str, np.ndarray] = {}
    for scatter in filter(None, (before.scatter, after.scatter)):
        for name in scatter.numbers:
            if (ends := scatter.spread(name)) is not None:
                wide = floats(ends[2] - ends[0])
                found[name] = np.maximum(found.get(name, 0.0), wide)
    return found
