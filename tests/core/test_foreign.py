"""A function of NumPy arrays as a predictor."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.algorithms import Averaging
from iclab.core import Foreign, Prompt
from iclab.tasks import LinearRegression
from tests.assertions import assert_close
from tests.refusals import refused

# In compiled form: every operation alone would be compiled too.
PROMPTS = jax.jit(lambda key: LinearRegression(jnp.eye(2)).sample_batch(key, 6, 4))(
    jax.random.key(0)
)
EXPECTED = jax.jit(jax.vmap(Averaging()))(PROMPTS)


def averaging(X, y, q):
    """ŷ = x_qᵀ (1/n) Σ y x, for a batch."""
    return np.einsum("bnd,bn,bd->b", X, y, q) / X.shape[1]


def test_one_call_for_a_batch():
    calls = []

    def watched(X, y, q):
        calls.append((X.shape, y.shape, q.shape, X.dtype))
        assert all(type(a) is np.ndarray for a in (X, y, q))
        return averaging(X, y, q)

    assert_close(jax.jit(jax.vmap(Foreign(watched)))(PROMPTS), EXPECTED)
    assert calls == [((6, 4, 2), (6, 4), (6, 2), np.float64)]
    assert_close(Foreign(watched).on_batch(PROMPTS), EXPECTED)
    assert len(calls) == 2


def test_one_prompt():
    prompt = jax.tree.map(lambda leaf: leaf[2], PROMPTS)
    assert_close(Foreign(averaging)(prompt), EXPECTED[2])


def test_padding_is_never_seen():
    lengths = jnp.array([1, 3, 4])
    found = jax.vmap(lambda p: Foreign(averaging).at_lengths(p, lengths))(PROMPTS)
    wanted = jax.vmap(lambda p: Averaging().at_lengths(p, lengths))(PROMPTS)
    assert_close(found, wanted)


def test_a_function_that_writes_into_its_arguments_harms_nobody():
    def rude(X, y, q):
        X *= 0
        return y[:, 0]

    before = np.array(PROMPTS.examples)
    Foreign(rude).on_batch(PROMPTS)
    np.testing.assert_array_equal(PROMPTS.examples, before)


def test_lists_are_numbers_too():
    assert_close(Foreign(lambda X, y, q: [1] * len(y)).on_batch(PROMPTS), np.ones(6))


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (
            lambda X, y, q: y,
            "be a function that returns shape (6,), a number a prompt,"
            " got shape (6, 4)",
        ),
        (
            lambda X, y, q: y[:, 0] * np.where(np.arange(6) < 2, np.nan, 1),
            "be a function that returns finite numbers, got 2 of 6 that are not",
        ),
        (
            lambda X, y, q: np.array(["a"] * 6),
            "be a function that returns real numbers, got dtype <U1",
        ),
    ],
    ids=["shape", "nan", "words"],
)
def test_bad_answers(function, words):
    with refused(f"Foreign.on_batch: `function` must {words}"):
        Foreign(function).on_batch(PROMPTS)


def test_a_function_that_raises():
    def broken(X, y, q):
        raise RuntimeError("no such device")

    with refused("Foreign.on_batch: `function` raised RuntimeError: no such device"):
        Foreign(broken).on_batch(PROMPTS)


def test_no_function(unchecked):
    rule = "must be a function of (examples, labels, queries), got 3"
    with refused(f"Foreign: `function` {rule}"):
        Foreign(3)  # pyright: ignore[reportArgumentType]


def test_a_prompt_is_a_prompt():
    one = Prompt(jnp.ones((1, 1)), jnp.ones(1), jnp.ones(1))
    assert_close(Foreign(averaging)(one), 1.0)
