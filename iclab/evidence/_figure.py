"""Figures: tables computed by independent jobs, a picture, and what it must show."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from iclab.evidence._claim import Relation, Scale

if TYPE_CHECKING:
    import matplotlib.figure

# Name of a job -> name of a column -> array. What `compute` made and `draw` shows.
Tables = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Evidence:
    """One sentence that a reader should see in a figure, as a number and its bound."""

    statement: str
    value: float
    relation: Relation
    bound: float

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
class Figure:
    """A figure that one command draws.

    `jobs(scale)` names independent units of work and their settings (plain JSON
    values); `compute(settings, key)` returns the columns of one unit; `draw(tables)`
    computes nothing and `expect(tables)` draws nothing.
    """

    id: str
    title: str
    jobs: Callable[[Scale], Mapping[str, Mapping[str, Any]]]
    compute: Callable[[Mapping[str, Any], Any], Mapping[str, Any]]
    draw: Callable[[Tables], "matplotlib.figure.Figure"]
    expect: Callable[[Tables], Sequence[Evidence]]
