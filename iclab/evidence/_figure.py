"""Figures: tables computed by independent jobs, a picture, and what it must show."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from iclab.evidence._claim import Relation, Scale

if TYPE_CHECKING:
    import matplotlib.figure

# Name of a job -> name of a column -> array. What `compute` made and `draw` shows.
Tables = Mapping[str, Mapping[str, Any]]


State = Literal["seen", "not seen", "not tested"]


@dataclass(frozen=True)
class Evidence:
    """One sentence about a figure, as a number and its bound.

    `reason` says why the bound is where it is, and `in_view` that it was put there with
    results in view. `name` is what texts call the number.
    """

    statement: str
    value: float
    relation: Relation
    bound: float
    reason: str = ""
    in_view: bool = False
    name: str = ""

    @property
    def holds(self) -> bool:
        """Whether the number keeps its bound; NaN never does."""
        match self.relation:
            case "<=":
                return self.value <= self.bound
            case ">=":
                return self.value >= self.bound
            case _:
                return self.value == self.bound


@dataclass(frozen=True)
class Sentence:
    """What a paper says that a reader sees in a figure, in our words, and where.

    It is seen if all of its `tests` hold; without any it is not tested, and `note` says
    why. `blame` names what differs from the paper and may be why it is not seen: sizes,
    or settings that the paper does not give. With nothing to blame, a sentence that is
    not seen is wrong. Main sentences are those that the figure is there for.
    """

    statement: str
    place: str
    tests: tuple[Evidence, ...] = ()
    main: bool = True
    blame: str = ""
    note: str = ""

    @property
    def state(self) -> State:
        """Whether the sentence is seen."""
        if not self.tests:
            return "not tested"
        return "seen" if all(test.holds for test in self.tests) else "not seen"


@dataclass(frozen=True)
class Figure:
    """A figure that one command draws.

    `jobs(scale)` names independent units of work and their settings (plain JSON
    values); `compute(settings, key)` returns the columns of one unit; `draw(tables)`
    computes nothing, `said(tables)` and `expect(tables)` draw nothing: the former holds
    what the paper says of its figure against the tables, the latter what we find.
    """

    id: str
    title: str
    jobs: Callable[[Scale], Mapping[str, Mapping[str, Any]]]
    compute: Callable[[Mapping[str, Any], Any], Mapping[str, Any]]
    draw: Callable[[Tables], "matplotlib.figure.Figure"]
    expect: Callable[[Tables], Sequence[Evidence]]
    said: Callable[[Tables], Sequence[Sentence]] | None = None
