"""What a claim predicts for its cases, and a stored result held against it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from iclab._reader import Listed, checked, short
from iclab.evidence import CaseResult, Relation, as_json
from iclab.results._compare import farthest
from iclab.results._schema import Wrong, from_json
from iclab.show import number

# Predictions are closed forms in float64. On another machine they may come out with
# another rounding: by this share of the largest entry, or by this part of an error bar.
_ROUNDING, _BAR = 1e-9, 0.1


@checked
@dataclass(frozen=True)
class Prediction:
    """A case of a claim before anything is measured: both statements about it."""

    case: str
    relation: Relation
    predicted: Listed
    decoy: Listed | None
    printed: bool = False

    @classmethod
    def of(cls, case: CaseResult) -> "Prediction":
        """The prediction behind a result."""
        sides = (case.predicted, case.decoy)
        return cls(case.case, case.relation, *sides, printed=case.printed)

    def json(self) -> dict[str, Any]:
        """As plain JSON values."""
        sides = {"predicted": as_json(self.predicted), "decoy": as_json(self.decoy)}
        kind = {"relation": self.relation, "printed": self.printed}
        return {"case": self.case, **kind, **sides}


@checked
def read_predictions(value: Any) -> tuple[Prediction, ...]:
    """Predictions from their JSON; `Wrong` says what is wrong with it."""
    return from_json(value, tuple[Prediction, ...], "cases")


@checked
def see_predicted(cases: Sequence[CaseResult], today: Sequence[Prediction]) -> None:
    """See that cases are those that a claim has today; `Wrong` says why they are not.

    Their names and order, relations, shapes and predictions have to be, and the latter
    up to rounding.
    """
    names = [[_name(one) for one in side] for side in (cases, today)]
    if names[0] != names[1]:
        odd = [name for name in names[0] if name not in names[1]]
        gone = [name for name in names[1] if name not in names[0]]
        found = f"without {short(gone[0])}" if gone else "in another order"
        found = f"with {short(odd[0])}" if odd else found
        raise Wrong(f"its cases are not those that the claim has today: {found}")
    for case, now in zip(cases, today, strict=True):
        if case.relation != now.relation:
            raise Wrong(
                f"the case {short(case.case)} has the relation {case.relation}, and"
                f" today {now.relation}"
            )
        for word in ("predicted", "decoy"):
            _see_same(case, word, getattr(case, word), getattr(now, word))


def _see_same(case: CaseResult, word: str, before: Any, after: Any) -> None:
    name = f"the case {short(case.case)} has `{word}`"
    if before is None or after is None:
        if before is not after:
            raise Wrong(f"{name} {_in_words(before)}, and today {_in_words(after)}")
        return
    one, other, error = (np.asarray(x, float) for x in (before, after, case.error))
    if one.shape != other.shape:
        raise Wrong(f"{name} of shape {one.shape}, and today of {other.shape}")
    largest = np.abs(other[np.isfinite(other)]).max(initial=0.0)
    allowed = _ROUNDING * largest + _BAR * np.abs(error)
    far = farthest("", *np.broadcast_arrays(one, other, allowed), rounding=0.0)
    if far is not None:
        texts = [number(side, 9) for side in (far.before, far.after)]
        raise Wrong(f"{name}{far.name} {texts[0]}, and today {texts[1]}")


def _in_words(value: Any) -> str:
    return "none" if value is None else f"of shape {np.shape(value)}"


def _name(one: CaseResult | Prediction) -> str:
    return f"{one.case}{' (as printed)' if one.printed else ''}"
