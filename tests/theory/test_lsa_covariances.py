"""Random covariances of any law: simulation, differentiation, corners with names."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.core import Prompt
from iclab.models import LinearSelfAttention
from iclab.tasks import Exponential, Fixed, Gamma, LogNormal, RandomCovariance, Uniform
from iclab.theory import (
    lsa_flow_given_covariances,
    lsa_flow_random_covariance,
    lsa_full_loss,
    lsa_full_loss_given_covariances,
    lsa_loss_random_covariance,
    lsa_optimum_given_covariances,
    lsa_optimum_random_covariance,
    three_moment_covariances,
)
from tests.assertions import assert_close, assert_mean_close
from tests.refusals import refused, refused_like

N = 4


def random(*shape, seed=0):
    return jnp.asarray(np.random.default_rng([seed, *shape]).standard_normal(shape))


def atoms(m=3, d=2):
    roots = random(m, d, d)
    return roots @ roots.mT + 0.1 * jnp.broadcast_to(jnp.eye(d), (m, d, d))


SHARES = jnp.array([0.5, 0.2, 0.3])


def blocks(U):
    """W_KQ and W_PV of (U₁₁ u₁₂; u₂₁ᵀ u₋₁); the rest of both has no effect."""
    empty = jnp.zeros_like(U)
    return empty.at[:, :-1].set(U[:, :-1]), empty.at[-1].set(U[:, -1])


def test_loss_is_that_of_the_model_on_prompts():
    """Half the mean squared error of the model itself, weights random everywhere."""
    W_KQ, W_PV, laws = random(3, 3), random(3, 3, seed=1), atoms()
    rng, prompts = np.random.default_rng(0), 40_000
    which = rng.choice(3, prompts, p=np.asarray(SHARES))
    roots = np.linalg.cholesky(np.asarray(laws))[which]
    x = jnp.asarray(
        np.einsum("pij,pnj->pni", roots, rng.normal(size=(prompts, N + 1, 2)))
    )
    w = jnp.asarray(rng.normal(size=(prompts, 2)))
    model = LinearSelfAttention(W_KQ, W_PV)

    @jax.jit
    @jax.vmap
    def half_square(x, w):
        y = x @ w
        return (model(Prompt(x[:-1], y[:-1], x[-1], y[-1])) - y[-1]) ** 2 / 2

    values = np.asarray(half_square(x, w))
    exact = lsa_full_loss_given_covariances(W_KQ, W_PV, laws, N, shares=SHARES)
    assert_mean_close(values.mean(), values.std() / np.sqrt(prompts), exact)


def test_flow_is_minus_the_gradient_of_the_loss():
    laws, U11, u = atoms(), random(2, 2), jnp.asarray(0.7)
    U = jnp.zeros((3, 3)).at[:2, :2].set(U11).at[2, 2].set(u)
    slope = jax.grad(
        lambda U: lsa_full_loss_given_covariances(*blocks(U), laws, N, shares=SHARES)
    )(U)
    dU11, du = lsa_flow_given_covariances(U11, u, laws, N, shares=SHARES)
    assert_close(dU11, -slope[:2, :2])
    assert_close(du, -slope[2, 2])
    assert_close(slope[:2, 2], 0.0)
    assert_close(slope[2, :2], 0.0)


def test_optimum_is_stationary_and_not_symmetric():
    W_KQ, W_PV = lsa_optimum_given_covariances(atoms(), N, shares=SHARES)
    U = W_KQ.at[2, 2].set(W_PV[2, 2])
    slope = jax.grad(
        lambda U: lsa_full_loss_given_covariances(*blocks(U), atoms(), N, shares=SHARES)
    )(U)
    assert_close(slope, 0.0, atol=1e-11)
    assert_close(U[2, 2] ** 2, jnp.sum(U[:2, :2] ** 2))
    assert abs(float(U[0, 1] - U[1, 0])) > 1e-3


def test_one_covariance_is_the_loss_of_it():
    W_KQ, W_PV, Lambda = random(3, 3), random(3, 3, seed=1), atoms()[0]
    found = lsa_full_loss_given_covariances(W_KQ, W_PV, Lambda[None], N)
    assert_close(found, lsa_full_loss(W_KQ, W_PV, Lambda, N))


@pytest.mark.parametrize(
    "laws",
    [
        (Exponential(0.5), Gamma(2.0, 0.5), LogNormal(-0.3, 0.5)),
        (Uniform(0.2, 1.8), Fixed(0.7), Exponential()),
    ],
    ids=["three", "one fixed"],
)
def test_three_moments_stand_for_a_law_by_entry(laws):
    """Loss, flow and optimum over 2³ covariances are those of the moment formulas."""
    moments = RandomCovariance(laws).moments()
    covariances, shares = three_moment_covariances(moments)
    entries = np.diagonal(covariances, axis1=1, axis2=2)
    for power in (1, 2, 3):
        assert_close(np.asarray(shares) @ entries**power, moments[power - 1])
    U11, u = random(3, 3), jnp.asarray(0.7)
    U = jnp.zeros((4, 4)).at[:3, :3].set(U11).at[3, 3].set(u)
    found = lsa_full_loss_given_covariances(*blocks(U), covariances, N, shares=shares)
    assert_close(found, lsa_loss_random_covariance(U11, u, moments, N))
    flows = (
        lsa_flow_given_covariances(U11, u, covariances, N, shares=shares),
        lsa_flow_random_covariance(U11, u, moments, N),
    )
    for one, other in zip(*flows, strict=True):
        assert_close(one, other)
    optima = (
        lsa_optimum_given_covariances(covariances, N, shares=shares),
        lsa_optimum_random_covariance(moments, N),
    )
    for one, other in zip(*optima, strict=True):
        assert_close(one, other, atol=1e-11)


def test_bad_laws_are_named():
    with refused(
        "lsa_optimum_given_covariances: `covariances` must be symmetric and positive"
        " definite, every one, got smallest eigenvalue -1"
    ):
        lsa_optimum_given_covariances(jnp.stack([jnp.eye(2), -jnp.eye(2)]), N)
    with refused_like("`shares` must be positive numbers that sum to 1, got"):
        lsa_optimum_given_covariances(atoms(), N, shares=SHARES / 2)
    with refused_like("as a positive law has, got"):
        three_moment_covariances(jnp.array([[1.0], [0.5], [1.0]]))
