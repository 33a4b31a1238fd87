"""Linear self-attention: two forward passes, starts, refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from iclab.core import Prompt
from iclab.models import LinearSelfAttention
from tests.assertions import assert_close
from tests.refusals import refused


def _random(key, n=5, d=3):
    keys = jax.random.split(key, 5)
    model = LinearSelfAttention(
        jax.random.normal(keys[0], (d + 1, d + 1)),
        jax.random.normal(keys[1], (d + 1, d + 1)),
    )
    prompt = Prompt(
        jax.random.normal(keys[2], (n, d)),
        jax.random.normal(keys[3], (n,)),
        jax.random.normal(keys[4], (d,)),
    )
    return model, prompt


@jax.jit
def _both(model, prompt):
    return model(prompt), model.in_token_space(prompt)


@settings(max_examples=20, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 10_000))
def test_gram_space_is_token_space(seed):
    gram, token = _both(*_random(jax.random.key(seed)))
    assert_close(gram, token, rtol=1e-12)


@pytest.mark.parametrize(("n", "d"), [(1, 4), (40, 2), (1, 1)])
def test_gram_space_is_token_space_at_other_shapes(n, d):
    gram, token = _both(*_random(jax.random.key(n), n, d))
    assert_close(gram, token, rtol=1e-12)


def test_forward_pass_entry_by_entry():
    model, prompt = _random(jax.random.key(0), n=2, d=2)
    W_KQ, W_PV = np.asarray(model.key_query), np.asarray(model.value_projection)
    tokens = [
        np.append(x, y) for x, y in zip(prompt.examples, prompt.labels, strict=True)
    ]
    query = np.append(prompt.query, 0.0)
    output = query + sum(
        (W_PV @ token) * (token @ W_KQ @ query) / 2 for token in [*tokens, query]
    )
    assert_close(model(prompt), output[-1])
    assert_close(model.in_token_space(prompt), output[-1])


def test_shorter_contexts_divide_by_their_own_length():
    model, prompt = _random(jax.random.key(1))
    short = Prompt(prompt.examples[:2], prompt.labels[:2], prompt.query)
    assert_close(model(prompt.prefix(2)), model.in_token_space(short))
    assert_close(model.in_token_space(prompt.prefix(2)), model.in_token_space(short))


def test_blocks_apply_one_preconditioned_step():
    U11 = jnp.array([[1.0, 2.0, 0.0], [0.0, 1.0, 0.5], [0.3, 0.0, 1.0]])
    _, prompt = _random(jax.random.key(2))
    model = LinearSelfAttention.from_blocks(U11, 0.5)
    assert model.dimension == 3
    assert_close(model.preconditioner, 0.5 * U11.T)
    step = model.preconditioner @ prompt.correlation()
    assert_close(model(prompt), prompt.query @ step)


def test_from_moments_needs_no_examples():
    model, prompt = _random(jax.random.key(3))
    moments = (prompt.gram(), prompt.correlation(), jnp.mean(prompt.labels**2))
    assert_close(model.from_moments(*moments, prompt.query, 5), model(prompt))


def test_balanced_start():
    theta = jax.random.normal(jax.random.key(4), (3, 3))
    model = LinearSelfAttention.balanced(theta, 0.3, 0.5)
    U11, u_last = model.key_query[:3, :3], model.value_projection[3, 3]
    assert_close(u_last, 0.3)
    assert_close(jnp.linalg.norm(U11), 0.3)
    outer = theta @ theta.T
    assert_close(U11 / U11[0, 0], outer / outer[0, 0])
    assert np.count_nonzero(model.key_query) == 9
    assert np.count_nonzero(model.value_projection) == 1


def test_balanced_start_of_any_scale_when_told():
    model = LinearSelfAttention.balanced(jnp.eye(2), 7.0, None)
    assert_close(model.value_projection[2, 2], 7.0)


def test_random_balanced_start_depends_on_the_key_alone(getkey):
    key = getkey()
    first = LinearSelfAttention.random_balanced(3, 0.3, None, key=key)
    again = LinearSelfAttention.random_balanced(3, 0.3, None, key=key)
    other = LinearSelfAttention.random_balanced(3, 0.3, None, key=getkey())
    assert_close(first.key_query, again.key_query, rtol=0, atol=0)
    assert not np.allclose(first.key_query, other.key_query)
    assert np.linalg.eigvalsh(first.key_query[:3, :3])[0] > 0


EYE = jnp.eye(3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: LinearSelfAttention(jnp.ones((2, 3)), EYE),
            "LinearSelfAttention: `key_query` must be a square matrix,"
            " got shape (2, 3)",
        ),
        (
            lambda: LinearSelfAttention(EYE, jnp.ones(3)),
            "LinearSelfAttention: `value_projection` must be a 3×3 matrix like"
            " `key_query`,"
            " got shape (3,)",
        ),
        (
            lambda: LinearSelfAttention(jnp.eye(1), jnp.eye(1)),
            "LinearSelfAttention: `key_query` must be (d+1)×(d+1) with d ≥ 1,"
            " got shape (1, 1)",
        ),
        (
            lambda: LinearSelfAttention(EYE, jnp.eye(4)),
            "LinearSelfAttention: `value_projection` must be a 3×3 matrix like"
            " `key_query`,"
            " got shape (4, 4)",
        ),
        (
            lambda: LinearSelfAttention(EYE.at[0, 0].set(jnp.nan), EYE),
            "LinearSelfAttention: `key_query` must be finite,"
            " got 1 entries that are not",
        ),
        (
            lambda: LinearSelfAttention.from_blocks(jnp.ones((2, 3)), 1.0),
            "LinearSelfAttention.from_blocks: `U11` must be a square matrix,"
            " got shape (2, 3)",
        ),
        (
            lambda: LinearSelfAttention.balanced(EYE, 0.6, 0.5),
            "LinearSelfAttention.balanced: `scale` must be < 0.5, beyond which"
            " convergence is not proved, got 0.6",
        ),
        (
            lambda: LinearSelfAttention.balanced(EYE, 0.0, None),
            "LinearSelfAttention.balanced: `scale` must be > 0 and finite, got 0.0",
        ),
        (
            lambda: LinearSelfAttention.balanced(EYE, float("nan"), None),
            "LinearSelfAttention.balanced: `scale` must be > 0 and finite, got nan",
        ),
        (
            lambda: LinearSelfAttention.balanced(0 * EYE, 0.1, None),
            "LinearSelfAttention.balanced: `theta` must be nonzero,"
            " got the zero matrix",
        ),
        (
            lambda: LinearSelfAttention.random_balanced(
                0, 0.1, None, key=jax.random.key(0)
            ),
            "LinearSelfAttention.random_balanced: `dimension` must be an integer ≥ 1,"
            " got 0",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_weights_are_named(call, message):
    with refused(message):
        call()


def test_token_space_refuses_other_dimensions():
    model, _ = _random(jax.random.key(0))
    _, prompt = _random(jax.random.key(0), d=2)
    message = (
        "LinearSelfAttention.in_token_space: `prompt` must be of dimension 3,"
        " the predictor's own, got dimension 2"
    )
    with refused(message):
        model.in_token_space(prompt)
