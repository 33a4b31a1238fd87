"""The one interface of iclab: a predictor maps a prompt to a prediction."""

import abc
from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from iclab._reader import is_traced, require
from iclab.core._checked import checked
from iclab.core._prompt import Prompt

# Numbers of examples, in any form that holds several.
Lengths = Sequence[int] | Int[np.ndarray, " m"] | Int[Array, " m"]


_REMEDY = "`core.Foreign` makes one of a function of arrays"


@checked
class AbstractPredictor(eqx.Module):
    """Least squares, a trained transformer, a closed form: all are predictors.

    Predictors are unbatched; `jax.vmap(predictor)(prompts)` predicts a batch.
    """

    # How messages call it where something else was given.
    _in_words: ClassVar[str] = f"a predictor ({_REMEDY})"

    @abc.abstractmethod
    def __call__(self, prompt: Prompt) -> Float[Array, ""]:
        """Predicted label of the query."""

    def at_lengths(self, prompt: Prompt, lengths: Lengths) -> Float[Array, " m"]:
        """Predictions from the first `lengths[j]` examples, for every j at once."""
        wanted = context_lengths(lengths)
        return jax.vmap(lambda length: self(prompt.prefix(length)))(wanted)


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


def context_lengths(lengths: Lengths) -> Int[Array, " m"]:
    """Numbers of examples as an array, or a `ValueError`; traced ones pass."""
    if not is_traced(lengths):
        # NumPy, because inside a JAX transformation even known numbers would be traced.
        known = np.asarray(lengths)
        whole = known.ndim == 1 and known.dtype.kind in "iu"
        rule = "a list of integers, at least one"
        found = f"{known.dtype} of shape {known.shape}"
        require(whole and known.size > 0, "lengths", rule, found)
        smallest = int(known.min())
        require(smallest >= 1, "lengths", "≥ 1", smallest)
    return jnp.asarray(lengths)


def named_predictors(
    predictors: Mapping[str, AbstractPredictor], name: str = "predictors"
) -> dict[str, AbstractPredictor]:
    """`predictors` as a dictionary, or a sentence about what is none."""
    rule = "a dictionary of predictors by name"
    found = type(predictors).__name__
    require(isinstance(predictors, Mapping), name, rule, found)
    rule = f"predictors ({_REMEDY})"
    for key, one in predictors.items():
        found = f"{key!r} of type {type(one).__name__}"
        require(isinstance(one, AbstractPredictor), name, rule, found)
    return dict(predictors)


def same_dimension(dimension: int, prompt: Prompt) -> None:
    """Refuse a prompt of another dimension than a predictor was made for."""
    rule = f"of dimension {dimension}, the predictor's own"
    found = f"dimension {prompt.dimension}"
    require(prompt.dimension == dimension, "prompt", rule, found)
