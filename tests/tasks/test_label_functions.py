"""Label functions and their moments: closed forms, quadrature, sampling."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.tasks import (
    Cubic,
    LabelMoments,
    Quadratic,
    ReLUNetwork,
    Sine,
    sampled_moments,
)
from tests.assertions import assert_close, assert_mean_close
from tests.gaussian_grid import gaussian_grid
from tests.refusals import refused

LAMBDA = np.array([[1.0, 0.3], [0.3, 0.5]])
DIRECTION = jnp.array([0.6, -0.9])
FUNCTIONS = (
    Quadratic(jnp.array([[1.0, 2.0], [0.0, -0.5]]), DIRECTION),
    Quadratic(jnp.array([[1.0, 2.0], [0.0, -0.5]])),
    Cubic(DIRECTION, 0.4),
    Sine(DIRECTION),
    Sine(jnp.zeros(2)),
    Cubic(jnp.zeros(2)),
)


def _by_grid(function, nodes):
    """Moments by a tensor rule in both variables."""
    points, mass = gaussian_grid(2, nodes)
    x = points @ np.linalg.cholesky(LAMBDA).T
    y = np.asarray(jax.vmap(function)(jnp.asarray(x)))
    cross = (mass * y) @ x
    weighted = np.einsum("p,pi,pj->ij", mass * y**2, x, x)
    return cross, mass @ y**2, weighted - np.outer(cross, cross)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: type(f).__name__)
def test_moments_are_integrals(function):
    # Polynomials of degree 8 or less need five nodes; the sine is entire, 40 suffice.
    moments = function.moments(jnp.asarray(LAMBDA))
    cross, square, covariance = _by_grid(function, 40)
    assert_close(moments.cross, cross)
    assert_close(moments.square, square)
    assert_close(moments.covariance, covariance)
    assert_close(moments.error, 0.0)


def test_sine_in_closed_form():
    # E sin²z = (1 − e^{−2v})/2 and E[x sin⟨b, x⟩] = Λb e^{−v/2}, v = bᵀΛb.
    moments = Sine(DIRECTION).moments(jnp.asarray(LAMBDA))
    variance = np.asarray(DIRECTION) @ LAMBDA @ np.asarray(DIRECTION)
    assert_close(moments.square, (1 - np.exp(-2 * variance)) / 2)
    expected = LAMBDA @ np.asarray(DIRECTION) * np.exp(-variance / 2)
    assert_close(moments.cross, expected)


def test_values_by_hand():
    x = jnp.array([2.0, 1.0])
    A = jnp.array([[1.0, 2.0], [0.0, -0.5]])
    assert_close(Quadratic(A)(x), 4 + 4 - 0.5)
    assert_close(Quadratic(A, jnp.array([1.0, 1.0]))(x), 7.5 + 3)
    assert_close(Cubic(jnp.array([1.0, -1.0]), 2.0)(x), 1 + 2)
    assert_close(Sine(jnp.array([1.0, -1.0]))(x), np.sin(1.0))
    network = ReLUNetwork(jnp.array([[1.0, 0.0], [-1.0, 0.0]]), jnp.array([3.0, 5.0]))
    assert_close(network(x), 6.0)
    assert_close(network(-x), 10.0)


def test_noise_adds_to_moments():
    plain = Sine(DIRECTION).moments(jnp.asarray(LAMBDA))
    noisy = plain.with_noise(0.3, jnp.asarray(LAMBDA))
    assert_close(noisy.cross, plain.cross)
    assert_close(noisy.square, plain.square + 0.3)
    assert_close(noisy.covariance, plain.covariance + 0.3 * LAMBDA)


def test_sampled_moments_have_honest_error_bars(getkey):
    function = Sine(DIRECTION)
    exact = function.moments(jnp.asarray(LAMBDA))
    found = sampled_moments(function, jnp.asarray(LAMBDA), key=getkey(), draws=50_000)
    assert 0 < found.error < 0.01
    assert_mean_close(found.cross, found.error, exact.cross)
    assert_mean_close(found.square, found.error, exact.square)
    # Cov(xy) = E[y²xxᵀ] − E[xy]E[xy]ᵀ: the second term doubles the error at most.
    assert_mean_close(found.covariance, 2 * found.error, exact.covariance)


def test_network_moments_are_sampled(getkey):
    network = ReLUNetwork(jnp.array([[1.0, 0.0]]), jnp.array([2.0]))
    assert network.moments(jnp.asarray(LAMBDA)) is None
    found = sampled_moments(network, jnp.asarray(LAMBDA), key=getkey(), draws=49_999)
    # y = 2 max(x₁, 0): E[xy] = Λe₁ and E y² = 2Λ₁₁.
    assert_mean_close(found.cross, found.error, LAMBDA[:, 0])
    assert_mean_close(found.square, found.error, 2.0)


def test_antithetic_pairs_see_no_even_part(getkey):
    # E[xy] of an even function is zero, and every pair knows it.
    function = Quadratic(jnp.eye(2))
    found = sampled_moments(function, jnp.asarray(LAMBDA), key=getkey(), draws=50_000)
    assert_close(found.cross, np.zeros(2))


def test_raw_moments_become_a_covariance():
    cross = jnp.array([1.0, 2.0])
    moments = LabelMoments.from_raw(cross, jnp.asarray(3.0), 5 * jnp.eye(2))
    assert_close(moments.covariance, [[4.0, -2.0], [-2.0, 1.0]])
    assert_close(moments.error, 0.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Quadratic(jnp.ones((2, 3))),
            "Quadratic: `matrix` must be a square matrix, got shape (2, 3)",
        ),
        (
            lambda: Quadratic(jnp.eye(2), jnp.ones(3)),
            "Quadratic: `direction` must be a vector of 2 numbers like `matrix`,"
            " got shape (3,)",
        ),
        (
            lambda: Cubic(jnp.ones((2, 2))),
            "Cubic: `direction` must be a vector of numbers, got shape (2, 2)",
        ),
        (
            lambda: Cubic(jnp.ones(2), float("nan")),
            "Cubic: `slope` must be finite, got nan",
        ),
        (
            lambda: Sine(jnp.array([1.0, jnp.nan])),
            "Sine: `direction` must be finite, got 1 entries that are not",
        ),
        (
            lambda: ReLUNetwork(jnp.ones(3), jnp.ones(3)),
            "ReLUNetwork: `hidden` must be an h×d matrix, got shape (3,)",
        ),
        (
            lambda: ReLUNetwork(jnp.ones((4, 3)), jnp.ones(3)),
            "ReLUNetwork: `output` must be a vector of 4 numbers like `hidden`,"
            " got shape (3,)",
        ),
        (
            lambda: ReLUNetwork(jnp.full((4, 3), jnp.inf), jnp.ones(4)),
            "ReLUNetwork: `hidden` must be finite, got 12 entries that are not",
        ),
        (
            lambda: ReLUNetwork(jnp.ones((4, 3)), jnp.full(4, jnp.nan)),
            "ReLUNetwork: `output` must be finite, got 4 entries that are not",
        ),
        (
            lambda: sampled_moments(
                Sine(jnp.ones(2)), jnp.eye(2), key=jax.random.key(0), draws=0
            ),
            "sampled_moments: `draws` must be an integer ≥ 1, got 0",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_settings_are_named(call, message):
    with refused(message):
        call()


def test_directions_are_float64():
    short = DIRECTION.astype(jnp.float32)
    for function in (Quadratic(jnp.eye(2), short), Cubic(short), Sine(short)):
        assert function.direction.dtype == jnp.float64
