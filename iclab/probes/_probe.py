"""All measurements of one model, in one object."""

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
from iclab.core import AbstractPredictor, Deep, Prompt, positive_integer, require
from iclab.probes import _json, _words
from iclab.probes._bootstrap import Interval, bootstrap_weights, ratio
from iclab.probes._families import curve_of
from iclab.probes._filter import Filter, fit_filter
from iclab.probes._implied_weights import ImpliedWeights, implied_weights
from iclab.probes._layers import Layers, layers
from iclab.probes._predictions import predictions, require_a_function
from iclab.probes._selection import FamilyChoice, FamilyFit, choose, whitening
from iclab.probes._shifts import Shift, shifts
from iclab.probes._spectra import Moments, Spectra
from iclab.probes._symmetries import Influence, Symmetry, symmetries
from iclab.tasks import AbstractTask, LinearRegression

_OWNER = "probe"
# Prompts for filter and families; and for what asks the model many times a prompt.
_PROMPTS, _FEW, _FEWEST = 2048, 512, 64
_BINS = 24
# A family further away than this is not the model itself.
_EXACT = 1e-9


@dataclass(frozen=True)
class Preconditioner:
    """The matrix Q of ŷ = x_qᵀ Q^{½} g(Q^{½}SQ^{½}) Q^{½} c that suits a model best.

    It has trace d. `departure` is ‖Q − I‖_F/√d, and `whitened_departure` the same in
    whitened inputs, for a task with a covariance that is not a multiple of I. `r2` is
    that of the best filter g in this metric.
    """

    matrix: Float[np.ndarray, "d d"]
    departure: float
    whitened_departure: float | None
    r2: Interval


@dataclass(frozen=True)
class ContextProbe:
    """What a model does with prompts of one length.

    `error` is E(ŷ − target)² / E target², `least_squares` that of least squares, and
    `against` the distances E(ŷ − other)² / E ŷ² to other predictors. `filter` is in the
    `metric` that explains most; `r2` has the share of every metric. `spectrum` counts
    eigenvalues between `edges`.
    """

    context: int
    error: Interval
    least_squares: Interval
    against: Mapping[str, Interval]
    metric: str
    filter: Filter
    r2: Mapping[str, Interval]
    preconditioner: Preconditioner | None
    family: FamilyChoice
    edges: Float[np.ndarray, " bins1"]
    spectrum: Float[np.ndarray, " bins"]


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

    def summary(self) -> str:
        """What was found, in words and a table, on one screen."""
        return _words.summary(self)

    def json(self) -> dict[str, Any]:
        """All numbers in plain lists and dictionaries."""
        return _json.plain(self)

    def frame(self) -> Any:
        """All numbers as one pandas DataFrame in long form."""
        return _json.frame(self)


def probe(
    predictor: AbstractPredictor,
    task: AbstractTask | None = None,
    *,
    dimension: int | None = None,
    contexts: Sequence[int] | None = None,
    against: Mapping[str, AbstractPredictor] | None = None,
    training_context: int | None = None,
    prompts: int = _PROMPTS,
    name: str | None = None,
    key: PRNGKeyArray | None = None,
    report: Callable[[int, int, str], None] | None = None,
) -> Probe:
    """Measure which algorithm a predictor implements, on common prompts of `task`.

    The default task is x ~ N(0, I), y = ⟨w, x⟩, w ~ N(0, I), in `dimension` dimensions
    (the model's own, if it knows it). `contexts` are the numbers of examples, by
    default d, 2d and 4d as far as the model has room. `report(done, of, what)` is told
    how far things are.
    """
    task = _task(predictor, task, dimension)
    d = task.dimension
    room = getattr(predictor, "max_examples", None)
    counts = _contexts(contexts, d, room)
    P = positive_integer(prompts, _OWNER, "prompts")
    require(P >= 64, _OWNER, "prompts", "≥ 64, for intervals to mean something", P)
    key = jax.random.key(0) if key is None else key
    keys = jax.random.split(key, 6)
    others = dict(against or {})
    main = counts[len(counts) // 2]
    deep = isinstance(predictor, Deep)
    total, done = len(counts) + 5, 0

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
    tell("layers")
    inside = layers(predictor, batch, context=main, key=keys[4]) if deep else None
    tell("shifts")
    longest = max(*counts, 2 * (training_context or counts[-1]))
    lengths = _lengths(min(longest, room or longest))
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
        {m: one.r2 for m, one in filters.items()},
        _preconditioner(moments, answers, weights, family, root),
        family,
        np.exp(edges),
        counts.astype(float),
    )


def _exact(curve: Filter, fit: FamilyFit) -> Filter:
    """The filter of a family that leaves nothing, in place of a spline's."""
    places = Spectra(curve.eigenvalues[:, None], np.zeros((len(curve.value), 1)))
    value = curve_of(fit.name, fit.steps, fit.theta, fit.free, places)
    if value is None or curve.coefficients is not None:
        return curve
    away = fit.distance
    r2 = Interval(1 - away.value, 1 - away.upper, 1 - away.lower)
    return Filter(curve.eigenvalues, value[:, 0], value[:, 0], value[:, 0], r2)


def _preconditioner(moments, answers, weights, family, root) -> Preconditioner | None:
    """The matrix of the preconditioned fit, if it is positive definite."""
    name = "preconditioned gradient descent"
    fit = next((one for one in family.fits if one.name == name), None)
    if fit is None:
        return None
    Q = np.asarray(fit.parameters["preconditioner"])
    values, vectors = np.linalg.eigh(Q)
    if values[0] <= 1e-6 * values[-1]:
        return None
    d = len(Q)
    own = (vectors * np.sqrt(values)) @ vectors.T
    curve = fit_filter(moments.under(own).spectra(), answers, weights)
    Q = Q * d / np.trace(Q)
    apart = lambda M: float(np.linalg.norm(M * d / np.trace(M) - np.eye(d)))  # noqa: E731
    inner = None
    if root is not None:
        back = np.linalg.inv(root)
        inner = apart(back @ Q @ back) / math.sqrt(d)
    return Preconditioner(Q, apart(Q) / math.sqrt(d), inner, curve.r2)


def _task(
    predictor: AbstractPredictor, task: AbstractTask | None, dimension: int | None
) -> AbstractTask:
    own = getattr(predictor, "dimension", None)
    if dimension is not None:
        positive_integer(dimension, _OWNER, "dimension")
    if task is None:
        d = dimension or own
        if d is None:
            raise ValueError(
                f"{_OWNER}: give `dimension` or `task`, as the model does not say its"
                " dimension"
            )
        task = LinearRegression(jnp.eye(d))
    d = task.dimension
    if dimension is not None:
        rule = f"that of `task`, {d}"
        require(dimension == d, _OWNER, "dimension", rule, dimension)
    if own is not None:
        require(d == own, _OWNER, "dimension", f"{own}, the model's own", d)
    return task


def _contexts(
    contexts: Sequence[int] | None, d: int, room: int | None
) -> tuple[int, ...]:
    if contexts is None:
        most = math.inf if room is None else room
        wanted = [n for n in (d, 2 * d, 4 * d) if n <= most] or [int(most)]
    else:
        wanted = [positive_integer(n, _OWNER, "contexts") for n in contexts]
        require(bool(wanted), _OWNER, "contexts", "at least one length", "none")
    if room is not None:
        rule = f"at most {room}, the model's room"
        require(max(wanted) <= room, _OWNER, "contexts", rule, max(wanted))
    return tuple(sorted(set(wanted)))


def _lengths(longest: int) -> tuple[int, ...]:
    """About ten lengths up to the longest, closer together at the start."""
    return tuple(sorted({round(n) for n in np.geomspace(1, longest, 10)}))


@eqx.filter_jit
def _sample(task: AbstractTask, key: PRNGKeyArray, prompts: int, examples: int):
    return task.sample_batch(key, prompts, examples)
