"""Draws of sample covariances against exact moments and drawn inputs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.theory import expected_trace, wishart_matrix_moments, wishart_samples

COVARIANCE = jnp.array([[1.0, 0.3, 0.0], [0.3, 0.5, -0.1], [0.0, -0.1, 0.2]])
DRAWS = 30_000  # one number for the file, so that samplers compile once


@pytest.mark.parametrize("n", [1, 2, 3, 20, 10**9])
def test_first_three_powers(n):
    S = np.asarray(wishart_samples(jax.random.key(n), COVARIANCE, n, (DRAWS,)))
    exact = np.asarray(wishart_matrix_moments(COVARIANCE, n, 3))
    upper = np.triu_indices(3)
    power = np.broadcast_to(np.eye(3), S.shape)
    for k in range(1, 4):
        power = power @ S
        error = power.std(axis=0) / np.sqrt(len(S))
        z = ((power.mean(axis=0) - exact[k]) / error)[upper]
        assert np.max(np.abs(z)) < 4.5


def test_joint_law_of_entries():
    # E (S₀₁)² and E S₀₀S₂₂ see more than powers of S do.
    n = 4
    S = np.asarray(wishart_samples(jax.random.key(0), COVARIANCE, n, (DRAWS,)))
    E = np.zeros((3, 3, 3, 3))
    for i in range(3):
        for j in range(3):
            E[i, j, i, j] = 1
    words = jnp.array([[E[1, 0], E[1, 0]], [E[0, 2], E[2, 0]]])
    exact = expected_trace(words, COVARIANCE, n)
    for value, draws in zip(
        exact, (S[:, 0, 1] ** 2, S[:, 0, 0] * S[:, 2, 2]), strict=True
    ):
        z = (draws.mean() - float(value)) / (draws.std() / np.sqrt(len(S)))
        assert abs(z) < 4


@pytest.mark.parametrize("n", [2, 7])
def test_shape_symmetry_and_rank(n):
    S = wishart_samples(jax.random.key(0), COVARIANCE, n, (3, 1))
    assert S.shape == (3, 1, 3, 3)
    np.testing.assert_array_equal(S, S.mT)
    eigenvalues = np.linalg.eigvalsh(S)
    assert np.all(np.sum(eigenvalues > 1e-12, axis=-1) == min(n, 3))


def test_jit_agrees_and_keys_matter():
    key, shape = jax.random.key(3), (3,)
    for n in (2, 5):
        drawn = wishart_samples(key, COVARIANCE, n, shape)
        # A covariance that is closed over, and one that is traced.
        closed = jax.jit(lambda key, n=n: wishart_samples(key, COVARIANCE, n, shape))
        np.testing.assert_allclose(closed(key), drawn, rtol=1e-12)
        other = wishart_samples(jax.random.key(4), COVARIANCE, n, shape)
        assert np.max(np.abs(other - drawn)) > 0.01
    traced = jax.jit(lambda covariance: wishart_samples(key, covariance, 2, shape))
    drawn = wishart_samples(key, COVARIANCE, 2, shape)
    np.testing.assert_allclose(traced(COVARIANCE), drawn, rtol=1e-12)


def test_one_draw_and_none():
    assert wishart_samples(jax.random.key(0), COVARIANCE, 2).shape == (3, 3)
    assert wishart_samples(jax.random.key(0), COVARIANCE, 2, (0,)).shape == (0, 3, 3)


def test_many_samples_concentrate():
    S = wishart_samples(jax.random.key(0), COVARIANCE, 10**9, (DRAWS,))
    assert np.max(np.abs(S - COVARIANCE[None])) < 1e-3


@pytest.mark.parametrize(
    ("covariance", "samples", "shape", "message"),
    [
        (jnp.eye(2), 0, (), "`samples` must be an integer ≥ 1, got 0"),
        (jnp.eye(2), 3, (-1,), "`shape[0]` must be an integer ≥ 0, got -1"),
        (
            jnp.diag(jnp.array([1.0, 0.0])),
            3,
            (),
            "`covariance` must be positive definite, got smallest eigenvalue 0",
        ),
    ],
)
def test_bad_input(covariance, samples, shape, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        wishart_samples(jax.random.key(0), covariance, samples, shape)
    assert str(caught.value) == f"wishart_samples: {message}"
