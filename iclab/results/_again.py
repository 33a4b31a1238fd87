"""An item that was run a second time, compared with its record, number by number.

A measured number may differ by both error bars together, and bars twofold. Predictions
may differ by rounding. Numbers without bars, of figures and of tables, may differ by a
tenth: with the same seed they are the same, but what was trained on another machine
ends elsewhere, since training makes rounding larger. Verdicts must be the same.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from iclab._reader import checked, short
from iclab.results._compare import SHARE, Moved, farthest, floats, pair
from iclab.results._prediction import Prediction, see_predicted
from iclab.results._record import Record
from iclab.results._schema import Wrong
from iclab.show import number

_BARS = 2.0


@checked
def differences(before: Record, after: Record) -> list[str]:
    """Sentences about what differs in two records of one item, farthest off first."""
    if after.failed:
        return [f"it stopped: {after.reason}"]
    found = []
    if before.verdict != after.verdict:
        found.append(f"the verdict is {before.verdict}, and now {after.verdict}")
    found += _sentences(pair(before.id, before, after).moved)
    found += (_claims if before.kind == "claim" else _figures)(before, after)
    found += _quoted(before.numbers, after.numbers)
    return [*found, *_seeds(before, after)]


@checked
def table_differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Sentences about what differs in the tables of a figure that was run twice."""
    if list(before) != list(after):
        return [f"its tables are {_names(before)}, and now {_names(after)}"]
    found: list[str] = []
    far: list[Moved] = []
    for table, columns in after.items():
        if set(before[table]) != set(columns):
            there, now = _names(before[table]), _names(columns)
            found.append(f"the table {short(table)} has {there}, and now {now}")
            continue
        for column, values in columns.items():
            name = f"{table}, {column}"
            one, other = np.asarray(before[table][column]), np.asarray(values)
            if one.shape != other.shape or _is_text(one) != _is_text(other):
                found.append(f"{name}: another kind of array")
            elif _is_text(other):
                found += [] if np.array_equal(one, other) else [f"{name}: other words"]
            elif other.size:
                one, other = floats(one), floats(other)
                largest = np.abs(other[np.isfinite(other)]).max(initial=0.0)
                bar = np.full(other.shape, SHARE * largest)
                far += filter(None, [farthest(name, one, other, bar)])
    return [*_sentences(far, columns=True), *found]


def _sentences(moved: Iterable[Moved], *, columns: bool = False) -> Iterator[str]:
    """A sentence about each number, the farthest first."""
    for one in sorted(moved, key=lambda one: -(one.bars or 0.0)):
        far = "no error bar" if one.bars is None else f"{one.bars:.2g} error bars"
        if columns:
            far = f"{SHARE * (one.bars or 0.0):.2g} of the column's largest"
        yield f"{one.name}: {number(one.before)}, and now {number(one.after)} ({far})"


def _claims(before: Record, after: Record) -> Iterator[str]:
    try:
        see_predicted(before.every_case, [*map(Prediction.of, after.every_case)])
    except Wrong as reason:
        yield str(reason)
        return
    for one, other in zip(before.every_case, after.every_case, strict=True):
        name = f"the case {short(one.case)}"
        if one.verdict != other.verdict:
            yield f"{name} {one.verdict}, and now {other.verdict}"
        shapes = [np.shape(case.measured) for case in (one, other)]
        if shapes[0] != shapes[1]:
            yield f"{name} has numbers of shape {shapes[0]}, and now {shapes[1]}"
            continue
        bar, now = floats(one.error), floats(other.error)
        if bar.shape != now.shape:
            yield f"{name} has bars of shape {bar.shape}, and now {now.shape}"
            continue
        close = (bar <= _BARS * now) & (now <= _BARS * bar)
        if not np.all(close | (np.isnan(bar) & np.isnan(now))):
            yield f"{name} has error bars more than twofold apart from those of now"


def _figures(before: Record, after: Record) -> Iterator[str]:
    names = [[one.statement for one in record.tests] for record in (before, after)]
    if names[0] != names[1] or list(before.missing) != list(after.missing):
        yield "its statements are not those that the figure has today"
        return
    for one, other in zip(before.tests, after.tests, strict=True):
        bound = farthest(one.statement, floats(one.bound), floats(other.bound), None)
        if one.relation != other.relation or bound is not None:
            there = f"{one.relation} {number(one.bound)}"
            now = f"{other.relation} {number(other.bound)}"
            yield f"{short(one.statement)} asks for {there}, and now for {now}"
        if one.holds != other.holds:
            yield f"{short(one.statement)} is {one.holds}, and now {other.holds}"
    said = before.paper_statements, after.paper_statements
    states = [[(one.statement, one.state) for one in some] for some in said]
    if states[0] != states[1]:
        yield "other statements of the paper are confirmed than before"


def _quoted(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Numbers that texts quote: they follow from the others."""
    if set(before) != set(after):
        yield f"its texts quote {_names(before)}, and now {_names(after)}"
        return
    for name, value in before.items():
        try:
            one, other = floats(value), floats(after[name])
        except (TypeError, ValueError):  # words, and objects of numbers
            one = other = None
        if one is None or other is None or one.shape != other.shape:
            if value != after[name]:
                yield f"its texts quote another {short(name)}"
        else:
            far = farthest(f"quoted {name}", one, other, None)
            yield from _sentences(filter(None, [far]))


def _seeds(before: Record, after: Record) -> Iterator[str]:
    one, other = before.scatter, after.scatter
    if one is None or other is None:
        return
    if one.verdicts != other.verdicts:
        yield f"its verdicts by seed are {one.words}, and now {other.words}"
    if list(one.numbers) != list(other.numbers):
        yield "its numbers by seed have other names"
        return
    bars = {case.case: case.error for case in (*before.cases, *after.cases)}
    for name, values in one.numbers.items():
        # Of a case with many numbers there is a distance, in error bars.
        bar = 2 * _BARS * floats(bars.get(name, 1.0)).max()
        bar = None if before.kind == "figure" else np.full(len(values), bar)
        sides = floats(values), floats(other.numbers[name])
        far = farthest(f"{name}, by seed", *sides, bar)
        yield from _sentences(filter(None, [far]))


def _is_text(array: np.ndarray) -> bool:
    return array.dtype.kind not in "biuf"


def _names(names: Mapping[str, Any]) -> str:
    return short(", ".join(names)) if names else "none"
