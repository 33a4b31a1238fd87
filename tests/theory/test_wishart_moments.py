"""Wishart moments: three routes against each other, the ledger, and samples."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from iclab.theory import (
    wishart_matrix_moments,
    wishart_moments,
    wishart_moments_by_traces,
    wishart_moments_zonal,
)
from tests.refusals import refused

ROUTES = (wishart_moments, wishart_moments_zonal, wishart_moments_by_traces)
MOST = (10_000, 256, 40)  # the largest order of each


def test_reference_values():
    expected = [
        Fraction(1),
        Fraction(1),
        Fraction(13, 10),
        Fraction(201, 100),
        Fraction(349, 100),
        Fraction(65853, 10000),
        Fraction(662607, 50000),
        Fraction(112496769, 4000000),
        Fraction(625024323, 10000000),
        Fraction(28957274577, 200000000),
        Fraction(696994789491, 2000000000),
    ]
    assert wishart_moments(5, 20, 10) == expected
    assert wishart_moments(5, 20, 5) == expected[:6]
    assert wishart_moments(5, 20, 1) == expected[:2]


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 12))
def test_three_routes_agree_exactly(d, n, order):
    moments = wishart_moments(d, n, order)
    assert len(moments) == order + 1
    assert moments == wishart_moments_zonal(d, n, order)
    assert moments == wishart_moments_by_traces(d, n, order)


def test_five_terms_follow_the_zonal_formula_far_out():
    for d, n in ((5, 20), (7, 2)):
        assert wishart_moments(d, n, 40)[-6:] == wishart_moments_zonal(d, n, 40)[-6:]


def test_one_dimension_is_a_chi_square():
    # E (χ²_n)ᵏ = n (n+2) ⋯ (n+2k−2).
    n, expected = 3, [Fraction(1)]
    for k in range(200):
        expected.append(expected[-1] * Fraction(n + 2 * k, n))
    assert wishart_moments(1, n, 200) == expected


def test_fewer_samples_than_dimensions_swaps_the_roles():
    # XXᵀ and XᵀX share traces: d nᵏ m_k is symmetric in n and d.
    few, many = wishart_moments(7, 3, 12), wishart_moments(3, 7, 12)
    for k in range(1, 13):
        assert 7 * 3**k * few[k] == 3 * 7**k * many[k]


def test_many_samples_give_the_identity():
    assert all(abs(m - 1) < 1e-6 for m in wishart_moments(4, 10**9, 10))


def test_matrix_moments_reference_values():
    covariance = jnp.diag(jnp.array([1, 1, 1 / 4, 1 / 16, 1]))
    moments = wishart_matrix_moments(covariance, 20, 3)
    second = np.array([389 / 320, 389 / 320, 137 / 1280, 37 / 2560, 389 / 320])
    a, b, c = 86847 / 51200, 17811 / 204800, 687 / 51200
    np.testing.assert_allclose(moments[0], np.eye(5), atol=1e-15)
    np.testing.assert_allclose(moments[1], covariance, rtol=1e-14)
    np.testing.assert_allclose(moments[2], np.diag(second), rtol=1e-13, atol=1e-16)
    third = np.diag([a, a, b, c, a])
    np.testing.assert_allclose(moments[3], third, rtol=1e-13, atol=1e-16)


def test_matrix_moments_reduce_to_scalar_ones():
    for d, n in ((1, 4), (3, 2), (4, 9)):
        exact = [float(m) for m in wishart_moments(d, n, 8)]
        moments = wishart_matrix_moments(jnp.eye(d), n, 8)
        for k in range(9):
            np.testing.assert_allclose(moments[k], exact[k] * np.eye(d), rtol=1e-12)


def test_matrix_moments_rotate_with_the_covariance():
    rng = np.random.default_rng(0)
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    D = np.diag([2.0, 0.5, 0.1])
    straight = wishart_matrix_moments(jnp.array(D), 4, 5)
    turned = wishart_matrix_moments(jnp.array(Q @ D @ Q.T), 4, 5)
    np.testing.assert_allclose(turned, Q @ np.asarray(straight) @ Q.T, atol=1e-12)


def test_matrix_moments_are_derivatives_of_trace_moments():
    # E[Sᵏ]_ii = (λ_i/k) ∂ E tr Sᵏ/∂λ_i: a property that the recursion does not use.
    spectrum, k, n = jnp.array([1.0, 0.4, 0.2]), 4, 5

    def trace_moment(spectrum):
        return jnp.trace(wishart_matrix_moments(jnp.diag(spectrum), n, k)[k])

    by_slope = spectrum / k * jax.grad(trace_moment)(spectrum)
    diagonal = jnp.diag(wishart_matrix_moments(jnp.diag(spectrum), n, k)[k])
    np.testing.assert_allclose(by_slope, diagonal, rtol=1e-12)


def test_matrix_moments_by_sampling():
    rng = np.random.default_rng(1)
    covariance = np.array([[1.0, 0.3], [0.3, 0.5]])
    x = rng.multivariate_normal(np.zeros(2), covariance, size=(100_000, 3))
    S = np.einsum("bni,bnj->bij", x, x) / 3
    draws = S @ S @ S
    error = draws.std(axis=0) / np.sqrt(len(draws))
    exact = wishart_matrix_moments(jnp.array(covariance), 3, 3)[3]
    assert np.max(np.abs(draws.mean(axis=0) - exact) / error) < 4


@pytest.mark.parametrize(("route", "most"), list(zip(ROUTES, MOST, strict=True)))
def test_bad_sizes(route, most, unchecked):
    order = f"`order` must be an integer from 1 to {most:,}"
    for arguments, message in (
        ((0, 3, 2), "`dimension` must be an integer ≥ 1, got 0"),
        ((3, 0, 2), "`samples` must be an integer ≥ 1, got 0"),
        ((3, 3, -1), f"{order}, got -1"),
        ((3, 3, most + 1), f"{order}, got {most + 1}"),
        ((3, 3, 2.5), f"{order}, got 2.5"),
    ):
        with refused(f"{route.__name__}: {message}"):
            route(*arguments)


def test_bad_matrix_moments():
    with refused(
        "wishart_matrix_moments: `order` must be an integer from 1 to 8, got 9"
    ):
        wishart_matrix_moments(jnp.eye(2), 3, 9)
    with refused(
        "wishart_matrix_moments: `covariance` must be positive semi-definite, got "
        "smallest eigenvalue -2"
    ):
        wishart_matrix_moments(jnp.diag(jnp.array([1.0, -2.0])), 3, 2)
