"""Losses on a fixed set of weighted draws, against exact losses and their gradients."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from iclab.core import Sums
from iclab.papers.findings._all_weights import mean_loss
from iclab.theory import (
    linear_transformer_loss,
    looped_loss,
    looped_loss_on_draws,
    looped_optimum,
    sampled_looped_loss,
    scalar_transformer_loss,
    transformer_loss_on_draws,
)
from iclab.training import descend, gradient_flow, minimise
from tests.assertions import assert_close, assert_mean_close
from tests.refusals import refused

SIGMA = jnp.array([[1.0, 0.3], [0.3, 0.5]])
A = jnp.array([[0.5, 0.2], [-0.1, 0.9]])
U = jnp.array([0.7, -0.4])
PROMPTS = {"covariance": SIGMA, "samples": 6, "noise_variance": 0.1}


def _same_loss_and_gradient(loss, exact, weights):
    """Of the draws and of the closed form, within what the draws leave open."""
    assert_close(loss(weights), loss.estimate(weights).mean)
    mean, error = loss.estimate(weights)
    assert_mean_close(mean, error, exact(weights))
    each = jax.vmap(lambda S: jax.grad(loss.given, 1)(S, weights))
    drawn, found = loss.drawn, each(loss.drawn.covariances)
    for part, whole, expected in zip(
        *map(jax.tree.leaves, (found, jax.grad(loss)(weights))),
        jax.tree.leaves(jax.grad(exact)(weights)),
        strict=True,
    ):
        values = jnp.einsum("b,b...->b...", drawn.weights, part)
        mean, error = Sums.of(values, drawn.laws).estimate(len(values))
        assert_close(mean, whole)
        assert_mean_close(mean, error, expected)


@pytest.mark.everything
def test_two_loops(getkey):
    loss = looped_loss_on_draws(**PROMPTS, loops=2, key=getkey(), draws=10_000)
    exact = functools.partial(looped_loss, **PROMPTS, loops=2)
    _same_loss_and_gradient(loss, lambda weights: exact(*weights), (A, U))
    assert_close(loss(A), loss((A, jnp.zeros(2))))


def test_two_layers(getkey):
    layers = jnp.stack([-A, -0.8 * A.T])
    loss = transformer_loss_on_draws(**PROMPTS, layers=2, key=getkey(), draws=10_000)
    exact = functools.partial(linear_transformer_loss, **PROMPTS)
    _same_loss_and_gradient(loss, exact, layers)


@pytest.mark.everything
def test_two_layers_with_B(getkey):
    loss = transformer_loss_on_draws(
        layers=2, with_B=True, covariance=jnp.eye(2), samples=12, key=getkey(),
        draws=10_000,
    )  # fmt: skip
    identity = jnp.eye(2)[None]

    def on_draws(weights):
        return tuple(one[:, None, None] * identity for one in weights)

    def exact(weights):
        a, b = weights
        return scalar_transformer_loss(a, b, dimension=2, samples=12)

    weights = (jnp.array([-0.5, -0.7]), jnp.array([-0.3, 0.0]))
    mean, error = loss.estimate(on_draws(weights))
    assert_mean_close(mean, error, exact(weights))
    slope = jax.grad(lambda weights: loss(on_draws(weights)))(weights)
    for one, other in zip(slope, jax.grad(exact)(weights), strict=True):
        assert_close(one, other, rtol=0.1, atol=0.03)  # the spread of 10,000 draws


def test_more_loops_than_words_reach(getkey):
    a, b, e = 0.7, 0.1, -0.3
    turned = jnp.array([[a + b, e], [-e, a - b]])
    prompts = {"covariance": jnp.eye(2), "samples": 20, "key": getkey()}
    loss = looped_loss_on_draws(**prompts, loops=4, draws=20_000)
    exact = np.polynomial.polynomial.polyval3d(a, b, e, mean_loss(20, 4))
    mean, error = loss.estimate(turned)
    assert_mean_close(mean, error, exact)
    # Layers that are all alike are loops, on the same draws.
    layers = transformer_loss_on_draws(**prompts, layers=4, draws=20_000)
    alike = jnp.broadcast_to(-turned, (4, 2, 2))
    assert_close(layers(alike), loss(turned))
    both = sampled_looped_loss(turned, **prompts, loops=4, draws=20_000)
    assert_close(both.mean, loss(turned))


@pytest.mark.everything
@pytest.mark.parametrize("way", ["L-BFGS", "Adam", "flow"])
def test_training_on_draws_ends_at_the_exact_optimum(way):
    setting = {"covariance": jnp.eye(1), "samples": 20, "loops": 10}
    loss = looped_loss_on_draws(**setting, key=jax.random.key(0), draws=4_000)
    start = jnp.full((1, 1), 0.3)
    if way == "L-BFGS":
        found = minimise(loss, start).model
    elif way == "Adam":
        found = descend(loss, start, steps=400, optimiser=optax.adam(0.01)).model
    else:
        found = gradient_flow(loss, start, tolerance=1e-7).model
    assert_close(jax.grad(loss)(found), 0.0, atol=1e-6)
    step, least = looped_optimum(1, 20, 10)
    assert_close(found, step, atol=0.02)  # 4,000 draws say where to two digits
    # The set is kinder to what was trained on it than the truth is.
    assert float(looped_loss(found, **setting)) <= 1.05 * least


def test_refusals(getkey):
    loss = transformer_loss_on_draws(**PROMPTS, layers=2, key=getkey(), draws=200)
    with refused("LossOnDraws: `A` must be of 2 layers, got 3"):
        loss(jnp.zeros((3, 2, 2)))
    few = looped_loss_on_draws(**PROMPTS, loops=3, key=getkey(), draws=50)
    with pytest.raises(ValueError, match="enough for 100 effective draws"):
        few.estimate(A)
