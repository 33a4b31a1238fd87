"""Claims: a prediction, a measurement that could contradict it, and a decoy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeVar, get_args

from iclab._reading import Numbers, checked

Scale = Literal["smoke", "desk", "paper"]
SCALES: tuple[Scale, ...] = get_args(Scale)

Relation = Literal["=", "<=", ">="]

# A number or an array of numbers. Arrays are compared entry by entry.
Value = Any
CaseT = TypeVar("CaseT")


@checked
class Measured(NamedTuple):
    """What a measurement found: a value, how far it may be off, and why that far.

    `error` is computed (a standard error, a solver tolerance, a rate in the size of the
    problem), never chosen to please, and `reason` says in a sentence how.
    """

    value: Numbers
    error: Numbers
    reason: str


@checked
@dataclass(frozen=True)
class Printed(Generic[CaseT]):
    """A statement as printed, for a claim whose `predict` is the corrected one.

    Whatever is left out is the same as in the claim. A printed statement is expected to
    fail in at least one of its cases: that case is the counterexample. A slip `beside`
    the statement, in a remark or a step of its proof, leaves the claim as it is.
    """

    predict: Callable[[CaseT], Value]
    cases: Callable[[Scale], Mapping[str, CaseT]] | None = None
    measure: Callable[[CaseT, Any, Scale], Measured] | None = None
    relation: Relation | None = None
    beside: bool = False


@checked
@dataclass(frozen=True)
class Claim(Generic[CaseT]):
    """A statement that can fail.

    `measure(case, key, scale)` runs the real thing and shares no formula with
    `predict(case)`. `relation` says how the measured value stands to the prediction.
    `decoy(case)` is plausible but wrong, and a measurement that cannot reject it is no
    evidence; a single case may have no decoy of its own (None), a claim may not.
    `numbers(cases)` gives, from the results of the cases by name, the numbers that the
    claim's texts quote.
    """

    id: str
    cases: Callable[[Scale], Mapping[str, CaseT]]
    predict: Callable[[CaseT], Value]
    measure: Callable[[CaseT, Any, Scale], Measured]
    decoy: Callable[[CaseT], Value | None]
    relation: Relation = "="
    printed: Printed[CaseT] | None = None
    numbers: Callable[[Mapping[str, Any]], Mapping[str, Value]] | None = None
