"""What the figures of gatmiry2024 compute for themselves, by second routes."""

import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.papers._training_runs import to_multiples
from iclab.papers.gatmiry2024._curvature import curvatures
from iclab.papers.gatmiry2024._shifted_loss import shifted_loss_by_loops
from iclab.papers.gatmiry2024._training import (
    Short,
    losses_by_depth,
    population_loss,
    to_identity,
    train,
)
from iclab.theory import (
    looped_loss,
    looped_optimum,
    loss_by_test_loops,
    sampled_looped_loss,
    wishart_matrix_moments,
)
from tests.assertions import assert_close, assert_mean_close

SIGMA = jnp.diag(jnp.array([0.75, 0.75, 1.25]))


def test_curvatures_are_second_derivatives_of_the_exact_loss():
    d, n, L = 3, 7, 2
    a, _ = looped_optimum(d, n, L)
    symmetric = jnp.array([[1.0, 1.0, 2.0], [1.0, 0.3, 0.5], [2.0, 0.5, -1.3]])
    antisymmetric = jnp.array([[0.0, 1.0, 2.0], [-1.0, 0.0, 0.5], [-2.0, -0.5, 0.0]])

    @jax.jit
    def second(direction):
        def loss(size):
            A = a * jnp.eye(d) + size * direction / jnp.linalg.norm(direction)
            return looped_loss(A, covariance=jnp.eye(d), samples=n, loops=L)

        return jax.grad(jax.grad(loss))(0.0)

    expected = [second(K) for K in (jnp.eye(d), symmetric, antisymmetric)]
    assert_close(jnp.array(curvatures(a, d, n, L)), jnp.array(expected), rtol=1e-10)


def test_many_loops_bend_downwards():
    a, _ = looped_optimum(10, 20, 6)
    assert curvatures(a, 10, 20, 6).antisymmetric < 0
    a, _ = looped_optimum(10, 20, 5)
    assert curvatures(a, 10, 20, 5).antisymmetric > 0


def test_shifted_loss_by_matrix_moments():
    a, n = 0.6, 8
    halves = (Fraction(3, 4), Fraction(5, 4)), (2, 1)
    found = shifted_loss_by_loops([a], *halves, n, 4)[0]
    moments = wishart_matrix_moments(SIGMA, n, 8)
    traces = [float(jnp.trace(SIGMA @ moment)) for moment in moments]
    for l in range(1, 5):
        terms = (math.comb(2 * l, j) * (-a) ** j * traces[j] for j in range(2 * l + 1))
        assert found[l - 1] == pytest.approx(sum(terms), rel=1e-11)


def test_shifted_loss_without_a_shift():
    found = shifted_loss_by_loops([0.5], [Fraction(1)], [4], 9, 8)[0]
    assert_close(jnp.asarray(found), loss_by_test_loops(0.5, 4, 9, 8), rtol=1e-12)


def test_population_loss_is_the_exact_loss():
    rng = np.random.default_rng(0)
    d, n = 3, 7
    A = 0.5 * np.eye(d) + 0.1 * rng.normal(size=(d, d))
    u = 0.3 * rng.normal(size=d)
    exact = looped_loss(
        jnp.asarray(A), jnp.asarray(u), covariance=jnp.eye(d), samples=n, loops=2
    )
    found, error = population_loss(
        np.stack([A, A]), np.stack([u, u]), n, 20_000, jax.random.key(0)
    )
    assert_mean_close(found, error, exact)
    assert error < 0.01 * float(exact)


def test_population_loss_of_multiples_is_exact():
    d, n, L = 3, 7, 5
    u = np.array([0.3, -0.2, 0.1])
    exact = looped_loss(
        0.6 * jnp.eye(d), jnp.asarray(u), covariance=jnp.eye(d), samples=n, loops=L
    )
    A = np.stack([0.6 * np.eye(d)] * L)
    found, error = population_loss(A, np.stack([u] * L), n, 1_000, jax.random.key(0))
    assert found == pytest.approx(float(exact), rel=1e-12)
    assert error < 1e-12


@pytest.mark.everything
def test_population_loss_of_turned_weights_with_many_loops():
    d, n, L = 2, 20, 10
    A = np.array([[0.6, 0.3], [-0.3, 0.6]])
    exact = sampled_looped_loss(
        jnp.asarray(A),
        covariance=jnp.eye(d),
        samples=n,
        loops=L,
        key=jax.random.key(1),
        draws=400_000,
    )
    layers, u = np.stack([A] * L), np.zeros((L, d))
    # Small eigenvalues carry a part of it, and the mixture has no more of these.
    found, error = population_loss(layers, u, n, 60_000, jax.random.key(0))
    assert_mean_close(found, np.hypot(error, exact.standard_error), exact.mean)
    assert error < 0.1 * found


def test_population_loss_that_too_few_draws_carry_is_not_known():
    d, n, L = 2, 20, 10
    A = np.stack([np.array([[0.6, 0.3], [-0.3, 0.6]])] * L)
    found = population_loss(A, np.zeros((L, d)), n, 40, jax.random.key(0))
    assert np.isnan(found).all()


def test_losses_by_depth_are_the_exact_losses():
    n, loops = 8, 4
    A, u = np.stack([0.6 * np.eye(3)] * loops), np.zeros((loops, 3))
    key = jax.random.key(0)
    found, error = losses_by_depth(A, u, np.asarray(SIGMA), n, 20_000, key)
    halves = (Fraction(3, 4), Fraction(5, 4)), (2, 1)
    exact = shifted_loss_by_loops([0.6], *halves, n, loops)[0]
    for one in zip(found, error, exact, strict=True):
        assert_mean_close(*one)


def test_one_layer_is_one_loop():
    settings = {
        "dimension": 3,
        "samples": 5,
        "loops": [1],
        "seeds": 2,
        "batch": 8,
        "redraw_every": 1,
        "steps": 4,
        "every": 2,
        "protocol": "code",
        "rate": 0.1,
        "halvings": 2,
        "clip": 0.1,
        "start": 0.01,
        "betas": [0.99, 0.9],
    }
    looped, untied = (
        train(settings, jax.random.key(0), shared=shared) for shared in (True, False)
    )
    assert_close(untied.losses, looped.losses, rtol=1e-12)
    assert_close(untied.A, looped.A, rtol=1e-12)


@pytest.mark.parametrize("n", [2, 7])
def test_short_prompts_have_the_second_moment_of_long_ones(n):
    d, root = 3, jnp.diag(jnp.sqrt(jnp.array([0.5, 1.0, 2.0])))
    task = Short(n, root)
    batch = task.sample_batch(jax.random.key(0), 20_000, min(n, d))
    X, Sigma = batch.examples, root @ root.T
    S = jnp.swapaxes(X, 1, 2) @ X / min(n, d)
    exact = wishart_matrix_moments(Sigma, n, 2)
    for one, moment in ((S, exact[1]), (S @ S, exact[2])):
        error = jnp.std(one, axis=0) / math.sqrt(len(S))
        assert_mean_close(jnp.mean(one, axis=0), error, moment)
    if n > d:
        w = jnp.linalg.solve(X, batch.labels[..., None])[..., 0]
        assert_close(jnp.sum(w * batch.query, axis=1), batch.target, atol=1e-6)


def test_distances():
    A = np.array([[2.0, 1.0], [-1.0, 2.0]])
    assert float(to_identity(A)) == pytest.approx(math.sqrt(2))
    assert float(to_multiples(A)) == pytest.approx(math.sqrt(0.2))
