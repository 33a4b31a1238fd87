"""A probe's numbers in plain values, and as a table."""

import dataclasses
import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from iclab.probes._bootstrap import Interval
from iclab.probes._families import curve_of
from iclab.probes._filter import Filter
from iclab.probes._selection import FamilyFit
from iclab.probes._spectra import Spectra
from iclab.probes._words import family_words, verdict_words

if TYPE_CHECKING:
    from iclab.probes._probe import ContextProbe, Probe


def plain(probe: "Probe") -> dict[str, Any]:
    """The object that `iclab probe --json` prints."""
    return {
        "model": probe.model,
        "task": probe.task,
        "dimension": probe.dimension,
        "prompts": probe.prompts,
        "training_context": probe.training_context,
        "contexts": [_context(one) for one in probe.contexts],
        "main_context": probe.main,
        "symmetries": {
            one.name: {"meaning": one.meaning, **_interval("violation", one.violation)}
            for one in probe.symmetries
        },
        "influence": {
            **_interval("change", probe.influence.change),
            **_interval("linearity", probe.influence.linearity),
        },
        "implied_weights": {
            **_interval("nonlinearity", probe.weights.nonlinearity),
            "distances": {
                name: _interval("distance", one)
                for name, one in probe.weights.distances.items()
            },
        },
        "layers": None if probe.layers is None else _layers(probe.layers),
        "shifts": [_values(one) for one in probe.shifts],
    }


def frame(probe: "Probe") -> Any:
    """All numbers in long form: where they stand, and what they are."""
    try:
        pandas = importlib.import_module("pandas")
    except ImportError:
        raise ImportError("Probe.frame needs pandas: `pip install pandas`") from None
    rows = list(rows_of(plain(probe)))
    return pandas.DataFrame(rows, columns=["measurement", "index", "value"])


def rows_of(value: Any, path: str = "") -> Iterator[tuple[str, str, Any]]:
    """(path, index, number) of every number; lists of numbers count by index."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from rows_of(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        array = None
        if value and not any(isinstance(one, (Mapping, str)) for one in value):
            array = np.array(value, dtype=object)
        if array is not None and all(np.isscalar(one) for one in array.flat):
            for place, one in np.ndenumerate(array):
                yield path, " ".join(map(str, place)), one
        else:
            for i, inner in enumerate(value):
                yield from rows_of(inner, f"{path}[{i}]")
    elif value is not None:
        yield path, "", value


def _context(one: "ContextProbe") -> dict[str, Any]:
    fit, choice = one.family.fit, one.family
    own = one.preconditioner
    return {
        "context": one.context,
        **_interval("error", one.error),
        "least_squares_error": one.least_squares.value,
        "filter": {**_filter(one.filter), "metric": one.metric},
        "r2": {metric: r2.value for metric, r2 in one.r2.items()},
        "preconditioner": None
        if own is None
        else {
            "matrix": own.matrix.tolist(),
            "departure": own.departure,
            "whitened_departure": own.whitened_departure,
            **_interval("r2", own.r2),
        },
        "verdict": verdict_words(choice),
        "family": {
            **_fit(fit),
            "name": choice.name,
            "closest": fit.name,
            "filter": _curve(fit, one.filter),
        },
        "close": list(choice.close),
        "bayes_rule": choice.bayes,
        "families": [_fit(each) for each in choice.fits],
        "against": {name: _interval("distance", d) for name, d in one.against.items()},
        "spectrum": {"edges": one.edges.tolist(), "counts": one.spectrum.tolist()},
    }


def _fit(fit: FamilyFit) -> dict[str, Any]:
    return {
        "name": fit.name,
        "parameters": dict(fit.parameters),
        "intervals": dict(fit.intervals),
        **_interval("distance", fit.distance),
        "words": family_words(fit),
        "size": fit.size,
        "metric": fit.metric,
    }


def _curve(fit: FamilyFit, found: Filter) -> list[float] | None:
    """The family's own filter at the same eigenvalues, if it has one."""
    places = Spectra(found.eigenvalues[:, None], np.zeros((len(found.value), 1)))
    value = curve_of(fit.name, fit.steps, fit.theta, fit.free, places)
    return None if value is None else value[:, 0].tolist()


def _filter(found: Filter) -> dict[str, Any]:
    polynomial = found.coefficients
    return {
        "lambda": found.eigenvalues.tolist(),
        "value": found.value.tolist(),
        "lower": found.lower.tolist(),
        "upper": found.upper.tolist(),
        **_interval("r2", found.r2),
        "polynomial": None if polynomial is None else polynomial.tolist(),
    }


def _layers(found: Any) -> dict[str, Any]:
    return {
        "layers": [
            {
                "blocks": one.blocks,
                **_interval("error", one.error),
                **_interval("own_error", one.own_error),
                "filter": _filter(one.filter),
            }
            for one in found.layers
        ],
        "step": found.step,
        "descent_steps": list(found.descent_steps),
        "descent": found.descent.tolist(),
        "newton_iterations": list(found.newton_iterations),
        "newton": found.newton.tolist(),
    }


def _interval(name: str, found: Interval) -> dict[str, Any]:
    return {name: found.value, f"{name}_interval": [found.lower, found.upper]}


def _values(record: Any) -> dict[str, Any]:
    """Fields of a dataclass, arrays as lists."""
    pairs = ((f.name, getattr(record, f.name)) for f in dataclasses.fields(record))
    return {n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in pairs}
