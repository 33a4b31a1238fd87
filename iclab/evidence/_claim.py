"""Claims: a prediction, a measurement that could contradict it, and a decoy."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, NamedTuple, TypeVar, get_args

from iclab._reader import Numbers, checked

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
    fail in at least one of its cases: that case is the counterexample. A misprint
    `nearby`, in a remark or a step of the proof, leaves the claim as it is. `labels`
    are those of the claim if what is measured is the same.
    """

    predict: Callable[[CaseT], Value]
    cases: Callable[[Scale], Mapping[str, CaseT]] | None = None
    measure: Callable[..., Measured] | None = None
    relation: Relation | None = None
    nearby: bool = False
    labels: Callable[[CaseT], Sequence[str]] | None = None


@checked
@dataclass(frozen=True)
class Claim(Generic[CaseT]):
    """A statement that can fail.

    `measure(case)` runs the real thing and shares no formula with `predict(case)`; it
    is given a random `key` and the `scale` if it has arguments of these names.
    `relation` says how the measured value stands to the prediction. `decoy(case)` is
    plausible but wrong, and a measurement that cannot reject it is no evidence; a
    single case may have no decoy of its own (None), a claim may not. `numbers(cases)`
    gives, from the results of the cases by name, the numbers that the claim's texts
    quote; it is given those of the cases as `printed` if it has an argument of this
    name. `labels(case)` names the entries of a case that has several numbers. `shares`
    names what `iclab.testing.check_evidence` finds that both sides, or measurement and
    decoy, have in common, each with the reason why that is fair.
    """

    id: str
    cases: Callable[[Scale], Mapping[str, CaseT]]
    predict: Callable[[CaseT], Value]
    measure: Callable[..., Measured]
    decoy: Callable[[CaseT], Value | None]
    relation: Relation = "="
    printed: Printed[CaseT] | None = None
    numbers: Callable[..., Mapping[str, Value]] | None = None
    labels: Callable[[CaseT], Sequence[str]] | None = None
    shares: Mapping[str, str] = field(default_factory=dict)

    def measured(self, case: CaseT, key: Any, scale: Scale) -> Measured:
        """What `measure` finds, given the key and the scale if it asks for them."""
        return with_named(self.measure, case, key=key, scale=scale)


def with_named(function: Callable[..., Any], value: Any, **offered: Any) -> Any:
    """Call a function with `value`, and with what is offered if it names that."""
    named = inspect.signature(function).parameters
    return function(value, **{k: offered[k] for k in offered if k in named})
