"""Quadratures of the mean spectrum: moments, samples, limits, bad input."""

from fractions import Fraction
from math import comb

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate

from iclab.theory import (
    marchenko_pastur_quadrature,
    wishart_moments,
    wishart_quadrature,
)


def moment_error(nodes, weights, moments):
    """Largest relative error of Σ w hᵏ, in units of the largest node (no overflow)."""
    nodes, weights = np.asarray(nodes), np.asarray(weights)
    top = float(nodes.max())
    errors = []
    for k, moment in enumerate(moments):
        exact = float(moment / Fraction(top) ** k)
        errors.append(abs(np.sum(weights * (nodes / top) ** k) / exact - 1))
    return max(errors)


@pytest.mark.parametrize(
    ("d", "n", "degree"),
    [
        (5, 20, 31),
        (5, 20, 1),
        (5, 20, 2),
        (50, 500, 63),
        (5, 20, 127),
        (1, 1, 127),
        (1, 7, 6),
        (3, 3, 40),
        (5, 3, 127),
        (7, 1, 20),
        (5, 10**9, 127),
    ],
)
def test_every_moment_up_to_the_degree(d, n, degree):
    nodes, weights = wishart_quadrature(d, n, degree)
    assert nodes.shape == weights.shape == (degree // 2 + 1 + (n < d),)
    assert nodes.dtype == weights.dtype == jnp.float64
    assert moment_error(nodes, weights, wishart_moments(d, n, degree)) < 1e-13
    assert np.all(np.diff(nodes) > 0)
    assert np.all(weights > 0)
    np.testing.assert_allclose(np.sum(weights), 1, rtol=1e-14)


def test_largest_degree():
    nodes, weights = wishart_quadrature(1, 1, 255)
    assert moment_error(nodes, weights, wishart_moments(1, 1, 255)) < 1e-13


def test_one_degree_more_is_not_integrated():
    # A Gauss rule with m nodes is exact to degree 2m − 1 and no further.
    nodes, weights = wishart_quadrature(5, 20, 7)
    assert moment_error(nodes, weights, wishart_moments(5, 20, 7)) < 1e-14
    assert moment_error(nodes, weights, wishart_moments(5, 20, 8)) > 1e-5


def test_fewer_samples_than_dimensions_put_an_atom_at_zero():
    nodes, weights = wishart_quadrature(5, 3, 11)
    assert nodes[0] == 0
    np.testing.assert_allclose(weights[0], 1 - 3 / 5, rtol=1e-15)


def test_one_node_is_the_mean():
    nodes, weights = wishart_quadrature(5, 20, 1)
    np.testing.assert_allclose(nodes, [1.0], rtol=1e-15)
    np.testing.assert_allclose(weights, [1.0], rtol=1e-15)


def test_polynomial_of_sampled_eigenvalues():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40_000, 4, 6))
    h = np.linalg.eigvalsh(np.einsum("bin,bjn->bij", x, x) / 6)
    values = np.mean((1 - 0.7 * h) ** 2 * (1 - 0.3 * h) ** 2, axis=1)
    nodes, weights = map(np.asarray, wishart_quadrature(4, 6, 4))
    exact = np.sum(weights * (1 - 0.7 * nodes) ** 2 * (1 - 0.3 * nodes) ** 2)
    z = (values.mean() - exact) / (values.std() / np.sqrt(len(values)))
    assert abs(z) < 4


@pytest.mark.parametrize("ratio", [1e-6, 0.25, 0.999, 1, 2.5, 40])
@pytest.mark.parametrize("degree", [1, 2, 31, 127])
def test_marchenko_pastur_moments(ratio, degree):
    # Narayana polynomials: ∫λᵏ dμ = Σ_r cʳ C(k, r) C(k, r+1)/k.
    c = Fraction(ratio)
    moments = [Fraction(1)]
    for k in range(1, degree + 1):
        terms = (Fraction(comb(k, r) * comb(k, r + 1), k) * c**r for r in range(k))
        moments.append(sum(terms, Fraction(0)))
    nodes, weights = marchenko_pastur_quadrature(ratio, degree)
    assert nodes.shape == (degree // 2 + 1 + (ratio > 1),)
    assert moment_error(nodes, weights, moments) < 1e-13
    assert np.all(np.diff(nodes) > 0)
    assert np.all(weights > 0)


def test_marchenko_pastur_density():
    c = 0.3
    low, high = (1 - np.sqrt(c)) ** 2, (1 + np.sqrt(c)) ** 2

    def integrand(t):
        # λ = low + (high − low) sin² t removes the square-root edges.
        h = low + (high - low) * np.sin(t) ** 2
        density = (high - low) * np.sin(t) * np.cos(t) / (2 * np.pi * c * h)
        return np.exp(-h) * density * 2 * (high - low) * np.sin(t) * np.cos(t)

    direct, _ = integrate.quad(integrand, 0, np.pi / 2, epsabs=1e-13)
    nodes, weights = map(np.asarray, marchenko_pastur_quadrature(c, 60))
    np.testing.assert_allclose(np.sum(weights * np.exp(-nodes)), direct, rtol=1e-12)


def test_large_systems_approach_marchenko_pastur():
    limit, _ = marchenko_pastur_quadrature(0.25, 9)
    gaps = []
    for d in (100, 1000):
        nodes, _ = wishart_quadrature(d, 4 * d, 9)
        gaps.append(float(np.max(np.abs(nodes - limit))))
    # Real Wishart spectra differ from the limit by O(1/d).
    assert gaps[1] < 0.12 * gaps[0]
    assert gaps[1] < 0.01


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 3, 2), "`dimension` must be an integer ≥ 1, got 0"),
        ((3, -1, 2), "`samples` must be an integer ≥ 1, got -1"),
        ((3, 3, 0), "`degree` must be an integer ≥ 1, got 0"),
        (
            (3, 3, 256),
            "`degree` must be at most 255, where float64 still holds every weight, "
            "got 256",
        ),
    ],
)
def test_bad_wishart_quadrature(arguments, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        wishart_quadrature(*arguments)
    assert str(caught.value) == f"wishart_quadrature: {message}"


@pytest.mark.parametrize("degree", [8, 24])
def test_more_samples_only_bring_eigenvalues_nearer_to_one(degree):
    # Around 1 they scatter by 1/√n, and √n(S − I) tends to a Gaussian matrix.
    near, weights = wishart_quadrature(5, 10**12, degree)
    nearer, other_weights = wishart_quadrature(5, 2**63 - 1, degree)
    spread = (nearer - 1) * np.sqrt(2.0**63)
    np.testing.assert_allclose(spread, (near - 1) * 1e6, rtol=0, atol=1e-4)
    np.testing.assert_allclose(other_weights, weights, rtol=1e-4)


def test_samples_beyond_fifty_digits():
    with pytest.raises(ValueError, match="`samples` must be an integer of at most 50"):
        wishart_quadrature(3, 10**60, 9)


def test_samples_beyond_the_digits_of_the_rule():
    with pytest.raises(ArithmeticError) as caught:
        wishart_quadrature(3, 10**49, 9)
    assert str(caught.value) == (
        f"no Gauss rule with 5 nodes for dimension 3 and samples {10**49}: take the "
        "limit of infinitely many samples instead, where S is the identity"
    )


@pytest.mark.parametrize(
    ("ratio", "degree", "message"),
    [
        (0.0, 3, "`ratio` must be > 0 and finite, got 0.0"),
        (float("inf"), 3, "`ratio` must be > 0 and finite, got inf"),
        (0.5, 0, "`degree` must be an integer from 1 to 4,095, got 0"),
    ],
)
def test_bad_marchenko_pastur_quadrature(ratio, degree, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        marchenko_pastur_quadrature(ratio, degree)
    assert str(caught.value) == f"marchenko_pastur_quadrature: {message}"
