"""All measurements of one model, in one object."""

import html
import math
import warnings
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
    Foreign,
    HeavyTails,
    Natural,
    Prompt,
    checked,
    largest_share,
    named_predictors,
    read,
    refuse,
    require,
)
from iclab.evaluation import prompt_average
from iclab.probes import _json, _words
from iclab.probes._asking import prepared
from iclab.probes._bootstrap import Interval, bootstrap_weights, ratio
from iclab.probes._families import Family, Row
from iclab.probes._filter import Filter, fit_filter
from iclab.probes._fit import Member
from iclab.probes._implied_weights import ImpliedWeights, implied_weights
from iclab.probes._kinds import (
    Extrapolation,
    asking,
    extrapolations,
    locality,
    other_labels,
    sizes_of,
)
from iclab.probes._layers import Layers, layers
from iclab.probes._preconditioner import Preconditioner, fit_preconditioner
from iclab.probes._predictions import predictions
from iclab.probes._shifts import Shift, shifts
from iclab.probes._spectra import Moments, Sample
from iclab.probes._verdict import (
    RESOLUTION,
    TESTS,
    Verdict,
    rival,
    verdict_of,
    whitening,
)
from iclab.tasks import AbstractTask, LinearRegression, NoisyLabels

# Prompts for filter and families; and for what asks the model many times a prompt.
_PROMPTS, _FEW, _FEWEST = 2048, 512, 64
_BINS = 24
# Numbers in all prompts together: 4 GB.
_MOST = 5e8
# Noise of the second pass, as a share of the labels' deviation; prompts of a mixture.
_NOISE, _OF_MIXTURE = 0.25, 1 << 14
# What a stage may fail with; it is reported then, and the others go on.
_FAILS = (ValueError, ArithmeticError, RuntimeError, MemoryError)


@checked(finite=False)
@dataclass(frozen=True)
class ContextProbe:
    """What a model does with prompts of one length.

    `verdict` says what it is, and `other_noise` the same on prompts with noise (without
    noise, for a task that has some). `error` is E(ŷ − target)² / E target²,
    `least_squares` that of least squares; where a few prompts carry it, it comes from
    a mixture and `heavy` says so. `against` are the distances E(ŷ − other)² / E ŷ² to
    other predictors. `filter` is in the `metric` that explains most; `r2` has the share
    of every metric. `closest` is the named family's curve at the same eigenvalues.
    `far` is how much the far half of the examples counts. `spectrum` counts
    eigenvalues between `edges`.
    """

    context: int
    verdict: Verdict
    other_noise: Verdict | None
    error: Interval
    least_squares: Interval
    heavy: bool
    against: Mapping[str, Interval]
    metric: str
    filter: Filter
    closest: Float[np.ndarray, " knots"] | None
    r2: Mapping[str, Interval]
    preconditioner: Preconditioner | None
    far: float
    edges: Float[np.ndarray, " bins1"]
    spectrum: Float[np.ndarray, " bins"]


@checked(finite=False)
@dataclass(frozen=True)
class Probe:
    """Everything that was measured of a model; `probe` makes it.

    Extrapolation, implied weights, layers and shifts are at the context `main`, None or
    empty where they could not be measured: `missing` says why. `notes` are what was odd
    about the model itself, and `noise` is the other noise of `other_noise`.
    """

    model: str
    task: str
    dimension: int
    prompts: int
    training_context: int | None
    contexts: tuple[ContextProbe, ...]
    main: int
    noise: float | None = None
    extrapolations: tuple[Extrapolation, ...] = ()
    weights: ImpliedWeights | None = None
    layers: Layers | None = None
    shifts: tuple[Shift, ...] = field(default=())
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def __post_init__(self):
        known = [one.context for one in self.contexts]
        rule = f"among the contexts of `contexts`, {known}"
        require(self.main in known, "main", rule, self.main)

    @property
    def at_main(self) -> ContextProbe:
        """What was found at the context `main`."""
        return next(one for one in self.contexts if one.context == self.main)

    def summary(self) -> str:
        """What was found, in words and a table, on one screen."""
        return _words.summary(self)

    def _repr_html_(self) -> str:
        words = html.escape(self.summary())
        return f"<pre>{words}</pre>{self.at_main.filter._repr_html_()}"

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
    max_context: int | None = None,
    against: Mapping[str, AbstractPredictor] | None = None,
    families: Sequence[Any] = (),
    noise: float | None = None,
    resolution: float = RESOLUTION,
    training_context: Natural | None = None,
    prompts: Natural = _PROMPTS,
    name: str | None = None,
    key: PRNGKeyArray | None = None,
    report: Callable[[int, int, str], None] | None = None,
    say: Callable[[str], None] | None = None,
) -> Probe:
    """Measure which algorithm a predictor implements, on common prompts of `task`.

    The default task is x ~ N(0, I), y = ⟨w, x⟩, w ~ N(0, I), in `dimension` dimensions
    (the model's own, if it knows it). `contexts` are the numbers of examples, by
    default d, 2d and 4d, at most `max_context` (which is found by trying) and its
    `training_context`. Rivals in `against` and your own `families` compete with ours.
    All verdicts are given a second time with labels of `noise` (a quarter of their
    deviation; without noise, if the task has some; 0 for no second time).
    `report(done, of, what)` is called when a step begins, `say` with every verdict.
    """
    P = read(prompts, Natural, "prompts")
    require(P >= 64, "prompts", "≥ 64, for intervals to mean something", P)
    require(0 < resolution < 1, "resolution", "between 0 and 1", resolution)
    others = named_predictors(against or {}, "against")
    rivals = [rival(name, one) for name, one in others.items()]
    rivals += [Family.of(one).row() for one in families]
    task = _task(predictor, task, dimension, P)
    d = task.dimension
    longest = getattr(predictor, "max_examples", None)
    if max_context is not None:
        longest = min(read(max_context, Natural, "max_context"), longest or math.inf)
    counts = _contexts(contexts, d, longest, training_context)
    numbers = P * max(*counts, d) * d
    rule = f"few enough for {_MOST:.0e} numbers in all, prompts × examples × dimension"
    require(numbers <= _MOST, "prompts", rule, f"{numbers:.1e}")
    key = jax.random.key(0) if key is None else key
    keys = jax.random.split(key, 8)
    deep = isinstance(predictor, Deep)
    wanted = max(*counts, 2 * (training_context or counts[-1]))
    lengths = _lengths(int(min(wanted, longest or wanted)))
    batch = _sample(task, keys[0], P, max(*counts, *lengths))
    asked = prepared(predictor, batch, [*counts, *lengths])
    predictor = asked.predictor
    answered = lambda n: asked.shortest <= n <= asked.longest  # noqa: E731
    lengths = [n for n in lengths if answered(n)]
    nearest = min(max(counts[0], asked.shortest), asked.longest)
    counts = tuple(n for n in counts if answered(n)) or (nearest,)
    sigma = _noise(task, noise, batch)
    missing: list[str] = []
    # What shows no layers is not said to be looked at there.
    total, done = len(counts) + 3 + deep, 0

    def stage(text: str, measure: Callable[[], Any]) -> Any:
        nonlocal done
        if report is not None:
            report(done, total, text)
        done += 1
        try:
            return measure()
        except _FAILS as error:
            words = " ".join(str(error).split()) or type(error).__name__
            missing.append(f"{text}: {words}")
            return None

    found = []
    for n in counts:
        one = stage(
            f"families with {n} examples",
            lambda n=n: _context(
                predictor, batch, n, task, sigma, rivals, others, resolution, keys
            ),
        )
        if one is not None:
            found.append(one)
            if say is not None:
                say(f"with {n} examples: {_words.verdict_words(one.verdict)}")
    if not found:
        refuse(missing[-1])
    main = found[len(found) // 2].context
    here = next(one for one in found if one.context == main)
    small = lambda number: jax.tree.map(lambda leaf: leaf[:number], batch)  # noqa: E731
    off = stage(
        "off the law",
        lambda: extrapolations(predictor, small(_FEW), context=main, key=keys[2]),
    )
    acting = stage(
        "implied weights",
        lambda: implied_weights(
            predictor,
            small(_FEWEST),
            context=main,
            against=_named(here, others),
            key=keys[3],
        ),
    )
    shown = None
    if deep:
        rows = jax.tree.map(lambda leaf: leaf[:P], batch)
        shown = stage(
            "layers",
            lambda: layers(predictor, rows, context=main, task=task, key=keys[4]),
        )
    moved = stage(
        "shifts",
        lambda: shifts(
            predictor, task, context=main, lengths=lengths, prompts=_FEW, key=keys[5]
        ),
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
        sigma,
        off or (),
        acting,
        shown,
        moved or (),
        asked.notes,
        tuple(missing),
    )


def _named(here: ContextProbe, others: Mapping[str, AbstractPredictor]):
    """Whose weights are compared: least squares, the named family, and rivals."""
    rivals: dict[str, AbstractPredictor] = {"least squares": LeastSquares()}
    fit = here.verdict.fit
    if fit is not None and fit.branch != "as asked for":
        rivals[fit.name] = _as_predictor(fit.member)
    return {**rivals, **others}


def _as_predictor(member: Member) -> Foreign:
    return Foreign(lambda X, y, q: member.predict(Sample(X, y, q)))


def _noise(task: AbstractTask, noise: float | None, batch: Prompt) -> float | None:
    """How much noise the labels of the second pass have; None for no second pass."""
    own = float(np.asarray(getattr(task, "noise_std", 0.0)))
    if noise is None:
        noise = 0.0 if own else float(_NOISE * np.std(np.asarray(batch.labels)))
        return float(f"{noise:.2g}")
    return None if noise == own else float(noise)


def _beside(
    task: AbstractTask, noise: float, sample: Sample, key: PRNGKeyArray
) -> tuple[Sample, AbstractTask]:
    """Prompts with the other noise, and their law."""
    P, n = sample.labels.shape
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    if not hasattr(task, "noise_std"):
        return Sample.of(_sample(NoisyLabels(task, noise), key, P, n), n), task
    law = eqx.tree_at(lambda t: t.noise_std, task, noise)
    if float(np.asarray(getattr(task, "noise_std", 0.0))):
        return Sample.of(_sample(law, key, P, n), n), law
    labels = sample.labels + noise * rng.normal(size=(P, n))
    return Sample(sample.examples, labels, sample.query), law


def _context(
    predictor: AbstractPredictor,
    batch: Prompt,
    n: int,
    task: AbstractTask,
    noise: float | None,
    rivals: Sequence[Row],
    others: Mapping[str, AbstractPredictor],
    resolution: float,
    keys: Any,
) -> ContextProbe:
    P, ask, sample = len(batch.target), asking(predictor), Sample.of(batch, n)
    answers = predictions(predictor, batch, [n])[:, 0]
    weights = bootstrap_weights(keys[1], P)
    verdict = verdict_of(ask, sample, task, rivals, resolution, keys[6], answers)
    beside = None
    if noise is not None:
        more, law = _beside(task, noise, sample, keys[7])
        beside = verdict_of(ask, more, law, rivals, resolution, keys[7])
    target, sizes = np.asarray(batch.target, float), sizes_of(answers)
    moments = sample.moments
    spectra = {"inputs": sample.spectra}
    root = whitening(task)
    if root is not None:
        spectra["whitened"] = sample.under(root).spectra
    # Large answers are brought down, in a filter by their parts.
    filters = {
        metric: fit_filter(one.scaled(sizes), answers * sizes, weights)
        for metric, one in spectra.items()
    }
    metric = max(filters, key=lambda m: filters[m].r2.value)
    # A metric must earn its place; where all explain the same, the inputs' own stays.
    if filters[metric].r2.value - filters["inputs"].r2.value < 1e-4:
        metric = "inputs"
    closest = own = None
    if verdict.fit is not None:
        theirs = verdict.fit.member.predict(sample)
        scaled = spectra[metric].scaled(sizes)
        closest = fit_filter(scaled, theirs * sizes, weights[:2]).value
    if verdict.verdict != "is":
        lighter = Moments(
            moments.gram, moments.correlation, moments.query * sizes[:, None], n
        )
        starts = () if root is None else (root,)
        own = fit_preconditioner(
            lighter, answers * sizes, weights, starts=starts, whitening=root
        )
    counts, edges = np.histogram(np.log(spectra[metric].present), _BINS)

    def distance(other: AbstractPredictor) -> Interval:
        theirs = predictions(other, batch, [n])[:, 0]
        gap = (sizes * (answers - theirs)) ** 2
        return ratio(gap, (sizes * answers) ** 2, weights)

    errors = (answers - target) ** 2
    error = ratio(errors, target**2, weights)
    heavy = bool(np.max(errors) > largest_share(P) * np.sum(errors) > 0)
    heavy = heavy and error.value > 1e-9
    if heavy:
        error = _by_mixture(predictor, task, n, keys[1]) or error
    few = Sample(*(a[:TESTS] for a in (sample.examples, sample.labels, sample.query)))
    return ContextProbe(
        n,
        verdict,
        beside,
        error,
        ratio((spectra["inputs"].least_squares() - target) ** 2, target**2, weights),
        heavy,
        {name: distance(other) for name, other in others.items()},
        metric,
        filters[metric],
        closest,
        {m: one.r2 for m, one in filters.items()},
        own,
        locality(ask, few, other_labels(few, task, keys[1])),
        np.exp(edges),
        counts.astype(float),
    )


def _by_mixture(
    predictor: AbstractPredictor, task: AbstractTask, n: int, key: PRNGKeyArray
) -> Interval | None:
    """The error from prompts among which rare ones are frequent; None if unknown."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeavyTails)
        found = prompt_average(
            _squares, task, predictor, examples=n, prompts=_OF_MIXTURE, key=key
        )
    (mean, size), (error, _) = found.mean, found.standard_error
    if not np.isfinite(mean):
        return None
    value, spread = float(mean / size), 1.645 * float(error / size)
    return Interval(value, max(value - spread, 0.0), value + spread)


def _squares(prompt: Prompt, predictor: AbstractPredictor):
    return (predictor(prompt) - prompt.target) ** 2, prompt.target**2


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
    contexts: Sequence[int] | None, d: int, longest: float | None, trained: int | None
) -> tuple[int, ...]:
    if contexts is None:
        # Not past what the model has seen: that is a shift, and measured as one.
        most = min(longest or math.inf, trained or math.inf)
        wanted = [int(min(n, most)) for n in (d, 2 * d, 4 * d)]
    else:
        wanted = [read(n, Natural, "contexts") for n in contexts]
        require(bool(wanted), "contexts", "at least one length", "none")
    if longest is not None:
        rule = f"at most {longest:g}, the model's longest context"
        require(max(wanted) <= longest, "contexts", rule, max(wanted))
    return tuple(sorted(set(wanted)))


def _lengths(longest: int) -> list[int]:
    """About ten lengths up to the longest, closer together at the start."""
    return sorted({round(n) for n in np.geomspace(1, longest, 10)})


@eqx.filter_jit
def _sample(task: AbstractTask, key: PRNGKeyArray, prompts: int, examples: int):
    return task.sample_batch(key, prompts, examples)
