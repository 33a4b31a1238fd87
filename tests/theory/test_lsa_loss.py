"""Population losses against a sum over every node of an exact Gauss–Hermite rule."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.theory import (
    lsa_full_loss,
    lsa_loss,
    lsa_loss_random_covariance,
    lsa_optimum,
)
from tests.assertions import assert_close
from tests.gaussian_grid import Prompts
from tests.refusals import refused

LAMBDA = np.array([[1.0, 0.3], [0.3, 0.5]])


def _brute_force(W_KQ, W_PV, examples):
    """½E(ŷ − y)² by the forward pass as written, on all prompts of the rule.

    The squared error has degree at most 6 in each variable: four nodes are exact.
    """
    prompts = Prompts(LAMBDA, examples)
    tokens = np.concatenate([prompts.X, prompts.labels[:, :, None]], axis=2)
    last = np.concatenate([prompts.query, np.zeros((len(prompts.query), 1))], axis=1)
    E = np.concatenate([tokens, last[:, None]], axis=1)
    scores = np.einsum("pia,ab,pb->pi", E, W_KQ, last) / examples
    prediction = np.einsum("a,pia,pi->p", W_PV[-1], E, scores)
    return 0.5 * prompts.mean((prediction - prompts.target) ** 2)


@pytest.mark.parametrize("N", [1, 2])
def test_full_loss_at_random_weights(N):
    rng = np.random.default_rng(N)
    W_KQ, W_PV = rng.normal(size=(2, 3, 3))
    loss = lsa_full_loss(jnp.asarray(W_KQ), jnp.asarray(W_PV), jnp.asarray(LAMBDA), N)
    assert_close(loss, _brute_force(W_KQ, W_PV, N))


@pytest.mark.parametrize("N", [1, 2])
def test_block_loss_at_random_weights(N):
    rng = np.random.default_rng(N)
    U11, u_last = rng.normal(size=(2, 2)), rng.normal()
    W_KQ, W_PV = np.zeros((2, 3, 3))
    W_KQ[:2, :2], W_PV[2, 2] = U11, u_last
    loss = lsa_loss(jnp.asarray(U11), u_last, jnp.asarray(LAMBDA), N)
    assert_close(loss, _brute_force(W_KQ, W_PV, N))
    full = lsa_full_loss(jnp.asarray(W_KQ), jnp.asarray(W_PV), jnp.asarray(LAMBDA), N)
    assert_close(loss, full)


def test_loss_of_doing_nothing_is_half_the_trace():
    zero = jnp.zeros((2, 2))
    assert_close(lsa_loss(zero, 1.0, jnp.asarray(LAMBDA), 5), 0.75)


def test_smallest_loss_of_the_ledger():
    W_KQ, W_PV = lsa_optimum(jnp.diag(jnp.array([1.0, 0.5])), 10)
    loss = lsa_full_loss(W_KQ, W_PV, jnp.diag(jnp.array([1.0, 0.5])), 10)
    assert_close(loss, 0.17142857142857, rtol=1e-13)  # the ledger's digits


def test_irrelevant_weights():
    # Only the last row of W_PV and the first d columns of W_KQ matter.
    W_KQ, W_PV = jax.random.normal(jax.random.key(0), (2, 3, 3))
    loss = lsa_full_loss(W_KQ, W_PV, jnp.asarray(LAMBDA), 4)
    changed = lsa_full_loss(
        W_KQ.at[:, 2].set(9.0), W_PV.at[:2].set(-7.0), jnp.asarray(LAMBDA), 4
    )
    assert_close(changed, loss)


def test_random_covariances_average_the_fixed_ones():
    # λ₁ ~ Exponential(1) by Gauss–Laguerre, λ₂ ~ Uniform(0, 2) by Gauss–Legendre: the
    # loss has degree 3 in λ, so three nodes each are exact.
    exponential, mass_1 = np.polynomial.laguerre.laggauss(3)
    uniform, mass_2 = np.polynomial.legendre.leggauss(3)
    uniform, mass_2 = uniform + 1, mass_2 / 2
    U11, u_last = jax.random.normal(jax.random.key(1), (2, 2)), 0.7
    expected = sum(
        p * q * lsa_loss(U11, u_last, jnp.diag(jnp.array([a, b])), 3)
        for a, p in zip(exponential, mass_1, strict=True)
        for b, q in zip(uniform, mass_2, strict=True)
    )
    moments = jnp.array([[1.0, 1.0], [2.0, 4 / 3], [6.0, 2.0]])
    assert_close(lsa_loss_random_covariance(U11, u_last, moments, 3), expected)


@pytest.mark.parametrize("N", [1, 5])
def test_certain_covariances_are_not_random(N):
    diagonal = jnp.array([1.0, 0.5, 0.2])
    moments = jnp.stack([diagonal, diagonal**2, diagonal**3])
    U11 = jax.random.normal(jax.random.key(2), (3, 3))
    assert_close(
        lsa_loss_random_covariance(U11, -1.3, moments, N),
        lsa_loss(U11, -1.3, jnp.diag(diagonal), N),
    )


EYE, MOMENTS = jnp.eye(2), jnp.ones((3, 2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: lsa_loss(jnp.eye(3), 1.0, EYE, 5),
            "lsa_loss: `covariance` must be a 3×3 matrix like `U11`, got shape (2, 2)",
        ),
        (
            lambda: lsa_loss(jnp.ones((2, 3)), 1.0, EYE, 5),
            "lsa_loss: `U11` must be a square matrix, got shape (2, 3)",
        ),
        (
            lambda: lsa_loss(EYE, 1.0, -EYE, 5),
            "lsa_loss: `covariance` must be positive definite,"
            " got smallest eigenvalue -1",
        ),
        (
            lambda: lsa_loss(EYE, 1.0, EYE, 0),
            "lsa_loss: `context_length` must be an integer ≥ 1, got 0",
        ),
        (
            lambda: lsa_full_loss(EYE, jnp.eye(3), EYE, 5),
            "lsa_full_loss: `value_projection` must be a 2×2 matrix like `key_query`,"
            " got shape (3, 3)",
        ),
        (
            lambda: lsa_full_loss(jnp.eye(3), EYE, EYE, 5),
            "lsa_full_loss: `value_projection` must be a 3×3 matrix like `key_query`,"
            " got shape (2, 2)",
        ),
        (
            lambda: lsa_full_loss(jnp.eye(3), jnp.full((3, 3), jnp.nan), EYE, 5),
            "lsa_full_loss: `value_projection` must be finite,"
            " got 9 entries that are not",
        ),
        (
            lambda: lsa_full_loss(EYE, EYE, EYE, 1.5),  # pyright: ignore[reportArgumentType]
            "lsa_full_loss: `context_length` must be an integer ≥ 1, got 1.5",
        ),
        (
            lambda: lsa_loss_random_covariance(jnp.eye(1), 1.0, MOMENTS, 5),
            "lsa_loss_random_covariance: `moments` must be a 3×1 matrix like `U11`,"
            " got shape (3, 2)",
        ),
        (
            lambda: lsa_loss_random_covariance(EYE, 1.0, MOMENTS, -1),
            "lsa_loss_random_covariance: `context_length` must be an integer ≥ 1,"
            " got -1",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_input_is_named(call, message):
    with refused(message):
        call()
