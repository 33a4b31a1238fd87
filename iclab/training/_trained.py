"""What every way of training returns, and how it fails."""

import math
from typing import Any, Generic, TypeVar

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from iclab import show

ModelT = TypeVar("ModelT")

Numbers = Array | np.ndarray

# Curves in the picture that a notebook shows.
_SHOWN_RUNS = 6


class Trained(eqx.Module, Generic[ModelT]):
    """A model after `step` steps, and how it came there.

    `losses[t]` is the loss after t steps, for the whole run: one for every step that
    was taken, and in paths and solvers one more for the end. A flow never asks for its
    loss, and there are none.

    `records` stacks along its first axis what was looked at on the way, and
    `recorded_at` says when: at which steps, or at which times of a flow. `stopped_by`
    names what ended the run before its last step, if something did. Solvers say the
    `gradient_norm` at the end, and whether they `converged`. Where all steps saw one
    set of draws, `fresh` is the loss with its error on others.
    """

    model: ModelT
    losses: Float[Numbers, "..."]
    step: int | Int[Numbers, "..."]
    stopped_by: str | None = None
    records: PyTree = None
    recorded_at: Any = None
    gradient_norm: Any = None
    converged: Any = None
    fresh: Any = None

    def _repr_html_(self) -> str:
        losses = np.asarray(self.losses, float)
        rows: list[tuple[str, Any]] = [
            ("model", type(self.model).__name__),
            ("steps", self.step),
        ]
        losses = np.atleast_1d(losses)
        runs = losses.reshape(len(losses), math.prod(losses.shape[1:]))
        if runs.size:
            rows.append(("last loss", runs[-1].squeeze()))
        for name in ("stopped_by", "gradient_norm", "converged"):
            value = getattr(self, name)
            rows += [] if value is None else [(name.replace("_", " "), value)]
        table = show.table(("", "training"), rows)
        if len(runs) < 2:
            return table
        # As many points as a picture has pixels, of as many runs as a legend can name.
        at = np.unique(np.linspace(0, len(runs) - 1, 400).astype(int))
        names = [f"run {i + 1}" for i in range(min(runs.shape[1], _SHOWN_RUNS))]
        drawn = {name: (runs[at, i],) for i, name in enumerate(names)}
        log = bool(np.all(np.isfinite(runs[at])) and np.min(runs[at]) > 0)
        return table + show.curves(at, drawn, labels=("step", "loss"), log=log)


class Diverged(ValueError):
    """Training whose loss or gradient left the finite numbers, or its loss a limit.

    `result` is what the function would have returned: losses up to and with the bad
    one, records so far, and the last parameters with a good loss.
    """

    def __init__(self, message: str, result: Any):
        super().__init__(message)
        self.result = result
