"""What every way of training returns, and how it fails."""

from typing import Any, Generic, TypeVar

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

ModelT = TypeVar("ModelT")

Numbers = Array | np.ndarray


class Trained(eqx.Module, Generic[ModelT]):
    """A model after `step` steps, and how it came there.

    `losses[t]` is the loss after t steps, for the whole run: one for every step that
    was taken, and in paths and solvers one more for the end. A flow never asks for its
    loss, and there are none.

    `records` stacks along its first axis what was looked at on the way, and
    `recorded_at` says when: at which steps, or at which times of a flow. `stopped_by`
    names what ended the run before its last step, if something did. Solvers say the
    `gradient_norm` at the end, and whether they `converged`.
    """

    model: ModelT
    losses: Float[Numbers, "..."]
    step: int | Int[Numbers, "..."]
    stopped_by: str | None = None
    records: PyTree = None
    recorded_at: Any = None
    gradient_norm: Any = None
    converged: Any = None


class Diverged(ValueError):
    """Training whose loss or gradient left the finite numbers, or its loss a limit.

    `result` is what the function would have returned: losses up to and with the bad
    one, records so far, and the last parameters with a good loss.
    """

    def __init__(self, message: str, result: Any):
        super().__init__(message)
        self.result = result
