"""Two predictors on common prompts: how far apart, and which is better."""

from collections.abc import Sequence

import equinox as eqx
import numpy as np
from jaxtyping import PRNGKeyArray

from iclab.core import (
    AbstractPredictor,
    Mixture,
    Positive,
    Share,
    Size,
    checked,
)
from iclab.evaluation._bootstrap import Bootstrap
from iclab.evaluation._error_curve import (
    Curves,
    ErrorCurve,
    Task,
    curve_of,
    predictions,
    shared_prompts,
)


class PairedCurves(eqx.Module):
    """Two predictors f and g by context length, compared prompt by prompt.

    `distance` is E(f − g)², zero if they are the same algorithm. `difference` is
    E(f − y)² − E(g − y)², below zero where f is better; as both see the same prompts,
    what makes a prompt hard for both drops out of its interval.
    """

    distance: ErrorCurve
    difference: ErrorCurve

    def _repr_html_(self) -> str:
        return Curves(vars(self))._repr_html_()


@checked(finite=False)
def paired_curves(
    first: AbstractPredictor,
    second: AbstractPredictor,
    task: Task,
    lengths: Sequence[int],
    *,
    groups: Size = 64,
    prompts: Size = 64,
    normalisation: Positive = 1.0,
    level: Share = 0.9,
    draws: Size = 1000,
    key: PRNGKeyArray,
    mixture: Mixture | bool | None = None,
) -> PairedCurves:
    """Distance of two predictors, and difference of their errors, by context length.

    Options are those of `error_curve`; the same `key` means the same prompts.
    """
    both = (first, second)
    shared = shared_prompts(task, lengths, groups, prompts, key, mixture, both)
    f, g = (np.asarray(predictions(one, shared.batch, lengths)) for one in both)
    bootstrap = Bootstrap.of(shared.key, shared.units, draws, level)
    labels = np.asarray(shared.batch.target)
    y, plain = labels[:, None], mixture is False
    how = (lengths, normalisation, bootstrap, shared.weights, plain)

    def curve(name: str, values: np.ndarray) -> ErrorCurve:
        return curve_of(name, values, labels, *how)

    return PairedCurves(
        curve("distance", (f - g) ** 2),
        curve("difference", (f - y) ** 2 - (g - y) ** 2),
    )
