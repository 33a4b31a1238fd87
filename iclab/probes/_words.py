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
from iclab.probes._selection import NAMED, FamilyChoice, FamilyFit
from iclab.tasks import AbstractTask, LinearRegression, RandomCovariance

if TYPE_CHECKING:
    from iclab.probes._probe import Probe

# Violations below this share are round-off of a model in float32.
_NOTHING = 1e-6


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
            count = f"{p['steps']} step{'s' if p['steps'] > 1 else ''}"
            words = f"gradient descent with a matrix, {count}"
    return words if fit.metric == "inputs" else f"{words} ({fit.metric})"


def verdict_words(choice: FamilyChoice) -> str:
    """The verdict in a phrase."""
    fit, away = choice.fit, choice.fit.distance.value
    if choice.name == "none":
        return f"none (closest: {family_words(fit)}, {share(away)} away)"
    how = "exactly" if away < _NOTHING else f"{share(away)} away"
    return f"{family_words(fit)}, {how}"


def share(value: float) -> str:
    """A share of one for people: 2.3 %, 0.04 %, 0."""
    if value < _NOTHING:
        return "0"
    return f"{100 * value:.2g} %" if value < 0.995 else f"{100 * value:.0f} %"


def _with_interval(found: Interval) -> str:
    if found.value < _NOTHING:
        return "0"
    return f"{share(found.value)} ({share(found.lower)}–{share(found.upper)})"


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
    lines.append("")
    lines += [f"  {line}" for line in _sentences(probe)]
    return "\n".join(lines)


def _sentences(probe: "Probe") -> list[str]:
    n = probe.main
    here = next(one for one in probe.contexts if one.context == n)
    found = [f"With {n} examples:"]
    fit = here.family.fit
    if fit.intervals:
        inside = [
            f"{name} in [{low:.3g}, {high:.3g}]"
            for name, (low, high) in fit.intervals.items()
            if isinstance(low, float) and name != "penalty"
        ]
        found += [f"- {fit.name}: {', '.join(inside)}"] if inside else []
    if here.family.close:
        found.append(f"- as close within the error: {', '.join(here.family.close)}")
    unexplained = max(1 - here.filter.r2.value, 0.0)
    found.append(f"- no filter explains {share(unexplained)} of its predictions")
    own = here.preconditioner
    if own is not None and own.r2.value > here.filter.r2.value + 0.005:
        found.append(
            f"- a matrix of its own explains {share(own.r2.value)}"
            f" (‖Q − I‖ = {own.departure:.2g})"
        )
    broken = [s for s in probe.symmetries if s.violation.value > _NOTHING]
    kept = [s.name for s in probe.symmetries if s.violation.value <= _NOTHING]
    if kept:
        found.append(f"- keeps to within round-off: {', '.join(kept)}")
    for one in broken:
        found.append(f"- {one.name}: off by {_with_interval(one.violation)}")
    found.append(
        f"- one outlier of 10 σ moves it by {probe.influence.change.value:.2g} of its"
        f" size, {probe.influence.linearity.value:.2g} of what a linear method would"
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
    named = any(one.family.name != "none" for one in probe.contexts)
    if not named:
        found.append(
            f"A family is named when all but {share(NAMED)} of the predictions are its."
        )
    return found
