"""The one interface of iclab: a predictor maps a prompt to a prediction."""

import abc
from typing import Protocol, runtime_checkable

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Int

from iclab.core._errors import is_traced, require
from iclab.core._prompt import Prompt


class AbstractPredictor(eqx.Module):
    """Least squares, a trained transformer, a closed form: all are predictors.

    Predictors are unbatched; `jax.vmap(predictor)(prompts)` predicts a batch.
    """

    @abc.abstractmethod
    def __call__(self, prompt: Prompt) -> Float[Array, ""]:
        """Predicted label of the query."""

    def at_lengths(
        self, prompt: Prompt, lengths: Int[Array, " m"]
    ) -> Float[Array, " m"]:
        """Predictions from the first `lengths[j]` examples, for every j at once."""
        if not is_traced(lengths):
            smallest = int(np.min(lengths))
            owner = f"{type(self).__name__}.at_lengths"
            require(smallest >= 1, owner, "lengths", "≥ 1", smallest)
        return jax.vmap(lambda length: self(prompt.prefix(length)))(lengths)


@runtime_checkable
class Deep(Protocol):
    """A predictor made of L blocks that can be looked at between them.

    States are counted by the blocks passed: entry 0 is what enters the first block and
    entry L what leaves the last. `isinstance(predictor, Deep)` asks for the names.
    """

    @property
    def depth(self) -> int:
        """Number L of blocks."""
        ...

    def predictions_by_depth(self, prompt: Prompt) -> Float[Array, " states"]:
        """Predicted label of the query, read after 0, 1, …, L blocks.

        All L+1 have the sign of a label, and the last is the predictor's own answer.
        """
        ...

    def streams(self, prompt: Prompt) -> Float[Array, "states width"]:
        """The model's state at the query after 0, 1, …, L blocks."""
        ...


def same_dimension(owner: str, dimension: int, prompt: Prompt) -> None:
    """Refuse a prompt of another dimension than `owner` was made for."""
    rule = f"of dimension {dimension}, the predictor's own"
    found = f"dimension {prompt.dimension}"
    require(prompt.dimension == dimension, owner, "prompt", rule, found)
