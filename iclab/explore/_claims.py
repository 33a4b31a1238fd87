"""Claims with parameters that one moves: prediction, measurement and decoy."""

import dataclasses
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from iclab import papers, show
from iclab.evidence import (
    Claim,
    Entry,
    Relation,
    Verdict,
    bars_off,
    case_key,
    case_verdict,
)
from iclab.explore._settings import Limits, Settings
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
    stays as its paper wrote it.
    """

    page = "claims"

    id: str = "ahn2023/section-4-isotropic"
    case: str = ""
    changes: str = ""
    seed: Annotated[int, Limits(0, 999)] = 0

    @property
    def entry(self) -> Entry:
        """What the registry says of the claim; that of the default for an unknown."""
        known = {one.id: one for one in claims()}
        return known.get(self.id, known[Moved.id])

    @property
    def claim(self) -> Claim:
        return papers.load_claim(self.entry)

    @property
    def cases(self) -> Mapping[str, Any]:
        """Cases of the claim by name."""
        return self.claim.cases(SCALE)

    @property
    def case_name(self) -> str:
        """Name of the case; the first where the name is unknown."""
        return self.case if self.case in self.cases else next(iter(self.cases))

    def words(self) -> str:
        """What the claim states and how it is checked, in Markdown."""
        entry, how = self.entry, dict(papers.method(self.entry).steps)
        found = [f"**{entry.id}** — {entry.statement}"]
        if entry.correction:
            found.append(f"*Corrected:* {entry.correction}")
        names = {"predict": "Prediction", "measure": "Measurement", "decoy": "Decoy"}
        lines = (f"- *{word}:* {how[one]}" for one, word in names.items() if one in how)
        return "\n\n".join([*found, "\n".join(lines)])

    def moved(self, values: Mapping[str, float], seed: int) -> "Moved":
        """The settings that sliders stand for, as short as a link can be."""
        own = {one.name: one.value for one in self.parameters()}
        changed = {name: value for name, value in values.items() if value != own[name]}
        changes = ";".join(f"{name}:{value:.6g}" for name, value in changed.items())
        first = self.case_name == next(iter(self.cases))
        return Moved(self.id, "" if first else self.case_name, changes, seed)

    def parameters(self) -> list[Parameter]:
        """Numbers of the case as its paper wrote it, those in tuples too."""
        found = []
        for name, value in _fields(self.cases[self.case_name]).items():
            if _is_number(value):
                found.append(_parameter(name, value))
            elif isinstance(value, tuple) and value and all(map(_is_number, value)):
                parts = enumerate(value[:6])
                found += [_parameter(f"{name}.{i}", one) for i, one in parts]
        return found

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

    def changed_fields(self) -> dict[str, Any]:
        """Fields of the case that are changed, with their new values."""
        own, found = _fields(self.cases[self.case_name]), {}
        for word, value in self.values().items():
            name, _, place = word.partition(".")
            if place:
                now = list(found.get(name, own[name]))
                now[int(place)] = type(now[int(place)])(value)
                found[name] = tuple(now)
            else:
                found[name] = type(own[name])(value)
        return found

    def changed(self) -> Any:
        """The case with its numbers changed."""
        case, changes = self.cases[self.case_name], self.changed_fields()
        if dataclasses.is_dataclass(case):
            return dataclasses.replace(case, **changes)  # type: ignore[type-var]
        return case._replace(**changes) if changes else case

    def trial(self) -> Trial:
        """Predict, measure and try the decoy."""
        claim, case = self.claim, self.changed()
        try:
            predicted, decoy = claim.predict(case), claim.decoy(case)
            key = case_key(self.seed, self.case_name)
            measured = claim.measured(case, key, SCALE)
            verdict = case_verdict(measured, claim.relation, predicted, decoy)
        except LookupError as problem:
            raise Refused("the claim is measured for its own cases only") from problem
        except (ArithmeticError, AssertionError, RuntimeError, ValueError) as problem:
            words = str(problem).strip().splitlines() or [type(problem).__name__]
            raise Refused(words[0]) from problem
        value = np.atleast_1d(np.asarray(measured.value, float))

        def flat(one: Any) -> np.ndarray:
            whole = np.broadcast_to(np.asarray(one, float), value.shape)
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

    def code(self) -> str:
        name, changes = self.case_name, self.changed_fields()
        words = ", ".join(f"{field}={value!r}" for field, value in changes.items())
        change = f"case = case._replace({words})\n" if words else ""
        if words and dataclasses.is_dataclass(self.cases[name]):
            change = f"case = dataclasses.replace(case, {words})\n"
        return f"""\
import dataclasses
from iclab import papers
from iclab.evidence import case_key, case_verdict

(entry,) = papers.select(["{self.entry.id}"])
claim = papers.load_claim(entry)
case = claim.cases("{SCALE}")[{name!r}]
{change}predicted, decoy = claim.predict(case), claim.decoy(case)
measured = claim.measured(case, case_key({self.seed}, {name!r}), "{SCALE}")
verdict = case_verdict(measured, claim.relation, predicted, decoy)
"""


def claims() -> tuple[Entry, ...]:
    """Every claim of every paper that is loaded."""
    return tuple(one for one in papers.select() if one.kind == "claim")


def distance_chart(trial: Trial | None, title: str) -> Chart:
    """How far prediction and decoy are from the measurement, entry by entry."""
    count = 1 if trial is None else len(trial.predicted)
    x = Axis("entry", 0.5, count + 0.5, whole=True)
    y = Axis("distance in error bars", _NEAREST, _FARTHEST, log=True)
    chart = Chart(x, y, title=title, width=560, height=380)
    chart.level(1.0, "edge of the error bar", Style(GREY, "2 3"))
    if trial is None:
        return chart
    statements = {"prediction": trial.predicted, "decoy": trial.decoy}
    for i, (name, statement) in enumerate(statements.items()):
        if statement is not None:
            entries = np.arange(1, count + 1) - 0.08 + 0.16 * i
            inside = 1.3 * _NEAREST, _FARTHEST / 1.3
            off = np.clip(trial.distances(statement), *inside)
            chart.points(entries, off, name, STYLES[i])
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
    rows = [(t.measured, t.error, t.predicted, t.decoy) for _, t in pairs]
    measured, error, predicted, decoy = (
        np.array([np.nan if one is None else one[entry] for one in column])
        for column in (zip(*rows, strict=True) if rows else ([],) * 4)
    )
    # A bar far larger than the number says no more than one of its size.
    bar = np.minimum(error, np.max(np.abs(measured), initial=0.0))
    ends = {"lower": measured - bar, "upper": measured + bar}
    x = around([places], history.name)
    y = around([*ends.values(), predicted, decoy], "value")
    title = f"Entry {entry + 1} as {history.name} moves"
    chart = Chart(x, y, title=title, width=560, height=380)
    draw = functools.partial(chart.line, width=1.8) if len(pairs) > 1 else chart.points
    draw(places, predicted, "prediction", STYLES[0])
    draw(places, decoy, "decoy", STYLES[1])
    black = Style("currentColor", "", "diamond")
    chart.points(places, measured, "measured", black, **ends)
    return chart


def table(trial: Trial) -> str:
    """The numbers of a trial, as HTML."""
    head = ("entry", "prediction", "measured", "± error bar", "decoy")
    errors = [show.number(one, 2) for one in trial.error]
    decoy = [None] * len(errors) if trial.decoy is None else trial.decoy
    columns = (range(1, 13), trial.predicted, trial.measured, errors, decoy)
    more = len(trial.predicted) - 12
    tail = f"<p>… and {more} more entries</p>" if more > 0 else ""
    return show.table(head, list(zip(*columns, strict=False)), digits=6) + tail


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
