"""An item that was run a second time, held against its record, number by number.

A measured number may differ by both error bars together, and bars twofold. Predictions
may differ by rounding. Numbers without bars, of figures and of tables, may differ by a
tenth: with the same seed they are the same, but what was trained on another machine
ends elsewhere, since training makes rounding larger. Verdicts must be the same.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from iclab._reader import checked
from iclab.evidence import Evidence
from iclab.results._compare import SHARE, Moved, farthest, pair
from iclab.results._prediction import Prediction, see_predicted
from iclab.results._record import Record
from iclab.results._schema import Wrong, shown
from iclab.show import number

_BARS = 2.0


@checked
def differences(before: Record, after: Record) -> list[str]:
    """Sentences about what differs in two records of one item, farthest off first."""
    if after.failed:
        return [f"it stopped: {after.reason}"]
    found = [] if before.verdict == after.verdict else [_words(before, after)]
    kind = _claims if before.kind == "claim" else _figures
    moved = pair(before.id, before, after).moved
    far = sorted(moved, key=lambda one: -(one.bars or 0.0))
    numbers = _quoted(before.numbers, after.numbers)
    found += [*map(_sentence, far), *kind(before, after), *numbers]
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
            found.append(f"the table {shown(table)} has {there}, and now {now}")
            continue
        for column, values in columns.items():
            name = f"{table}, {column}"
            one, other = np.asarray(before[table][column]), np.asarray(values)
            if one.shape != other.shape or _is_text(one) != _is_text(other):
                found.append(f"{name}: another kind of array")
            elif _is_text(other):
                found += [] if np.array_equal(one, other) else [f"{name}: other words"]
            elif (moved := _column(name, one, other)) is not None:
                far.append(moved)
    far.sort(key=lambda one: -(one.bars or 0.0))
    return [*map(_of_column, far), *found]


def _words(before: Record, after: Record) -> str:
    return f"the verdict is {before.verdict}, and now {after.verdict}"


def _sentence(one: Moved) -> str:
    bars = "no error bar" if one.bars is None else f"{one.bars:.2g} error bars"
    return f"{one.name}: {number(one.before)}, and now {number(one.after)} ({bars})"


def _of_column(one: Moved) -> str:
    share = f"{SHARE * (one.bars or 0.0):.2g} of the column's largest"
    return f"{one.name}: {number(one.before)}, and now {number(one.after)} ({share})"


def _claims(before: Record, after: Record) -> Iterator[str]:
    ours, theirs = (*before.cases, *before.slips), (*after.cases, *after.slips)
    try:
        see_predicted(ours, [Prediction.of(case) for case in theirs])
    except Wrong as reason:
        yield str(reason)
        return
    for one, other in zip(ours, theirs, strict=True):
        name = f"the case {shown(one.case)}"
        if one.verdict != other.verdict:
            yield f"{name} {one.verdict}, and now {other.verdict}"
        shapes = [np.shape(case.measured) for case in (one, other)]
        if shapes[0] != shapes[1]:
            yield f"{name} has numbers of shape {shapes[0]}, and now {shapes[1]}"
            continue
        bars = [np.asarray(case.error, float) for case in (one, other)]
        if bars[0].shape != bars[1].shape:
            yield f"{name} has bars of shape {bars[0].shape}, and now {bars[1].shape}"
        elif not np.all(_twofold(*bars)):
            yield f"{name} has error bars more than twofold apart from those of now"


def _twofold(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    close = (one <= _BARS * other) & (other <= _BARS * one)
    return close | (np.isnan(one) & np.isnan(other))


def _figures(before: Record, after: Record) -> Iterator[str]:
    names = [[one.statement for one in _tests(record)] for record in (before, after)]
    if names[0] != names[1] or list(before.missing) != list(after.missing):
        yield "its statements are not those that the figure has today"
        return
    for one, other in zip(_tests(before), _tests(after), strict=True):
        bound = farthest(one.statement, _array(one.bound), _array(other.bound), None)
        if one.relation != other.relation or bound is not None:
            there = f"{one.relation} {number(one.bound)}"
            now = f"{other.relation} {number(other.bound)}"
            yield f"{shown(one.statement)} asks for {there}, and now for {now}"
        if one.holds != other.holds:
            yield f"{shown(one.statement)} is {one.holds}, and now {other.holds}"
    states = [
        [(one.statement, one.state) for one in r.paper_statements]
        for r in (before, after)
    ]
    if states[0] != states[1]:
        yield "what the paper says of it is not seen as it was"


def _tests(record: Record) -> list[Evidence]:
    return [
        *record.evidence,
        *(test for one in record.paper_statements for test in one.tests),
    ]


def _quoted(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Numbers that texts quote: they follow from the others."""
    if set(before) != set(after):
        yield f"its texts quote {_names(before)}, and now {_names(after)}"
        return
    for name, value in before.items():
        try:
            one, other = _array(value), _array(after[name])
        except (TypeError, ValueError):  # words, and objects of numbers
            if value != after[name]:
                yield f"its texts quote another {shown(name)}"
            continue
        if one.shape != other.shape:
            yield f"its texts quote another {shown(name)}"
        elif (far := farthest(f"quoted {name}", one, other, None)) is not None:
            yield _sentence(far)


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
        bar = 2 * _BARS * _array(bars.get(name, 1.0)).max()
        far = farthest(
            f"{name}, by seed",
            _array([np.nan if one is None else one for one in values]),
            _array([np.nan if one is None else one for one in other.numbers[name]]),
            None if before.kind == "figure" else np.full(len(values), bar),
        )
        if far is not None:
            yield _sentence(far)


def _column(name: str, one: np.ndarray, other: np.ndarray) -> Moved | None:
    if not other.size:
        return None
    one, other = one.astype(float), other.astype(float)
    finite = np.abs(other[np.isfinite(other)])
    bar = np.full(other.shape, SHARE * finite.max(initial=0.0))
    return farthest(name, one, other, bar)


def _is_text(array: np.ndarray) -> bool:
    return array.dtype.kind not in "biuf"


def _names(names: Mapping[str, Any]) -> str:
    return shown(", ".join(names)) if names else "none"


def _array(value: Any) -> np.ndarray:
    return np.asarray(value, float)
