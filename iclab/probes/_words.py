"""A probe in words: tasks, verdicts, and the summary on one screen."""

from typing import TYPE_CHECKING

import numpy as np

from iclab.probes._bootstrap import Interval
from iclab.probes._families import MATRIX
from iclab.probes._filter import Filter
from iclab.probes._layers import Layers
from iclab.probes._shifts import Shift
from iclab.probes._verdict import KIND, NAMED, FamilyFit, Verdict
from iclab.show import counted, number, share
from iclab.tasks import AbstractTask, LinearRegression, RandomCovariance

if TYPE_CHECKING:
    from iclab.probes._probe import ContextProbe, Probe

# Shares below this are round-off of a model in float32.
_NOTHING = 1e-6
# What a broken test says of a model.
_BROKEN = {
    "zero labels": "labels of zero are not answered with zero",
    "label sums": "it is not linear in the labels",
    "label scale": "it does not scale with the labels",
    "order": "the order of the examples matters",
    "rotation": "it sees the coordinates of the inputs",
    "signs": "it tells (x, y) from (−x, −y), as local methods do",
    "query sums": "it is not linear in the query",
}


def task_words(task: AbstractTask) -> str:
    """A task in a line."""
    noise = float(np.asarray(getattr(task, "noise_std", 0.0)))
    ending = f", noise {noise:g}" if noise else ""
    if isinstance(task, LinearRegression):
        values = np.linalg.eigvalsh(np.asarray(task.covariance))
        even = np.allclose(np.asarray(task.covariance), np.eye(len(values)))
        words = ", ".join(f"{value:.3g}" for value in values[:6])
        words += ", …" if len(values) > 6 else ""
        law = "x ~ N(0, I)" if even else f"x ~ N(0, Λ), eigenvalues {words}"
        return f"{law}, y = ⟨w, x⟩{ending}"
    if isinstance(task, RandomCovariance):
        law = type(task.laws[0]).__name__.lower()
        return f"x ~ N(0, diag(λ)), λ new for every prompt ({law}), y = ⟨w, x⟩{ending}"
    return type(task).__name__


def family_words(fit: FamilyFit) -> str:
    """A member of a family with its parameters: `ridge, tau 0.1`."""
    parts, shown = [fit.name], dict(fit.parameters)
    if fit.name == MATRIX:
        count = 1 + sum(name.startswith("step") for name in shown)
        parts, shown = [f"{fit.name}, {counted(count, 'step')}"], {}
    for name, value in list(shown.items())[:6]:
        if isinstance(value, int) and name.endswith("s"):
            parts.append(counted(value, name.removesuffix("s")))
        else:
            parts.append(f"{name} {number(float(value), 3)}")
    words = ", ".join(parts)
    return words if fit.metric == "inputs" else f"{words} (whitened)"


def verdict_words(found: Verdict) -> str:
    """The verdict in a phrase."""
    fit = found.fit
    if fit is None:
        reason = none_words(found)
        return f"none ({reason})" if reason else "none"
    if found.verdict == "is":
        exact = fit.distance.upper < _NOTHING
        away = "" if exact else f", to {_with_interval(fit.distance)}"
        return f"is {family_words(fit)}{away}"
    away = _with_interval(fit.distance)
    return f"closest to {family_words(fit)}: {away} away"


def none_words(found: Verdict) -> str:
    """Why no family is named."""
    far = [t for t in found.tests if t.violation.lower / 2 > KIND]
    left = next((one for one in found.fits if one.excluded == ()), None)
    if left is not None and left.distance.value <= 1:
        return f"nothing is within {share(NAMED)}: nearest {left.name}," + (
            f" {share(left.distance.value)} away"
        )
    worst = sorted(far, key=lambda t: -t.violation.value)[:2]
    return "; ".join(
        f"{_BROKEN[one.name]}, {share(one.violation.value)}" for one in worst
    )


def _with_interval(found: Interval) -> str:
    if found.value < _NOTHING:
        return "0"
    return f"{share(found.value)} ({share(found.lower)}–{share(found.upper)})"


def _change(found: Interval) -> str:
    """How much predictions change, in mean square."""
    if found.value < 10:
        return _with_interval(found)
    ends = f"{number(found.lower, 2)}–{number(found.upper, 2)}"
    return f"{number(found.value, 2)}-fold ({ends})"


def summary(probe: "Probe") -> str:
    """One screen: a headline, a table, and what stands out."""
    lines = [f"{probe.model}: d = {probe.dimension}, {probe.task}", ""]
    head = ("context", "error", "least sq.", "filter R²", "λg at λ small … large")
    lines.append("{:>7}  {:>9}  {:>9}  {:>9}  {:<31}  verdict".format(*head))
    for one in probe.contexts:
        places = np.linspace(
            0, len(one.filter.value) - 1, min(5, len(one.filter.value))
        )
        values = " ".join(f"{one.filter.value[round(i)]:5.2f}" for i in places)
        numbers = (one.error.value, one.least_squares.value, one.filter.r2.value)
        row = "{:>7}  {:>9.3g}  {:>9.3g}  {:>9.4f}".format(one.context, *numbers)
        lines.append(f"{row}  {values:<31}  {verdict_words(one.verdict)}")
        if one.other_noise is not None:
            text = f"with noise {probe.noise:g}" if probe.noise else "without noise"
            lines.append(f"{'':>72} {text}: {verdict_words(one.other_noise)}")
    found = findings(probe)
    lines += ["", *(f"  {line}" for line in found)] if found else []
    lines += ["", f"  With {probe.main} examples:"]
    lines += [f"  {line}" for line in _numbers(probe)]
    return "\n".join(lines)


def headline(probe: "Probe") -> str | None:
    """One sentence if the verdicts of all contexts agree."""
    verdicts = [one.verdict for one in probe.contexts]
    first = verdicts[-1]
    if len(verdicts) < 2 or len({(v.verdict, v.name) for v in verdicts}) > 1:
        return None
    lengths = ", ".join(str(one.context) for one in probe.contexts)
    if first.fit is None:
        return f"No family describes it with {lengths} examples."
    word = "is" if first.verdict == "is" else "is closest to"
    return f"It {word} {first.name} with {lengths} examples."


def findings(probe: "Probe") -> list[str]:
    """What stands out, as sentences."""
    here = probe.at_main
    one = headline(probe)
    found = [] if one is None else [one]
    found += _of_filters(probe)
    for test in here.verdict.tests:
        if test.broken and test.violation.lower > 1e-3:
            words = _BROKEN[test.name]
            away = _with_interval(test.violation)
            found.append(f"{words[0].upper()}{words[1:]}: {away}.")
    if here.verdict.rest is not None:
        found.append(
            f"What is left of it is no noise: {here.verdict.rest} explains part of it."
        )
    if here.far < 0.2 and probe.main > 3:
        found.append(
            f"Near examples decide: labels of the far half make {share(here.far)} of"
            " what all do."
        )
    if probe.layers is not None:
        found += _of_layers(probe.layers)
    found += [line for one in probe.shifts for line in _of_context(one, probe)]
    found += [
        f"With {c.context} examples a few prompts carry the error."
        for c in probe.contexts
        if c.heavy
    ]
    found += probe.notes
    found += [f"Not measured: {line}." for line in probe.missing]
    return found


def _of_filters(probe: "Probe") -> list[str]:
    """From which eigenvalues on it solves, context by context; or nothing."""

    def of(one: "ContextProbe") -> str | None:
        curve: Filter = one.filter
        if curve.solved is None or curve.r2.value < 0.9:
            return None
        ends = f"{number(curve.solved.lower, 2)}–{number(curve.solved.upper, 2)}"
        return f"{number(curve.solved.value, 2)} ({ends}) with {one.context} examples"

    said = [words for one in probe.contexts if (words := of(one)) is not None]
    every = all(
        one.filter.solved is not None
        and one.filter.solved.value <= one.filter.eigenvalues[0] * 1.5
        for one in probe.contexts
    )
    if every:
        return ["λg is within 10 % of 1 along every eigenvalue."]
    return [f"λg is within 10 % of 1 from λ = {', '.join(said)}."] if said else []


def _of_layers(found: Layers) -> list[str]:
    """The block that does most, and what the last read-out is most like."""
    errors = np.array([one.error.value for one in found.layers])
    gains = -np.diff(np.log(np.maximum(errors, 1e-30)))
    if np.max(gains, initial=0.0) < np.log(1.2):
        return []
    best = int(np.argmax(gains)) + 1
    verdict = found.layers[best].verdict
    words = "" if verdict is None else f": {verdict_words(verdict)}"
    return [
        f"Block {best} of {len(errors) - 1} does most: a read-out's error falls from"
        f" {errors[best - 1]:.2g} to {errors[best]:.2g}{words}."
    ]


def _of_context(one: Shift, probe: "Probe") -> list[str]:
    """What longer prompts than in training do."""
    trained = probe.training_context
    if one.name != "context" or trained is None or not np.any(one.setting > trained):
        return []
    inside = one.error[one.setting <= trained][-1]
    beyond = one.error[one.setting > trained][0]
    length = one.setting[one.setting > trained][0]
    if beyond < 2 * inside:
        return [f"Past its training length of {trained} it goes on as before."]
    return [
        f"Past its training length of {trained} it breaks: error {beyond:.2g} with"
        f" {length:g} examples, {inside:.2g} before."
    ]


def _numbers(probe: "Probe") -> list[str]:
    here = probe.at_main
    verdict, fit = here.verdict, here.verdict.fit
    found = []
    if fit is not None and fit.intervals:
        inside = [
            f"{name} in [{number(low, 3)}, {number(high, 3)}]"
            for name, (low, high) in fit.intervals.items()
        ]
        found.append(f"- {fit.name}: {', '.join(inside)}")
    if verdict.close:
        found.append(f"- cannot be told from it: {', '.join(verdict.close)}")
    rest = max(1 - here.filter.r2.value, 0.0)
    found.append(f"- {share(rest)} of its predictions are explained by no filter")
    own = here.preconditioner
    if own is not None and own.earned:
        apart = own.departure
        found.append(
            f"- a matrix of its own explains {share(own.gain.value)} more: ‖Q − I‖/√d ="
            f" {apart.value:.2g} ({apart.lower:.2g}–{apart.upper:.2g})"
        )
    kept = [one.name for one in verdict.tests if not one.broken]
    if kept:
        found.append(f"- passes to within round-off: {', '.join(kept)}")
    for one in verdict.tests:
        if one.broken:
            found.append(f"- fails {one.name}: {_with_interval(one.violation)}")
    for one in probe.extrapolations:
        found.append(f"- {one.name} (off the law): {one.meaning} {_change(one.change)}")
    if probe.weights is not None:
        found.append(
            f"- not linear in the query by {_with_interval(probe.weights.nonlinearity)}"
            "; weights differ from"
            + ",".join(
                f" {name}'s by {share(one.value)}"
                for name, one in probe.weights.distances.items()
            )
        )
    for name, away in here.against.items():
        found.append(f"- {name}: {_with_interval(away)} away")
    if probe.layers is not None:
        for one in probe.layers.layers:
            words = "" if one.verdict is None else f", {verdict_words(one.verdict)}"
            count = counted(one.blocks, "block")
            found.append(f"- read after {count}: error {one.error.value:.3g}{words}")
    for one in probe.shifts:
        pairs = zip(one.setting, one.error, strict=True)
        values = ", ".join(f"{x:g}: {e:.2g}" for x, e in pairs)
        found.append(f"- {one.name}: {values}")
    return found
