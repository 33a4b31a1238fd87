"""All measurements of one model, in one object."""

import html
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from iclab.algorithms import LeastSquares
from iclab.core import (
    AbstractPredictor,
    Deep,
    Natural,
    Prompt,
    checked,
    named_predictors,
    read,
    refuse,
    require,
)
from iclab.probes import _json, _words
from iclab.probes._bootstrap import Interval, bootstrap_weights, ratio
from iclab.probes._families import curve_of
from iclab.probes._filter import Filter, fit_filter
from iclab.probes._implied_weights import ImpliedWeights, implied_weights
from iclab.probes._layers import Layers, layers
from iclab.probes._preconditioner import Preconditioner, fit_preconditioner
from iclab.probes._predictions import predictions, require_a_function
from iclab.probes._selection import FamilyChoice, FamilyFit, choose, whitening
from iclab.probes._shifts import Shift, shifts
from iclab.probes._spectra import Moments, Spectra
from iclab.probes._symmetries import Influence, Symmetry, symmetries
from iclab.tasks import AbstractTask, LinearRegression

# Prompts for filter and families; and for what asks the model many times a prompt.
_PROMPTS, _FEW, _FEWEST = 2048, 512, 64
_BINS = 24
# Numbers in all prompts together: 4 GB.
_MOST = 5e8
# A family further away than this is not the model itself.
_EXACT = 1e-9


@checked(finite=False)
@dataclass(frozen=True)
class ContextProbe:
    """What a model does with prompts of one length.

    `error` is E(ŷ − target)² / E target², `least_squares` that of least squares, and
    `against` the distances E(ŷ − other)² / E ŷ² to other predictors. `filter` is in the
    `metric` that explains most; `r2` has the share of every metric. `closest` is the
    curve of the closest family at the same eigenvalues; of one that is no filter, as
    Newton's method, the curve that the same fit finds. `spectrum` counts eigenvalues
    between `edges`.
    """

    context: int
    error: Interval
    least_squares: Interval
    against: Mapping[str, Interval]
    metric: str
    filter: Filter
    closest: Float[np.ndarray, " knots"]
    r2: Mapping[str, Interval]
    preconditioner: Preconditioner | None
    family: FamilyChoice
    edges: Float[np.ndarray, " bins1"]
    spectrum: Float[np.ndarray, " bins"]


@checked(finite=False)
@dataclass(frozen=True)
class Probe:
    """Everything that was measured of a model; `probe` makes it.

    Symmetries, implied weights, layers and shifts are at the context `main`.
    """

    model: str
    task: str
    dimension: int
    prompts: int
    training_context: int | None
    contexts: tuple[ContextProbe, ...]
    main: int
    symmetries: tuple[Symmetry, ...]
    influence: Influence
    weights: ImpliedWeights
    layers: Layers | None
    shifts: tuple[Shift, ...] = field(default=())

    def __post_init__(self):
        known = [one.context for one in self.contexts]
        rule = f"among the contexts of `contexts`, {known}"
        require(self.main in known, "main", rule, self.main)
        names = [one.name for one in self.symmetries]
        complete = {"label scale", "label sums", "order"} <= set(names)
        rule = "all that `probes.symmetries` measures"
        require(complete, "symmetries", rule, names)

    @property
    def at_main(self) -> ContextProbe:
        """What was found at the context `main`."""
        return next(one for one in self.contexts if one.context == self.main)

    def summary(self) -> str:
        """What was found, in words and a table, on one screen."""
        return _words.summary(self)

    def _repr_html_(self) -> str:
        main = next(one for one in self.contexts if one.context == self.main)
        words = html.escape(self.summary())
        return f"<pre>{words}</pre>{main.filter._repr_html_()}"

    def json(self) -> dict[str, Any]:
        """All numbers in plain lists and dictionaries."""
        return _json.to_json(self)

    def frame(self) -> Any:
        """All numbers as one pandas DataFrame in long form."""
        return _json.frame(self)


@checked(finite=False)
def probe(
    predictor: AbstractPredictor,
    task: AbstractTask | None = None,
    *,
    dimension: int | None = None,
    contexts: Sequence[int] | None = None,
    against: Mapping[str, AbstractPredictor] | None = None,
    training_context: Natural | None = None,
    prompts: Natural = _PROMPTS,
    name: str | None = None,
    key: PRNGKeyArray | None = None,
    report: Callable[[int, int, str], None] | None = None,
) -> Probe:
    """Measure which algorithm a predictor implements, on common prompts of `task`.

    The default task is x ~ N(0, I), y = ⟨w, x⟩, w ~ N(0, I), in `dimension` dimensions
    (the model's own, if it knows it). `contexts` are the numbers of examples, by
    default d, 2d and 4d, at most the model's longest and its `training_context`.
    `report(done, of, what)` is called when a step begins.
    """
    P = read(prompts, Natural, "prompts")
    require(P >= 64, "prompts", "≥ 64, for intervals to mean something", P)
    others = named_predictors(against or {}, "against")
    task = _task(predictor, task, dimension, P)
    d = task.dimension
    longest = getattr(predictor, "max_examples", None)
    counts = _contexts(contexts, d, longest, training_context)
    numbers = P * max(*counts, d) * d
    rule = f"few enough for {_MOST:.0e} numbers in all, prompts × examples × dimension"
    require(numbers <= _MOST, "prompts", rule, f"{numbers:.1e}")
    key = jax.random.key(0) if key is None else key
    keys = jax.random.split(key, 6)
    main = counts[len(counts) // 2]
    deep = isinstance(predictor, Deep)
    # What shows no layers is not said to be looked at there.
    total, done = len(counts) + 4 + deep, 0

    def tell(text: str) -> None:
        nonlocal done
        if report is not None:
            report(done, total, text)
        done += 1

    tell("predictions")
    batch = _sample(task, keys[0], P, max(counts))
    require_a_function(predictor, batch)
    answers = predictions(predictor, batch, counts)
    weights = bootstrap_weights(keys[1], P)
    found = []
    for column, n in enumerate(counts):
        tell(f"families with {n} examples")
        one = answers[:, column]
        found.append(_context(batch, n, one, weights, task, others))
    small = lambda number: jax.tree.map(lambda leaf: leaf[:number], batch)  # noqa: E731
    tell("symmetries")
    symmetric, influence = symmetries(predictor, small(_FEW), context=main, key=keys[2])
    tell("implied weights")
    rivals = {"least squares": LeastSquares(), **others}
    here = next(one for one in found if one.context == main)
    closest = _words.as_predictor(here.family.fit, main)
    if closest is not None and here.family.fit.name not in rivals:
        rivals = {here.family.fit.name: closest, **rivals}
    acting = implied_weights(
        predictor, small(_FEWEST), context=main, against=rivals, key=keys[3]
    )
    inside = None
    if deep:
        tell("layers")
        inside = layers(predictor, batch, context=main, key=keys[4])
    tell("shifts")
    wanted = max(*counts, 2 * (training_context or counts[-1]))
    lengths = _lengths(min(wanted, longest or wanted))
    moved = shifts(
        predictor, task, context=main, lengths=lengths, prompts=_FEW, key=keys[5]
    )
    if report is not None:
        report(total, total, "done")
    return Probe(
        name or type(predictor).__name__,
        _words.task_words(task),
        d,
        P,
        training_context,
        tuple(found),
        main,
        symmetric,
        influence,
        acting,
        inside,
        moved,
    )


def _context(
    batch: Prompt,
    n: int,
    answers: Float[np.ndarray, " prompts"],
    weights: Float[np.ndarray, "draws prompts"],
    task: AbstractTask,
    others: Mapping[str, AbstractPredictor],
) -> ContextProbe:
    target = np.asarray(batch.target, float)
    moments = Moments.of(batch, n)
    spectra = {"inputs": moments.spectra()}
    root = whitening(task)
    if root is not None:
        spectra["whitened"] = moments.under(root).spectra()
    filters = {m: fit_filter(one, answers, weights) for m, one in spectra.items()}
    family = choose(moments, answers, weights, task)
    metric = max(filters, key=lambda m: filters[m].r2.value)
    # A metric must earn its place; where all explain the same, the inputs' own stays.
    if filters[metric].r2.value - filters["inputs"].r2.value < 1e-4:
        metric = "inputs"
    curve = filters[metric]
    if family.fit.metric == metric and family.fit.distance.value < _EXACT:
        curve = _exact(curve, family.fit)
    logs = np.log(spectra[metric].present)
    counts, edges = np.histogram(logs, _BINS)

    def distance(other: AbstractPredictor) -> Interval:
        theirs = predictions(other, batch, [n])[:, 0]
        return ratio((answers - theirs) ** 2, answers**2, weights)

    solved = spectra["inputs"].least_squares()
    return ContextProbe(
        n,
        ratio((answers - target) ** 2, target**2, weights),
        ratio((solved - target) ** 2, target**2, weights),
        {name: distance(other) for name, other in others.items()},
        metric,
        curve,
        _closest(curve, family.fit, metric, spectra[metric], weights),
        {m: one.r2 for m, one in filters.items()},
        _preconditioner(moments, answers, weights, family, root),
        family,
        np.exp(edges),
        counts.astype(float),
    )


def _exact(curve: Filter, fit: FamilyFit) -> Filter:
    """The filter of a family that leaves nothing, in place of a spline's."""
    value = _curve(curve, fit)
    if value is None or curve.coefficients is not None:
        return curve
    away = fit.distance
    r2 = Interval(1 - away.value, 1 - away.upper, 1 - away.lower)
    return Filter(curve.eigenvalues, value, value, value, r2)


def _closest(curve, fit: FamilyFit, metric: str, spectra: Spectra, weights):
    """The filter of a fitted family, or what looks like it through the same glasses."""
    value = _curve(curve, fit) if fit.metric == metric else None
    if value is None:
        value = fit_filter(spectra, fit.predictions, weights[:2]).value
    return value


def _curve(curve: Filter, fit: FamilyFit) -> Float[np.ndarray, " knots"] | None:
    places = Spectra(curve.eigenvalues[:, None], np.zeros((len(curve.value), 1)))
    curve_at = curve_of(fit.name, fit.steps, fit.free, places)
    # Newton's method depends on the trace too, which single eigenvalues do not have.
    if curve_at is None or fit.name == "Newton":
        return None
    return curve_at(fit.theta)[0][:, 0]


def _preconditioner(moments, answers, weights, family, root) -> Preconditioner | None:
    """The model's own matrix, sought from I, from Λ^{−½} and from the steps' matrix."""
    starts = [] if root is None else [root]
    name = "preconditioned gradient descent"
    fit = next((one for one in family.fits if one.name == name), None)
    if fit is not None:
        values, vectors = np.linalg.eigh(np.asarray(fit.parameters["preconditioner"]))
        if values[0] > 1e-6 * values[-1]:
            starts.append((vectors * np.sqrt(values)) @ vectors.T)
    return fit_preconditioner(
        moments, answers, weights, starts=tuple(starts), whitening=root
    )


def _task(
    predictor: AbstractPredictor,
    task: AbstractTask | None,
    dimension: int | None,
    prompts: int,
) -> AbstractTask:
    own = getattr(predictor, "dimension", None)
    if dimension is not None:
        read(dimension, Natural, "dimension")
    if task is None:
        d = dimension or own
        if d is None:
            refuse(
                "give `dimension` or `task`, as the model does not say its dimension"
            )
        numbers = prompts * d**2
        rule = f"small enough for {_MOST:.0e} numbers, prompts × dimension²"
        require(numbers <= _MOST, "dimension", rule, f"{numbers:.1e}")
        task = LinearRegression(jnp.eye(d))
    d = task.dimension
    if dimension is not None:
        rule = f"that of `task`, {d}"
        require(dimension == d, "dimension", rule, dimension)
    if own is not None:
        require(d == own, "dimension", f"{own}, the model's own", d)
    return task


def _contexts(
    contexts: Sequence[int] | None, d: int, longest: int | None, trained: int | None
) -> tuple[int, ...]:
    if contexts is None:
        # Not past what the model has seen: that is a shift, and measured as one.
        most = min(longest or math.inf, trained or math.inf)
        wanted = [int(min(n, most)) for n in (d, 2 * d, 4 * d)]
    else:
        wanted = [read(n, Natural, "contexts") for n in contexts]
        require(bool(wanted), "contexts", "at least one length", "none")
    if longest is not None:
        rule = f"at most {longest}, the model's longest context"
        require(max(wanted) <= longest, "contexts", rule, max(wanted))
    return tuple(sorted(set(wanted)))


def _lengths(longest: int) -> tuple[int, ...]:
    """About ten lengths up to the longest, closer together at the start."""
    return tuple(sorted({round(n) for n in np.geomspace(1, longest, 10)}))


@eqx.filter_jit
def _sample(task: AbstractTask, key: PRNGKeyArray, prompts: int, examples: int):
    return task.sample_batch(key, prompts, examples)
