"""Weighted draws of sample covariances against exact moments and losses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import roots_genlaguerre, roots_hermitenorm

from iclab.core import Mixture
from iclab.theory import (
    looped_loss,
    sampled_looped_loss,
    weighted_covariances,
    wishart_matrix_moments,
    wishart_samples,
)
from tests.assertions import assert_close, assert_mean_close
from tests.refusals import refused

COVARIANCE = jnp.array([[1.0, 0.3, 0.0], [0.3, 0.5, -0.1], [0.0, -0.1, 0.2]])
KEY = jax.random.key(0)


@pytest.mark.parametrize("n", [2, 20])
@pytest.mark.parametrize(
    "mixture", [True, Mixture([1.0, 1.2, 2.0]), Mixture([1.0, 1.5], jnp.eye(3))]
)
def test_weighted_moments_are_exact_ones(n, mixture):
    drawn = weighted_covariances(KEY, COVARIANCE, n, 30_000, degree=6, mixture=mixture)
    exact = np.asarray(wishart_matrix_moments(COVARIANCE, n, 2))
    weights, S = np.asarray(drawn.weights), np.asarray(drawn.covariances)
    for values, expected in (
        (np.ones((len(S), 1, 1)), 1.0),
        (S, exact[1]),
        (S @ S, exact[2]),
    ):
        v = weights[:, None, None] * values
        assert_mean_close(v.mean(axis=0), v.std(axis=0) / len(v) ** 0.5, expected)


def test_as_many_draws_from_each_law():
    drawn = weighted_covariances(
        KEY, COVARIANCE, 4, 10, degree=4, mixture=Mixture([1.0, 2.0, 3.0])
    )
    assert len(drawn.weights) == 12
    assert drawn.laws == 3
    assert np.max(drawn.weights) <= 3


def test_the_plain_law_has_weights_of_one():
    drawn = weighted_covariances(KEY, COVARIANCE, 4, 9, degree=4, mixture=False)
    assert_close(drawn.weights, 1.0)
    assert_close(drawn.covariances, wishart_samples(KEY, COVARIANCE, 4, (9,)))


@pytest.mark.parametrize("loops", [5, 10, 20])
def test_deep_losses_of_multiples_are_exact_ones(loops):
    """By quadrature; plain sampling is off by most of the loss at ten loops."""
    setting = {"covariance": jnp.eye(2), "samples": 5, "loops": loops}
    A = 0.5 * jnp.eye(2)
    exact = float(looped_loss(A, **setting))
    found = sampled_looped_loss(A, **setting, key=KEY, draws=20_000)
    assert_mean_close(found.mean, found.standard_error, exact)
    assert float(found.standard_error) < 0.05 * exact
    assert float(found.largest_share) < 0.01
    plain = sampled_looped_loss(A, **setting, key=KEY, draws=20_000, mixture=False)
    assert float(plain.largest_share) > 0.05


def test_an_integral_over_all_covariances_of_two_inputs():
    """A that is no multiple of I, by a grid over the entries of T in S = TTᵀ/n."""
    A, n, loops = np.array([[0.5, 0.3], [-0.3, 0.5]]), 5, 10
    exact = _integrated(A, n, loops)
    found = sampled_looped_loss(
        jnp.asarray(A),
        covariance=jnp.eye(2),
        samples=n,
        loops=loops,
        key=KEY,
        draws=40_000,
    )
    assert_mean_close(found.mean, found.standard_error, exact)
    few = looped_loss(jnp.asarray(A), covariance=jnp.eye(2), samples=n, loops=3)
    assert_close(_integrated(A, n, 3), few)


def _integrated(A, n, loops):
    """Gauss rules in T₁₁²/2 ~ Γ(n/2), T₂₂²/2 ~ Γ((n−1)/2) and T₂₁ ~ N(0, 1).

    The loss is a polynomial of degree 4·`loops` in T, even in its diagonal up to signs
    that cancel with T₂₁'s: the rules are exact.
    """
    nodes = 2 * loops + 1
    g, v = roots_genlaguerre(nodes, n / 2 - 1)
    h, w = roots_genlaguerre(nodes, (n - 1) / 2 - 1)
    z, u = roots_hermitenorm(nodes)
    mass = np.einsum("i,j,k->ijk", v / v.sum(), w / w.sum(), u / u.sum()).ravel()
    g, h, z = (one.ravel() for one in np.meshgrid(g, h, z, indexing="ij"))
    T = np.zeros((len(mass), 2, 2))
    T[:, 0, 0], T[:, 1, 0], T[:, 1, 1] = np.sqrt(2 * g), z, np.sqrt(2 * h)
    S = T @ T.transpose(0, 2, 1) / n
    G = np.linalg.matrix_power(np.eye(2) - S @ A, loops)
    return mass @ np.sum(G**2, axis=(1, 2))


def test_compiles_and_is_differentiable_in_the_covariance():
    def mean(scale, key=KEY):
        drawn = weighted_covariances(key, scale * COVARIANCE, 4, 100, degree=4)
        return drawn.mean(jnp.trace(drawn.covariances, axis1=1, axis2=2) ** 2)

    value, slope = jax.jit(jax.value_and_grad(mean))(2.0)
    assert_close(value, mean(2.0))
    assert_close(slope, value)  # the mean is quadratic in the scale


@pytest.mark.usefixtures("unchecked")
def test_few_effective_draws_are_refused():
    drawn = weighted_covariances(KEY, COVARIANCE, 4, 402, degree=6)
    for losses, effective in ((drawn.covariances[:, 0, 0] ** 30, 3), (0.0, 0)):
        losses = losses * jnp.ones(402)
        with refused(
            "WeightedCovariances.estimate: `draws` must be enough for 100 effective"
            f" draws, got 402, of which {effective} carry the mean"
        ):
            drawn.estimate(losses)
