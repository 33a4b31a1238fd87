"""How far what was measured is from what was stated, in error bars."""

from typing import Any, NamedTuple

import numpy as np

from iclab import show
from iclab._reader import Listed, checked, refuse
from iclab.evidence._case import CaseResult
from iclab.evidence._claim import Relation


class Farthest(NamedTuple):
    """The entry of a case that is farthest off: its place, its name, error bars.

    An entry without a label is named by its place, and a single number not at all.
    """

    place: int
    name: str
    bars: float


def beyond(relation: Relation, measured: Any, stated: Any) -> np.ndarray:
    """How far measured numbers lie outside a statement; inside a bound, below zero."""
    excess = np.asarray(measured) - np.asarray(stated)
    match relation:
        case "=":
            return np.abs(excess)
        case "<=":
            return excess
        case ">=":
            return -excess


@checked
def bars_off(
    relation: Relation, measured: Listed, stated: Listed, error: Listed
) -> np.ndarray:
    """The same in error bars: more than 1 refutes the statement, NaN does (∞) too."""
    try:
        sides = np.broadcast_arrays(*map(_floats, (measured, stated, error)))
    except ValueError:
        refuse("`measured`, `stated` and `error` must have shapes that fit")
    with np.errstate(all="ignore"):
        excess = beyond(relation, sides[0], sides[1])
        off = np.where(excess == 0, 0.0, excess / sides[2])
    return np.where(np.isnan(off), np.inf, off)


@checked
def farthest(case: CaseResult) -> Farthest:
    """The entry of a case that is farthest from its prediction."""
    off = bars_off(case.relation, case.measured, case.predicted, case.error)
    place = int(np.argmax(off))
    name = f"number {place + 1} of {off.size}" if off.size > 1 else ""
    name = case.labels[place] if case.labels else name
    return Farthest(place, name, float(off.flat[place]))


@checked
def case_line(case: CaseResult) -> str:
    """A case in one line: both sides, the error bar, the decoy.

    Of a case with several numbers that fails, the line shows the one farthest off.
    """
    sides = [case.predicted, case.measured, case.error, case.decoy]
    lead, worst = case.title, farthest(case)
    if case.verdict == "fails" and worst.name:
        lead += f": {worst.name} is off by {show.number(worst.bars, 3)} error bars"
        shape = np.broadcast(*map(np.asarray, sides[:3])).shape
        sides = [
            None if one is None else np.broadcast_to(one, shape).flat[worst.place]
            for one in sides
        ]
    elif case.labels:
        named = zip(case.labels, np.ravel(case.measured), strict=False)
        sides[1] = [f"{label} {show.number(one)}" for label, one in named]
    predicted, measured, error, decoy = sides
    text = f"{lead}: predicted {case.relation} {show.number(predicted)}"
    text += f", measured {show.with_error(measured, error)}"
    return text if decoy is None else f"{text}, decoy {show.number(decoy)}"


def _floats(value: Any) -> np.ndarray:
    return np.asarray(value).astype(float)
