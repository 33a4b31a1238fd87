"""Theorem 1 of ahn2023 against token-space passes and stationarity."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.theory import ahn_optimum, expected_trace

COVARIANCE = jnp.array([[1.0, 0.2, 0.0], [0.2, 0.5, 0.1], [0.0, 0.1, 0.3]])


def one_layer_loss(A, covariance, samples):
    """E tr((I + SA) Σ (I + SA)ᵀ) for w ~ N(0, I): what b = e_{d+1}, Q = [A] leave."""
    identity = jnp.eye(covariance.shape[0])
    linear = expected_trace((A @ covariance)[None], covariance, samples)
    words = jnp.stack([A @ covariance @ A.T, identity])
    quadratic = expected_trace(words, covariance, samples)
    return jnp.trace(covariance) + 2 * linear + quadratic


def test_isotropic_reference():
    P, Q = ahn_optimum(jnp.eye(5), 20)
    expected_P, expected_Q = np.zeros((6, 6)), np.zeros((6, 6))
    expected_P[5, 5] = 1
    expected_Q[:5, :5] = -10 / 13 * np.eye(5)
    np.testing.assert_allclose(P, expected_P)
    np.testing.assert_allclose(Q, expected_Q, rtol=1e-14)
    loss = one_layer_loss(Q[:5, :5], jnp.eye(5), 20)
    np.testing.assert_allclose(loss, 15 / 13, rtol=1e-13)


def test_stationary_and_minimal():
    n = 4
    A = ahn_optimum(COVARIANCE, n)[1][:3, :3]
    slope = jax.grad(one_layer_loss)(A, COVARIANCE, n)
    np.testing.assert_allclose(slope, np.zeros((3, 3)), atol=1e-13)
    Gamma = (n + 1) / n * COVARIANCE + jnp.trace(COVARIANCE) / n * jnp.eye(3)
    inner = jnp.trace(COVARIANCE @ COVARIANCE @ jnp.linalg.inv(Gamma))
    best = one_layer_loss(A, COVARIANCE, n)
    np.testing.assert_allclose(best, jnp.trace(COVARIANCE) - inner, rtol=1e-12)
    rng = np.random.default_rng(0)
    for _ in range(5):
        other = A + 0.1 * jnp.array(rng.normal(size=(3, 3)))
        assert one_layer_loss(other, COVARIANCE, n) > best


def test_token_space_loss():
    # The paper's network on drawn prompts, with one of its rescalings.
    d, n, prompts = 3, 4, 50_000
    P, Q = map(np.asarray, ahn_optimum(COVARIANCE, n, scale=-2.0))
    rng = np.random.default_rng(1)
    x = rng.multivariate_normal(np.zeros(d), COVARIANCE, size=(prompts, n + 1))
    w = rng.normal(size=(prompts, d))
    y = np.einsum("bni,bi->bn", x, w)
    Z = np.concatenate([x, y[:, :, None]], axis=2).swapaxes(1, 2)
    Z[:, d, n] = 0
    mask = np.diag([1.0] * n + [0.0])
    Z = Z + P @ Z @ mask @ Z.swapaxes(1, 2) @ Q @ Z / n
    losses = (Z[:, d, n] + y[:, n]) ** 2
    A = ahn_optimum(COVARIANCE, n)[1][:d, :d]
    exact = float(one_layer_loss(A, COVARIANCE, n))
    z = (losses.mean() - exact) / (losses.std() / np.sqrt(prompts))
    assert abs(z) < 4


def test_rescaling_keeps_the_product():
    P, Q = ahn_optimum(COVARIANCE, 7)
    for scale in (0.5, -3.0):
        P_scaled, Q_scaled = ahn_optimum(COVARIANCE, 7, scale=scale)
        np.testing.assert_allclose(P_scaled, scale * P, rtol=1e-14)
        np.testing.assert_allclose(scale * Q_scaled, Q, rtol=1e-14)


def test_many_samples_give_minus_the_inverse_covariance():
    Q = ahn_optimum(COVARIANCE, 10**9)[1]
    np.testing.assert_allclose(Q[:3, :3], -np.linalg.inv(COVARIANCE), atol=1e-6)


def test_inside_transformations():
    slope = jax.grad(lambda s: jnp.sum(ahn_optimum(COVARIANCE, 7, scale=s)[0]))(2.0)
    np.testing.assert_allclose(slope, 1.0)
    jitted = jax.jit(lambda covariance: ahn_optimum(covariance, 7)[1])(COVARIANCE)
    np.testing.assert_allclose(jitted, ahn_optimum(COVARIANCE, 7)[1], rtol=1e-12)


@pytest.mark.parametrize(
    ("covariance", "samples", "scale", "message"),
    [
        (jnp.eye(2), 0, 1.0, "`samples` must be an integer ≥ 1, got 0"),
        (jnp.eye(2), 3, 0.0, "`scale` must be finite and different from 0, got 0.0"),
        (
            jnp.eye(2),
            3,
            float("nan"),
            "`scale` must be finite and different from 0, got nan",
        ),
        (
            jnp.diag(jnp.array([1.0, 0.0])),
            3,
            1.0,
            "`covariance` must be positive definite, got smallest eigenvalue 0",
        ),
    ],
)
def test_bad_input(covariance, samples, scale, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        ahn_optimum(covariance, samples, scale)
    assert str(caught.value) == f"ahn_optimum: {message}"
