"""Prompts: shapes, prefixes, moments."""

import jax
import jax.numpy as jnp
import pytest

from iclab.core import Prompt
from tests.assertions import assert_close
from tests.refusals import refused


def _prompt(key, n=5, d=3):
    kx, ky, kq = jax.random.split(key, 3)
    return Prompt(
        jax.random.normal(kx, (n, d)),
        jax.random.normal(ky, (n,)),
        jax.random.normal(kq, (d,)),
        0.5,
    )


def test_prefix_equals_a_shorter_prompt(getkey):
    prompt = _prompt(getkey())
    short = Prompt(prompt.examples[:2], prompt.labels[:2], prompt.query, prompt.target)
    prefix = prompt.prefix(2)
    assert_close(prefix.gram(), short.gram())
    assert_close(prefix.correlation(), short.correlation())
    assert int(prefix.count) == 2


def test_prefix_longer_than_the_prompt_is_the_prompt(getkey):
    prompt = _prompt(getkey())
    assert_close(prompt.prefix(99).gram(), prompt.gram())


def test_prefix_is_traceable(getkey):
    prompt = _prompt(getkey())
    grams = jax.vmap(lambda n: prompt.prefix(n).gram())(jnp.arange(1, 6))
    assert_close(grams[2], prompt.prefix(3).gram())


def test_moments_are_averages(getkey):
    prompt = _prompt(getkey(), n=2)
    x, y = prompt.examples, prompt.labels
    expected = (jnp.outer(x[0], x[0]) + jnp.outer(x[1], x[1])) / 2
    assert_close(prompt.gram(), expected)
    assert_close(prompt.correlation(), (x[0] * y[0] + x[1] * y[1]) / 2)
    gram, correlation, power = prompt.moments()
    assert_close(gram, prompt.gram())
    assert_close(correlation, prompt.correlation())
    assert_close(power, (y[0] ** 2 + y[1] ** 2) / 2)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            (jnp.ones(3), jnp.ones(3), jnp.ones(3)),
            "Prompt: `examples` must be an n×d matrix, got shape (3,)",
        ),
        (
            (jnp.ones((0, 3)), jnp.ones(0), jnp.ones(3)),
            "Prompt: `examples` must be an n×d matrix, got shape (0, 3), which is"
            " empty",
        ),
        (
            (jnp.ones((4, 3)), jnp.ones(3), jnp.ones(3)),
            "Prompt: `labels` must be a vector of 4 numbers like `examples`,"
            " got shape (3,)",
        ),
        (
            (jnp.ones((4, 3)), jnp.ones(4), jnp.ones(2)),
            "Prompt: `query` must be a vector of 3 numbers like `examples`,"
            " got shape (2,)",
        ),
        (
            (jnp.ones((4, 3)), jnp.ones(4), jnp.ones(3), jnp.ones(2)),
            "Prompt: `target` must be a number, got shape (2,)",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_shapes_are_named(fields, message):
    with refused(message):
        Prompt(*fields)


def test_prefixes_nest(getkey):
    prompt = _prompt(getkey()).prefix(2).prefix(4)
    assert int(prompt.count) == 2
    assert prompt.dimension == 3


@pytest.mark.parametrize("length", [0, -1])
def test_a_prefix_has_examples(getkey, length):
    with refused(f"Prompt.prefix: `length` must be an integer ≥ 1, got {length}"):
        _prompt(getkey()).prefix(length)


@pytest.mark.usefixtures("unchecked")
def test_integers_become_floats():
    prompt = Prompt(jnp.array([[1, 2]]), jnp.array([3]), jnp.array([4, 5]))
    assert prompt.examples.dtype == prompt.labels.dtype == prompt.query.dtype == float
    assert jnp.isnan(prompt.target)
    assert_close(prompt.correlation(), [3.0, 6.0])
