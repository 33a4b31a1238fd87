"""What every predictor inherits."""

from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.core import AbstractPredictor, Prompt, same_dimension
from tests.assertions import assert_close
from tests.refusals import refused


class FirstLabels(AbstractPredictor):
    """Adds up the labels that it sees."""

    def __call__(self, prompt):
        return jnp.sum(prompt.labels)


PROMPT = Prompt(jnp.ones((3, 2)), jnp.array([1.0, 10.0, 100.0]), jnp.ones(2))


def test_at_lengths_sees_only_the_first_examples():
    predictions = FirstLabels().at_lengths(PROMPT, jnp.array([3, 1, 2]))
    assert_close(predictions, [111.0, 1.0, 11.0])


def test_lengths_may_be_known_inside_jit():
    known = jnp.array([3, 1])
    for lengths in (known, np.array([3, 1]), [3, 1]):
        found = jax.jit(lambda prompt, l=lengths: FirstLabels().at_lengths(prompt, l))
        assert_close(found(PROMPT), [111.0, 1.0])


@pytest.mark.usefixtures("unchecked")
def test_lengths_are_integers():
    with refused(
        "FirstLabels.at_lengths: `lengths` must be a vector of integers, got float64 of"
        " shape (1,)"
    ):
        FirstLabels().at_lengths(PROMPT, cast(Any, [1.5]))


def test_no_examples_are_refused():
    with refused("FirstLabels.at_lengths: `lengths` must be ≥ 1, got 0"):
        FirstLabels().at_lengths(PROMPT, jnp.array([2, 0]))


def test_same_dimension():
    same_dimension(2, PROMPT)
    with refused(
        "`prompt` must be of dimension 5, the predictor's own, got dimension 2"
    ):
        same_dimension(5, PROMPT)
