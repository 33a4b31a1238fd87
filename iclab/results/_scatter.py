"""One item with several seeds: its verdicts, and how far its numbers are apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from iclab._reader import Seed, checked, require, short
from iclab.evidence import GOOD_VERDICTS, Verdict, bars_off
from iclab.results._schema import Fields, Wrong

if TYPE_CHECKING:
    from iclab.results._record import Record

# What is said of a case with many numbers: that of the one farthest out.
_FARTHEST = "distance to the prediction, in error bars, largest"


@checked
@dataclass(frozen=True)
class Scatter:
    """Verdicts by seed, and numbers by name with a value for every seed.

    Of a case with many numbers there is how far the farthest is from its prediction, in
    error bars. None is a number that a seed does not have.
    """

    seeds: tuple[Seed, ...]
    verdicts: tuple[Verdict, ...]
    numbers: Mapping[str, tuple[float | None, ...]]

    def __post_init__(self):
        count = len(self.seeds)
        rule = f"one for every seed, {count}"
        found = len(self.verdicts)
        require(found == count >= 1, "verdicts", rule, found)
        sizes = {len(values) for values in self.numbers.values()}
        require(sizes <= {count}, "numbers", rule, sizes)

    @property
    def good(self) -> int:
        """With how many seeds the item ends well."""
        return sum(verdict in GOOD_VERDICTS for verdict in self.verdicts)

    @property
    def agree(self) -> bool:
        """Whether the verdict is the same with every seed."""
        return len(set(self.verdicts)) == 1

    @property
    def words(self) -> str:
        """The verdicts in a few words: all alike, or which seed has another."""
        if self.agree:
            return f"{self.verdicts[0]} with all of {len(self.seeds)} seeds"
        found = []
        for verdict in dict.fromkeys(self.verdicts):
            own = [
                str(seed)
                for seed, one in zip(self.seeds, self.verdicts, strict=True)
                if one == verdict
            ]
            seeds = "seed" if len(own) == 1 else "seeds"
            found.append(f"{verdict} with {seeds} {', '.join(own)}")
        return "; ".join(found)

    def spread(self, name: str) -> tuple[float, float, float] | None:
        """Least, mean and largest of a number; None if fewer than two have one."""
        known = f"one of {', '.join(map(repr, self.numbers)) or 'none'}"
        require(name in self.numbers, "name", known, repr(name))
        values = [one for one in self.numbers[name] if one is not None]
        if len(values) < 2:
            return None
        return min(values), float(np.mean(values)), max(values)

    def json(self) -> dict[str, Any]:
        """As results.json has it."""
        return {
            "seeds": list(self.seeds),
            "verdicts": list(self.verdicts),
            "numbers": {name: list(values) for name, values in self.numbers.items()},
        }


@checked
def scatter(records: Sequence["Record"]) -> Scatter:
    """The scatter of an item's records, one for every seed."""
    from iclab.results._record import Record  # which has a scatter, too

    right = len(records) > 0 and all(isinstance(one, Record) for one in records)
    require(right, "records", "a list of records", short(records))
    found = [_numbers(record) for record in records]
    names = dict.fromkeys(name for numbers in found for name in numbers)
    return Scatter(
        tuple(record.seed for record in records),
        tuple(record.verdict for record in records),
        {name: tuple(numbers.get(name) for numbers in found) for name in names},
    )


def read_scatter(value: Any) -> Scatter | None:
    """The scatter in a record; `Wrong` says what is wrong with it."""
    if value is None:
        return None
    fields = Fields(value, "scatter")
    seeds, verdicts = value.get("seeds"), value.get("verdicts")
    numbers = fields.mapping("numbers", "lists of numbers", _values)
    lists = isinstance(seeds, list) and isinstance(verdicts, list)
    if not lists or not all(isinstance(one, int) and one >= 0 for one in seeds):
        raise Wrong("`scatter` must have lists of seeds and verdicts")
    if any(one not in get_args(Verdict) for one in verdicts):
        raise Wrong("`scatter` has a verdict that there is not")
    sizes = {len(seeds), len(verdicts), *map(len, numbers.values())}
    if len(sizes) != 1:
        raise Wrong("`scatter` must have a verdict and a number for every seed")
    return Scatter(tuple(seeds), tuple(verdicts), numbers)


def _values(value: Any) -> tuple[float | None, ...]:
    if not isinstance(value, list):
        raise TypeError
    return tuple(None if one is None else float(one) for one in value)


def _numbers(record: "Record") -> dict[str, float]:
    cases = {}
    for case in record.cases:
        measured = np.asarray(case.measured, float)
        if measured.ndim == 0:
            cases[case.title] = float(measured)
        else:
            off = bars_off(case.relation, measured, case.predicted, case.error)
            finite = off[np.isfinite(off)]
            farthest = float(finite.max()) if finite.size else np.nan
            cases[f"{case.title}: {_FARTHEST}"] = farthest
    tests = [test for sentence in record.paper_statements for test in sentence.tests]
    found = {
        one.statement: float(one.value)
        for one in (*record.evidence, *tests)
        if one.value is not None
    }
    return {name: one for name, one in {**cases, **found}.items() if np.isfinite(one)}
