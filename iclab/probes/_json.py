"""A probe's numbers in plain values, and as a table."""

import dataclasses
import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from iclab.probes._bootstrap import Interval
from iclab.probes._filter import Filter
from iclab.probes._selection import FamilyFit
from iclab.probes._words import family_words, findings, verdict_words

if TYPE_CHECKING:
    from iclab.probes._probe import ContextProbe, Probe


def to_json(probe: "Probe") -> dict[str, Any]:
    """The object that `iclab probe --json` prints."""
    return {
        "model": probe.model,
        "task": probe.task,
        "dimension": probe.dimension,
        "prompts": probe.prompts,
        "training_context": probe.training_context,
        "findings": findings(probe),
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
    rows = list(rows_of(to_json(probe)))
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
        **_interval("least_squares_error", one.least_squares),
        "filter": {**_filter(one.filter), "metric": one.metric},
        "r2": {metric: _interval("value", r2) for metric, r2 in one.r2.items()},
        "preconditioner": None
        if own is None
        else {
            "matrix": own.matrix.tolist(),
            **_interval("departure", own.departure),
            "whitened_departure": None,
            **(
                {}
                if own.whitened_departure is None
                else _interval("whitened_departure", own.whitened_departure)
            ),
            **_interval("r2", own.r2),
            **_interval("gain", own.gain),
            "earned": own.earned,
        },
        "verdict": verdict_words(choice),
        "family": {
            **_fit(fit),
            "name": choice.name,
            "closest": fit.name,
            "filter": one.closest.tolist(),
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
        **{
            name: {
                "steps": list(one.steps),
                "value": one.value.tolist(),
                "lower": one.lower.tolist(),
                "upper": one.upper.tolist(),
            }
            for name, one in (("descent", found.descent), ("newton", found.newton))
        },
    }


def _interval(name: str, found: Interval) -> dict[str, Any]:
    return {name: found.value, f"{name}_interval": [found.lower, found.upper]}


def _values(record: Any) -> dict[str, Any]:
    """Fields of a dataclass, arrays as lists."""
    pairs = ((f.name, getattr(record, f.name)) for f in dataclasses.fields(record))
    return {n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in pairs}
