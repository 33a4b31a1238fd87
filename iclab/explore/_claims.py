"""Claims with parameters that one moves: prediction, measurement and decoy."""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from iclab import papers, show
from iclab.evidence import (
    Claim,
    Entry,
    Measured,
    Relation,
    Verdict,
    bars_off,
    case_key,
    case_verdict,
)
from iclab.explore._settings import Settings, number
from iclab.show import STYLES, Axis, Chart, Style, around
from iclab.show.palette import BRIGHT_GREY as GREY

SCALE = "smoke"
_MOST_ENTRIES = 40
# How far from the error bar a statement is drawn: the ends of the axis.
_NEAREST, _FARTHEST = 1e-4, 1e6


class Parameter(NamedTuple):
    """A number of a case that can be moved, and between what."""

    name: str
    value: float
    low: float
    high: float
    whole: bool


class Trial(NamedTuple):
    """One measurement, and the two statements that it is held against."""

    predicted: np.ndarray
    measured: np.ndarray
    error: np.ndarray
    decoy: np.ndarray | None
    relation: Relation
    verdict: Verdict
    reason: str

    def distances(self, statement: np.ndarray) -> np.ndarray:
        """How far each entry of a statement is off, in error bars; above 1 refutes it.

        For an inequality only the wrong side counts.
        """
        off = bars_off(self.relation, self.measured, statement, self.error)
        return np.maximum(off, 0.0)


class Refused(ValueError):
    """Why a claim cannot be measured with these parameters."""


@dataclass(frozen=True)
class Moved(Settings):
    """A case of a claim with some of its numbers changed.

    `changes` are written `samples:12;eigenvalues.0:2.5`. Whatever else a case holds
    stays as its page wrote it.
    """

    id: str = "ahn2023/section-4-isotropic"
    case: str = ""
    changes: str = ""
    seed: int = number(0, 0, 999)

    @property
    def entry(self) -> Entry:
        """What the registry says of the claim; that of the default for an unknown."""
        for one in claims():
            if one.id == self.id:
                return one
        return next(one for one in claims() if one.id == Moved.id)

    @property
    def claim(self) -> Claim:
        return papers.load_claim(self.entry)

    def case_name(self) -> str:
        """Name of the case; the first where the name is unknown."""
        cases = self.claim.cases(SCALE)
        return self.case if self.case in cases else next(iter(cases))

    def linked_case(self) -> str:
        """Name of the case as links have it: the first goes without saying."""
        name = self.case_name()
        return "" if name == next(iter(self.claim.cases(SCALE))) else name

    def parameters(self) -> list[Parameter]:
        """Numbers of the case as its page wrote it."""
        return parameters(self.claim.cases(SCALE)[self.case_name()])

    def values(self) -> dict[str, float]:
        """Changed numbers, within their ranges; what is no parameter is left out."""
        known = {one.name: one for one in self.parameters()}
        found = {}
        for name, word in re.findall(r"([\w.]+):([-+.\deE]+)", self.changes):
            try:
                value = float(word)
            except ValueError:
                continue
            if name in known and np.isfinite(value):
                one = known[name]
                value = min(max(value, one.low), one.high)
                found[name] = round(value) if one.whole else value
        return found

    def changed(self) -> Any:
        """The case with its numbers changed."""
        case = self.claim.cases(SCALE)[self.case_name()]
        return replaced(case, self.values())

    def trial(self) -> Trial:
        """Predict, measure and try the decoy."""
        claim, case, name = self.claim, self.changed(), self.case_name()
        try:
            predicted, decoy = claim.predict(case), claim.decoy(case)
            measured = claim.measured(case, case_key(self.seed, name), SCALE)
            verdict = case_verdict(measured, claim.relation, predicted, decoy)
        except (ArithmeticError, AssertionError, RuntimeError, ValueError) as problem:
            words = str(problem).strip().splitlines() or [type(problem).__name__]
            raise Refused(words[0]) from problem
        return _trial(claim, predicted, measured, decoy, verdict)

    def code(self) -> str:
        """Lines that give the numbers of this view."""
        name, values = self.case_name(), self.values()
        case = self.claim.cases(SCALE)[name]
        return f"""\
import dataclasses
from iclab import papers
from iclab.evidence import case_key, case_verdict

(entry,) = papers.select(["{self.entry.id}"])
claim = papers.load_claim(entry)
case = claim.cases("{SCALE}")[{name!r}]
{_replacing(case, values)}predicted, decoy = claim.predict(case), claim.decoy(case)
measured = claim.measured(case, case_key({self.seed}, {name!r}), "{SCALE}")
verdict = case_verdict(measured, claim.relation, predicted, decoy)
"""


def claims() -> tuple[Entry, ...]:
    """Every claim of every page that is open."""
    return tuple(one for one in papers.select() if one.kind == "claim")


def written(values: Mapping[str, float], known: list[Parameter]) -> str:
    """Changes as a link has them: those that differ from the case's own."""
    own = {one.name: one.value for one in known}
    changed = {name: value for name, value in values.items() if value != own[name]}
    return ";".join(f"{name}:{value:.6g}" for name, value in changed.items())


def parameters(case: Any) -> list[Parameter]:
    """Numbers among the fields of a case, those in tuples too, from half to twice."""
    found = []
    for name, value in _fields(case).items():
        if _is_number(value):
            found.append(_parameter(name, value))
        elif isinstance(value, tuple) and value and all(map(_is_number, value)):
            found += [_parameter(f"{name}.{i}", one) for i, one in enumerate(value[:6])]
    return found


def replaced(case: Any, values: Mapping[str, float]) -> Any:
    """A case with some of its numbers changed."""
    if not values:
        return case
    own, changes = _fields(case), {}
    for word, value in values.items():
        name, _, place = word.partition(".")
        if place:
            now = list(changes.get(name, own[name]))
            now[int(place)] = type(now[int(place)])(value)
            changes[name] = tuple(now)
        else:
            changes[name] = type(own[name])(value)
    if dataclasses.is_dataclass(case):
        return dataclasses.replace(case, **changes)  # type: ignore[type-var]
    return case._replace(**changes)


def distance_chart(trial: Trial | None, title: str) -> Chart:
    """How far prediction and decoy are from the measurement, entry by entry."""
    count = 1 if trial is None else len(trial.predicted)
    x = Axis("entry", 0.5, count + 0.5, whole=True)
    y = Axis("distance in error bars", _NEAREST, _FARTHEST, log=True)
    chart = Chart(x, y, title=title, width=560, height=380)
    chart.level(1.0, "edge of the error bar", Style(GREY, "2 3"))
    if trial is None:
        return chart
    entries = np.arange(1, count + 1)
    near = np.clip(trial.distances(trial.predicted), 1.3 * _NEAREST, _FARTHEST / 1.3)
    chart.points(entries - 0.08, near, "prediction", STYLES[0])
    if trial.decoy is not None:
        far = np.clip(trial.distances(trial.decoy), 1.3 * _NEAREST, _FARTHEST / 1.3)
        chart.points(entries + 0.08, far, "decoy", STYLES[1])
    return chart


class History:
    """Trials of one case so far, and which of its numbers was moved last."""

    def __init__(self) -> None:
        self._tried: list[tuple[dict[str, float], Trial]] = []
        self.name = ""

    def add(self, values: Mapping[str, float], trial: Trial) -> None:
        """Remember a trial with all numbers that it was made with."""
        if self._tried:
            before = self._tried[-1][0]
            moved = [name for name in values if values[name] != before.get(name)]
            self.name = moved[0] if moved else self.name
        self.name = self.name or next(iter(values))
        self._tried.append((dict(values), trial))

    def along(self) -> list[tuple[float, Trial]]:
        """Trials that differ from the last one in that number alone, in its order."""
        last = self._tried[-1][0]
        found = {
            values[self.name]: trial
            for values, trial in self._tried
            if all(values[one] == last[one] for one in last if one != self.name)
        }
        return sorted(found.items(), key=lambda pair: pair[0])


def history_chart(history: History, entry: int) -> Chart:
    """An entry's prediction, measurement and decoy at every value that was tried."""
    pairs = [pair for pair in history.along() if entry < len(pair[1].predicted)]
    places = np.array([value for value, _ in pairs])
    measured = np.array([one.measured[entry] for _, one in pairs])
    error = np.array([one.error[entry] for _, one in pairs])
    predicted = np.array([one.predicted[entry] for _, one in pairs])
    decoy = np.array([np.nan if t.decoy is None else t.decoy[entry] for _, t in pairs])
    # A bar far larger than the number says no more than one of its size.
    bar = np.minimum(error, np.max(np.abs(measured), initial=0.0))
    x = around([places], history.name)
    y = around([measured - bar, measured + bar, predicted, decoy], "value")
    title = f"Entry {entry + 1} as {history.name} moves"
    chart = Chart(x, y, title=title, width=560, height=380)
    if len(pairs) > 1:
        chart.line(places, predicted, "prediction", STYLES[0], 1.8)
        chart.line(places, decoy, "decoy", STYLES[1], 1.8)
    else:
        chart.points(places, predicted, "prediction", STYLES[0])
        chart.points(places, decoy, "decoy", STYLES[1])
    black = Style("currentColor", "", "diamond")
    ends = {"lower": measured - bar, "upper": measured + bar}
    chart.points(places, measured, "measured", black, **ends)
    return chart


def table(trial: Trial) -> str:
    """The numbers of a trial, as HTML."""
    head = ("entry", "prediction", "measured", "± error bar", "decoy")
    rows = [
        (
            i + 1,
            trial.predicted[i],
            trial.measured[i],
            show.number(trial.error[i], 2),
            None if trial.decoy is None else trial.decoy[i],
        )
        for i in range(min(len(trial.predicted), 12))
    ]
    more = len(trial.predicted) - 12
    tail = f"<p>… and {more} more entries</p>" if more > 0 else ""
    return show.table(head, rows, digits=6) + tail


def _trial(
    claim: Claim, predicted: Any, measured: Measured, decoy: Any, verdict: Verdict
) -> Trial:
    value = np.atleast_1d(np.asarray(measured.value, float))
    shape = value.shape

    def flat(one: Any) -> np.ndarray:
        whole = np.broadcast_to(np.asarray(one, float), shape)
        return whole.ravel()[:_MOST_ENTRIES]

    return Trial(
        flat(predicted),
        flat(value),
        flat(measured.error),
        None if decoy is None else flat(decoy),
        claim.relation,
        verdict,
        measured.reason,
    )


def _replacing(case: Any, values: Mapping[str, float]) -> str:
    """The line that changes a case, if anything is changed."""
    if not values:
        return ""
    before, after = _fields(case), _fields(replaced(case, values))
    names = dict.fromkeys(word.partition(".")[0] for word in values)
    words = ", ".join(f"{name}={after[name]!r}" for name in names if name in before)
    if dataclasses.is_dataclass(case):
        return f"case = dataclasses.replace(case, {words})\n"
    return f"case = case._replace({words})\n"


def _fields(case: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(case):
        return {one.name: getattr(case, one.name) for one in dataclasses.fields(case)}
    return case._asdict() if hasattr(case, "_asdict") else {}


def _is_number(value: Any) -> bool:
    whole = isinstance(value, int | float) and not isinstance(value, bool)
    # Beyond this a number is a stand-in for infinity, and not to be doubled.
    return whole and 0 < abs(value) <= 1e6


def _parameter(name: str, value: float) -> Parameter:
    whole = isinstance(value, int)
    low, high = sorted((value / 2, value * 2))
    if whole:
        low, high = (max(1, int(low)), int(high)) if value > 0 else (int(low), -1)
        high = max(high, low + 1)
    return Parameter(name, value, low, high, whole)
