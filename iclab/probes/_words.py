"""A probe in words: tasks, families, and the summary on one screen."""

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from iclab.algorithms import (
    GradientDescent,
    GradientDescentPlusPlus,
    IterativeNewton,
    LeastSquares,
    PreconditionedGradientDescent,
    Ridge,
    Zero,
)
from iclab.core import AbstractPredictor
from iclab.probes._bootstrap import Interval
from iclab.probes._filter import Filter
from iclab.probes._layers import Layers
from iclab.probes._selection import NAMED, FamilyChoice, FamilyFit
from iclab.probes._shifts import Shift
from iclab.probes._symmetries import Influence
from iclab.show import counted, number, share
from iclab.tasks import AbstractTask, LinearRegression, RandomCovariance

if TYPE_CHECKING:
    from iclab.probes._probe import Probe

# Violations below this share are round-off of a model in float32.
_NOTHING = 1e-6
# Violations worth a sentence, and how close to 1 a λg is a solution.
_SEEN, _SOLVED = 0.01, 0.1


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


def as_predictor(fit: FamilyFit, context: int) -> AbstractPredictor | None:
    """The fitted member itself, where the classical algorithms have it."""
    p, k = fit.parameters, fit.steps
    if fit.metric != "inputs":
        return None
    match fit.name:
        case "zero":
            return Zero()
        case "least squares":
            return LeastSquares()
        case "averaging":
            return GradientDescent(jnp.array([p["step"]]))
        case "ridge":
            return Ridge(context * p["tau"])
        case "Newton":
            assert k is not None
            return IterativeNewton(k)
        case "gradient descent":
            sizes = p["step_sizes"] if fit.free else [p["step"]] * (k or 1)
            return None if sizes is None else GradientDescent(jnp.array(sizes))
        case "GD++":
            eta = p["step_sizes"] if fit.free else [p["step"]] * (k or 1)
            beta = (
                p["contractions"] if fit.free else [p["contraction"]] * (len(eta) - 1)
            )
            return GradientDescentPlusPlus(jnp.array(eta), jnp.array([*beta, 0.0]))
        case "preconditioned gradient descent":
            Q, eta = jnp.array(p["preconditioner"]), jnp.array(p["step_sizes"])
            return PreconditionedGradientDescent(Q, eta)
    return None


def family_words(fit: FamilyFit) -> str:
    """A member of a family with its parameters: `ridge, τ = 0.1`."""
    p, words = fit.parameters, fit.name
    many = lambda values: ", ".join(f"{value:.3g}" for value in values)  # noqa: E731
    match fit.name:
        case "averaging":
            words = f"averaging (one step of {p['step']:.3g})"
        case "ridge":
            words = f"ridge, τ = {p['tau']:.3g}"
        case "gradient flow":
            words = f"gradient flow, time {p['time']:.3g}"
        case "Newton":
            words = f"Newton, {p['iterations']} iterations"
        case "gradient descent" | "GD++" if "step" in p:
            words = f"{fit.name}, {p['steps']} steps of {p['step']:.3g}"
        case "gradient descent" | "GD++" if p["step_sizes"]:
            words = f"{fit.name}, steps {many(p['step_sizes'])}"
        case "gradient descent":
            words = f"gradient descent, {p['steps']} steps (a polynomial)"
        case "preconditioned gradient descent":
            words = f"gradient descent with a matrix, {counted(p['steps'], 'step')}"
    return words if fit.metric == "inputs" else f"{words} ({fit.metric})"


def verdict_words(choice: FamilyChoice) -> str:
    """The verdict in a phrase."""
    fit, away = choice.fit, choice.fit.distance.value
    if choice.name == "none":
        return f"none (closest: {family_words(fit)}, {share(away)} away)"
    how = "exactly" if away < _NOTHING else f"{share(away)} away"
    return f"{family_words(fit)}, {how}"


def _with_interval(found: Interval) -> str:
    if found.value < _NOTHING:
        return "0"
    return f"{share(found.value)} ({share(found.lower)}–{share(found.upper)})"


def _change(found: Interval) -> str:
    """How much predictions change, in mean square."""
    if found.value < 10:
        return f"changed by {_with_interval(found)}"
    ends = f"{number(found.lower, 2)}–{number(found.upper, 2)}"
    return f"the squared prediction grows {number(found.value, 2)}-fold ({ends})"


def _outlier(found: Influence) -> str:
    linear = found.linearity.value
    other = f"{linear:.2g} of what a linear method does"
    other = "a linear method: the same" if abs(linear - 1) < 0.005 else other
    return f"{found.change.value:.2g}-fold ({other})"


def summary(probe: "Probe") -> str:
    """One screen: verdicts and a table."""
    lines = [f"{probe.model}: d = {probe.dimension}, {probe.task}", ""]
    head = ("context", "error", "least sq.", "filter R²", "λg at λ small … large")
    lines.append("{:>7}  {:>9}  {:>9}  {:>9}  {:<31}  algorithm".format(*head))
    for one in probe.contexts:
        places = np.linspace(
            0, len(one.filter.value) - 1, min(5, len(one.filter.value))
        )
        values = " ".join(f"{one.filter.value[round(i)]:5.2f}" for i in places)
        numbers = (one.error.value, one.least_squares.value, one.filter.r2.value)
        row = "{:>7}  {:>9.3g}  {:>9.3g}  {:>9.4f}".format(one.context, *numbers)
        lines.append(f"{row}  {values:<31}  {verdict_words(one.family)}")
    found = findings(probe)
    lines += ["", *(f"  {line}" for line in found)] if found else []
    lines += ["", f"  With {probe.main} examples:"]
    lines += [f"  {line}" for line in _numbers(probe)]
    return "\n".join(lines)


def findings(probe: "Probe") -> list[str]:
    """What stands out, as sentences."""
    here = probe.at_main
    found = [*_of_filter(here.filter)]
    broken = {one.name: one.violation for one in probe.symmetries}
    labels = max(broken["label scale"].value, broken["label sums"].value)
    if labels > _SEEN:
        linearity = probe.influence.linearity.value
        found.append(
            f"It is not linear in the labels ({share(labels)} of its predictions), and"
            f" an outlier changes them by {linearity:.2g} of what a linear method does."
        )
    if broken["order"].lower > _SEEN:
        found.append(
            f"The order of the examples matters ({share(broken['order'].value)})."
        )
    if probe.layers is not None:
        found += _of_layers(probe.layers)
    found += [line for one in probe.shifts for line in _of_context(one, probe)]
    if all(one.family.name == "none" for one in probe.contexts):
        found.append(
            f"A family is named when all but {share(NAMED)} of the predictions are its."
        )
    return found


def _of_filter(curve: Filter) -> list[str]:
    """Where it solves, and what it drops."""
    h, lam = curve.value, curve.eigenvalues
    known = curve.upper - curve.lower <= 1
    solved = known & (np.abs(h - 1) <= _SOLVED)
    # The largest eigenvalue is rare: its value may stand apart.
    if not np.any(solved[-2:]):
        return []
    if np.all(solved[known]):
        return ["It solves along every eigenvalue: λg is within 10 % of 1."]
    first = int(np.flatnonzero(solved)[-1])
    while first > 0 and solved[first - 1]:
        first -= 1
    found = f"It solves along eigenvalues above {lam[first]:.2g} (λg within 10 % of 1)"
    dropped = np.flatnonzero(known & (h < 0.5))
    if len(dropped) and dropped[-1] < first:
        found += f" and drops those below {lam[dropped[-1]]:.2g} (λg under ½)"
    return [f"{found}."]


def _of_layers(found: Layers) -> list[str]:
    """The block that does most, and what the last read-out is most like."""
    errors = np.array([one.error.value for one in found.layers])
    gains = -np.diff(np.log(np.maximum(errors, 1e-30)))
    if np.max(gains, initial=0.0) < np.log(1.2):
        return []
    best = int(np.argmax(gains)) + 1
    pairs = (("gradient descent", found.descent), ("Newton's method", found.newton))
    name, one = max(pairs, key=lambda pair: np.max(pair[1].value[best]))
    j = int(np.argmax(one.value[best]))
    count = counted(int(one.steps[j]), "step")
    return [
        f"Block {best} of {len(errors) - 1} does most: a read-out's error falls from"
        f" {errors[best - 1]:.2g} to {errors[best]:.2g}, most like {count}"
        f" of {name} (agreement {one.value[best, j]:.2f})."
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
    found = []
    fit = here.family.fit
    if fit.intervals:
        inside = [
            f"{name} in [{low:.3g}, {high:.3g}]"
            for name, (low, high) in fit.intervals.items()
            if np.isscalar(low) and name != "penalty"
        ]
        found += [f"- {fit.name}: {', '.join(inside)}"] if inside else []
    if here.family.close:
        found.append(f"- as close within the error: {', '.join(here.family.close)}")
    unexplained = max(1 - here.filter.r2.value, 0.0)
    found.append(
        f"- {share(unexplained)} of its predictions are explained by no filter"
    )
    own = here.preconditioner
    if own is not None and own.earned:
        apart = own.departure
        found.append(
            f"- a matrix of its own explains {share(own.gain.value)} more: ‖Q − I‖/√d ="
            f" {apart.value:.2g} ({apart.lower:.2g}–{apart.upper:.2g})"
        )
    broken = [s for s in probe.symmetries if s.violation.value > _NOTHING]
    kept = [s.name for s in probe.symmetries if s.violation.value <= _NOTHING]
    if kept:
        found.append(f"- keeps to within round-off: {', '.join(kept)}")
    for one in broken:
        found.append(f"- {one.name}: {_change(one.violation)}")
    found.append(
        f"- one outlier of 10 σ changes the prediction {_outlier(probe.influence)}"
    )
    found.append(
        f"- not linear in the query by {_with_interval(probe.weights.nonlinearity)};"
        " weights differ from"
        + ",".join(
            f" {name}'s by {share(one.value)}"
            for name, one in probe.weights.distances.items()
        )
    )
    if probe.layers is not None:
        errors = ", ".join(f"{one.error.value:.3g}" for one in probe.layers.layers)
        found.append(f"- error read after 0, 1, … blocks: {errors}")
    for one in probe.shifts:
        pairs = zip(one.setting, one.error, strict=True)
        values = ", ".join(f"{x:g}: {e:.2g}" for x, e in pairs)
        found.append(f"- {one.name}: {values}")
    return found
