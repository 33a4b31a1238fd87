"""Figures: tables computed by independent jobs, a picture, and what it must show."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from iclab._reader import Numbers, checked
from iclab.evidence._claim import Relation, Scale
from iclab.evidence._numbers import as_json
from iclab.evidence._settings import (
    change_settings,
    naming,
    require_settings,
    settings_at,
)
from iclab.show import number

if TYPE_CHECKING:
    import matplotlib.figure

# Name of a job -> name of a column -> array. What `compute` made and `draw` shows.
Tables = Mapping[str, Mapping[str, Any]]


State = Literal["confirmed", "not confirmed", "not tested"]


@checked
@dataclass(frozen=True)
class Evidence:
    """One sentence about a figure, as a number and its bound.

    `bound` was written down before the run and decides; `reason` says why it is where
    it is. `post_hoc` says that nothing was written down, and that it was chosen with
    results in view. Where it was and seems wrong since, `moved` is what we would ask
    for now: that is reported beside it and decides nothing. `name` is what texts call
    the number. Without a number (None) the tables have nothing that could show it.
    """

    statement: str
    value: float | None
    relation: Relation
    bound: float
    reason: str = ""
    post_hoc: bool = False
    name: str = ""
    moved: float | None = None

    def __post_init__(self):
        if self.post_hoc and self.moved is not None:
            rule = "a bound that was chosen with results in view is not `moved` as well"
            raise ValueError(f"Evidence: {rule}, got {self.statement!r}")

    @property
    def holds(self) -> bool:
        """Whether the number keeps its bound; NaN never does."""
        return self._keeps(self.bound)

    @property
    def history(self) -> str:
        """When the bound was chosen, in words, unless it is as it was before any run.

        A bound that was moved is said with whether the number keeps it.
        """
        if self.post_hoc:
            return "bound chosen with results in view"
        if self.moved is None:
            return ""
        sign = {"<=": "≤", ">=": "≥"}.get(self.relation, self.relation)
        kept = "holds" if self._keeps(self.moved) else "fails"
        return f"moved after a run to {sign} {number(self.moved)}, which {kept}"

    def _keeps(self, bound: float) -> bool:
        if self.value is None:
            return False
        match self.relation:
            case "<=":
                return self.value <= bound
            case ">=":
                return self.value >= bound
            case _:
                return self.value == bound

    def json(self) -> dict[str, Any]:
        """The evidence as plain JSON values; infinities and NaN are words."""
        numbers = {n: as_json(getattr(self, n)) for n in ("value", "bound", "moved")}
        return {**dataclasses.asdict(self), **numbers, "holds": self.holds}


@checked
def at_most(
    statement: str,
    values: Numbers | None,
    bound: float,
    why: str = "",
    *,
    post_hoc: bool = False,
    name: str = "",
    moved: float | None = None,
) -> Evidence:
    """Evidence that a number, or the largest of several, is at most `bound`.

    `why` is the reason for the bound; no numbers at all are nothing to judge. `moved`
    is where the bound was moved after a run: reported, and without effect.
    """
    value = None if values is None else largest(values)
    return Evidence(statement, value, "<=", bound, why, post_hoc, name, moved)


@checked
def at_least(
    statement: str,
    values: Numbers | None,
    bound: float,
    why: str = "",
    *,
    post_hoc: bool = False,
    name: str = "",
    moved: float | None = None,
) -> Evidence:
    """Evidence that a number, or the smallest of several, is at least `bound`."""
    value = None if values is None else smallest(values)
    return Evidence(statement, value, ">=", bound, why, post_hoc, name, moved)


class MissingTable(LookupError):
    """A table that a figure asks for and that is not there; the message names it."""


class Given(dict[str, Mapping[str, Any]]):
    """Some tables of a figure: asking for another one raises `MissingTable`."""

    def __missing__(self, name: str) -> Mapping[str, Any]:
        raise MissingTable(f"the table `{name}`")


@checked
def largest(values: Numbers) -> float | None:
    """The largest of numbers, of any shape; None if there are none."""
    import numpy as np  # here, so that naming figures needs none

    array = np.asarray(values, float)
    return float(array.max()) if array.size else None


@checked
def smallest(values: Numbers) -> float | None:
    """The smallest of numbers, of any shape; None if there are none."""
    import numpy as np  # here, so that naming figures needs none

    array = np.asarray(values, float)
    return float(array.min()) if array.size else None


@checked
@dataclass(frozen=True)
class Sentence:
    """What a paper says that a reader sees in a figure, in our words, and where.

    It is confirmed if all of its `tests` hold; without any it is not tested, and `note`
    says why. `caveat` names what differs from the paper and may be why it is not
    confirmed: sizes, or settings that the paper does not give. Without a caveat, a
    sentence that is not confirmed is wrong. Main sentences are those that the figure is
    there for.
    """

    statement: str
    place: str
    tests: tuple[Evidence, ...] = ()
    main: bool = True
    caveat: str = ""
    note: str = ""

    @property
    def state(self) -> State:
        """Whether the sentence is confirmed."""
        if not self.tests:
            return "not tested"
        right = all(test.holds for test in self.tests)
        return "confirmed" if right else "not confirmed"

    def json(self) -> dict[str, Any]:
        """The sentence as plain JSON values."""
        return {
            "statement": self.statement,
            "place": self.place,
            "state": self.state,
            "main": self.main,
            "caveat": self.caveat,
            "note": self.note,
            "tests": [test.json() for test in self.tests],
        }


@checked
def says(
    statement: str,
    place: str,
    *tests: Evidence,
    main: bool = True,
    caveat: str = "",
    note: str = "",
) -> Sentence:
    """What a paper says of a figure, and the tests that would confirm it."""
    return Sentence(statement, place, tests, main, caveat, note)


@checked
@dataclass(frozen=True)
class Figure:
    """A figure that one command draws.

    `settings` is a frozen dataclass of its sizes, with a value for every scale (see
    `setting`). `jobs(settings)` names independent units of work and their own settings
    (plain JSON values); a figure without `settings` is given the scale instead.
    `compute(settings, key)` returns the columns of one unit; `draw(tables)` computes
    nothing, `paper_statements(tables)` and `expect(tables)` draw nothing: the former
    tests what the paper says of its figure, the latter what we find. All three take any
    part of the tables, and a table that they ask for in vain is reported as missing.

    Every unit has a key of its own. Where units must see the same samples, the figure
    is `seeded`: their settings have the `seed` besides, for what they share. `trains`
    says of a unit's settings whether it is training, which may run on an accelerator;
    all else stays on the CPU.
    """

    id: str
    title: str
    jobs: Callable[[Any], Mapping[str, Mapping[str, Any]]]
    compute: Callable[[Mapping[str, Any], Any], Mapping[str, Any]]
    draw: Callable[[Tables], "matplotlib.figure.Figure"]
    expect: Callable[[Tables], Sequence[Evidence]]
    paper_statements: Callable[[Tables], Sequence[Sentence]] | None = None
    settings: type | None = None
    seeded: bool = False
    trains: Callable[[Mapping[str, Any]], bool] = lambda settings: False

    def __post_init__(self):
        if self.settings is not None:
            require_settings(self.settings, "settings")

    def settings_at(self, scale: Scale, changes: Mapping[str, Any] = {}) -> Any:
        """The settings of a scale, with `changes`; the scale itself if there are none.

        Changes are values or text, and are checked.
        """
        if self.settings is None:
            if changes:
                rule = f"no changes of {', '.join(map(str, changes))} are possible"
                raise ValueError(f"{self.id} has no settings: {rule}")
            return scale
        try:
            return change_settings(settings_at(self.settings, scale, changes), changes)
        except ValueError as refused:
            raise ValueError(f"{self.id}: {refused}") from None

    def own_changes(self, scale: Scale, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Those of `changes` that are not what the scale has anyway, as values."""
        if not changes:
            return {}
        new = self.settings_at(scale, changes)
        named = {} if self.settings is None else naming(self.settings)
        first = {name: one for name, one in changes.items() if name in named}
        # What a change of one setting names for others is no change of these.
        own, then = self.settings_at(scale), self.settings_at(scale, first)
        return {
            name: getattr(new, name)
            for name in changes
            if getattr(new, name) != getattr(own if name in first else then, name)
        }
