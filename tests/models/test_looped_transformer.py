"""Looped and untied linear transformers: token space, gradient descent, refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.algorithms import PreconditionedGradientDescent
from iclab.core import Prompt
from iclab.models import LoopedTransformer, UntiedTransformer
from tests.assertions import assert_close
from tests.refusals import refused

D, N = 3, 6


def _prompt(key, n=N, d=D):
    kx, ky, kq = jax.random.split(key, 3)
    shapes = ((kx, (n, d)), (ky, (n,)), (kq, (d,)))
    return Prompt(*(jax.random.normal(k, shape) for k, shape in shapes))


def _written_out(A, u, prompt, loops):
    """Equations (2)–(4), one loop after the other."""
    X = np.vstack([prompt.examples, prompt.query])
    Z = np.vstack([X.T, np.append(prompt.labels, 0.0)])
    M = np.diag(np.append(np.ones(N), 0.0))
    Q = np.zeros((D + 1, D + 1))
    Q[:D, :D] = A
    P = np.zeros((D + 1, D + 1))
    P[D, :D], P[D, D] = u, 1.0
    for _ in range(loops):
        Z = Z - P @ Z @ M @ (Z.T @ Q @ Z) / N
    return -Z[-1, -1]


@pytest.fixture
def model(getkey):
    A, u = jax.random.normal(getkey(), (D, D)), jax.random.normal(getkey(), (D,))
    return LoopedTransformer(0.2 * A, u, loops=3)


@pytest.mark.parametrize("loops", [1, 3, 8])
def test_three_forward_passes_agree(model, getkey, loops):
    prompt = _prompt(getkey())
    expected = _written_out(model.A, model.u, prompt, loops)
    assert_close(model.in_token_space(prompt, loops), expected, rtol=1e-12)
    assert_close(model(prompt, loops), expected, rtol=1e-12)


def test_loops_are_chosen_at_the_call(model, getkey):
    prompt = _prompt(getkey())
    by_depth = model.predictions_by_depth(prompt, 8)
    assert len(by_depth) == 9
    assert_close(model(prompt), by_depth[3])
    assert_close(model(prompt, loops=8), by_depth[-1])
    assert_close(model(prompt, loops=1), by_depth[1])
    assert_close(-model.streams(prompt, 8)[:, -1], by_depth)


def test_layers_may_differ(getkey):
    prompt = _prompt(getkey())
    A = 0.2 * jax.random.normal(getkey(), (3, D, D))
    u = jax.random.normal(getkey(), (3, D))
    model = UntiedTransformer(A, u)
    streams = model.to_linear_transformer().streams_in_token_space(prompt)
    assert_close(model.streams(prompt), streams, rtol=1e-12)
    assert_close(model(prompt), model.in_token_space(prompt), rtol=1e-12)
    shorter = UntiedTransformer(A[:2], u[:2])
    assert_close(model.predictions_by_depth(prompt)[2], shorter(prompt))


def test_loops_are_steps_of_gradient_descent(getkey):
    prompt = _prompt(getkey())
    root = jax.random.normal(getkey(), (D, D))
    A = 0.1 * root @ root.T
    descent = PreconditionedGradientDescent(A, jnp.ones(4))
    assert_close(LoopedTransformer(A, loops=4)(prompt), descent(prompt))


def test_refusals(model, getkey):
    prompt = _prompt(getkey(), d=2)
    with refused("LoopedTransformer: `loops` must be an integer ≥ 1, got 0"):
        model(_prompt(getkey()), loops=0)
    with refused("LoopedTransformer: `loops` must be an integer ≥ 1, got -2"):
        LoopedTransformer(jnp.eye(2), loops=-2)
    rule = "of dimension 3, the predictor's own"
    with refused(f"LoopedTransformer: `prompt` must be {rule}, got dimension 2"):
        model(prompt)


def test_shapes_are_checked(unchecked):
    with refused("LoopedTransformer: `A` must be a square matrix, got shape (2, 3)"):
        LoopedTransformer(jnp.ones((2, 3)))
    rule = "an array of shape (layers, d, d)"
    with refused(f"UntiedTransformer: `A` must be {rule}, got shape (2, 2)"):
        UntiedTransformer(jnp.eye(2), jnp.zeros((1, 2)))
    rule = "a vector of 2 numbers like `A`"
    with refused(f"LoopedTransformer: `u` must be {rule}, got shape (3,)"):
        LoopedTransformer(jnp.eye(2), jnp.zeros(3))
    with refused("LoopedTransformer: `A` must be finite, got 1 entries that are not"):
        LoopedTransformer(jnp.array([[jnp.nan]]))
