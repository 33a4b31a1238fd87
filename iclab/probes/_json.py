"""A probe's numbers in plain values, and as a table."""

import dataclasses
import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from iclab.probes._bootstrap import Interval
from iclab.probes._filter import Filter
from iclab.probes._verdict import FamilyFit, Verdict
from iclab.probes._words import (
    family_words,
    findings,
    headline,
    none_words,
    verdict_words,
)

if TYPE_CHECKING:
    from iclab.probes._probe import ContextProbe, Probe


def to_json(probe: "Probe") -> dict[str, Any]:
    """The object that `iclab probe --json` prints."""
    weights = probe.weights
    return {
        "model": probe.model,
        "task": probe.task,
        "dimension": probe.dimension,
        "prompts": probe.prompts,
        "training_context": probe.training_context,
        "headline": headline(probe),
        "findings": findings(probe),
        "contexts": [_context(one) for one in probe.contexts],
        "main_context": probe.main,
        "noise": probe.noise,
        "extrapolations": {
            one.name: {"meaning": one.meaning, **_interval("change", one.change)}
            for one in probe.extrapolations
        },
        "implied_weights": None
        if weights is None
        else {
            **_interval("nonlinearity", weights.nonlinearity),
            "distances": {
                name: _interval("distance", one)
                for name, one in weights.distances.items()
            },
        },
        "layers": None if probe.layers is None else _layers(probe.layers),
        "shifts": [_values(one) for one in probe.shifts],
        "notes": list(probe.notes),
        "missing": list(probe.missing),
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
    own, beside = one.preconditioner, one.other_noise
    curve = None if one.closest is None else one.closest.tolist()
    return {
        "context": one.context,
        **_verdict(one.verdict, curve),
        "filter": {**_filter(one.filter), "metric": one.metric},
        **_interval("error", one.error),
        "heavy_tail": one.heavy,
        **_interval("least_squares_error", one.least_squares),
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
        "other_noise": None if beside is None else _verdict(beside, None),
        "far_examples": one.far,
        "against": {name: _interval("distance", d) for name, d in one.against.items()},
        "spectrum": {"edges": one.edges.tolist(), "counts": one.spectrum.tolist()},
    }


def _verdict(found: Verdict, curve: list[float] | None) -> dict[str, Any]:
    fit = found.fit
    return {
        "verdict": found.verdict,
        "sentence": verdict_words(found),
        "family": {"name": "none", "reason": none_words(found), "filter": None}
        if fit is None
        else {**_fit(fit), "filter": curve},
        "resolution": found.resolution,
        "close": list(found.close),
        "rest": found.rest,
        "bayes_rule": found.bayes,
        "tests": {
            one.name: {
                "meaning": one.meaning,
                **_interval("violation", one.violation),
                "band": one.band,
                "broken": one.broken,
            }
            for one in found.tests
        },
        "families": [_fit(each) for each in found.fits],
    }


def _fit(fit: FamilyFit) -> dict[str, Any]:
    return {
        "name": fit.name,
        "branch": fit.branch,
        "parameters": dict(fit.parameters),
        "intervals": {name: list(ends) for name, ends in fit.intervals.items()},
        **_interval("distance", fit.distance),
        "words": family_words(fit),
        "size": fit.member.row.size,
        "metric": fit.metric,
        "excluded_by": list(fit.excluded or ()),
        "tested": fit.excluded is not None,
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
        "solved_from": None
        if found.solved is None
        else _interval("value", found.solved),
    }


def _layers(found: Any) -> dict[str, Any]:
    return {
        "layers": [
            {
                "blocks": one.blocks,
                **_interval("error", one.error),
                **_interval("own_error", one.own_error),
                "filter": _filter(one.filter),
                **({} if one.verdict is None else _verdict(one.verdict, None)),
            }
            for one in found.layers
        ],
    }


def _interval(name: str, found: Interval) -> dict[str, Any]:
    return {name: found.value, f"{name}_interval": [found.lower, found.upper]}


def _values(record: Any) -> dict[str, Any]:
    """Fields of a dataclass, arrays as lists."""
    pairs = ((f.name, getattr(record, f.name)) for f in dataclasses.fields(record))
    return {n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in pairs}
