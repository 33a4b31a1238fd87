"""Certificates behind findings, and spectra known outright."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.papers._two_inputs import Network
from iclab.papers.findings._all_weights import least, mean_loss
from iclab.papers.findings._critical_points import census, real_roots
from iclab.papers.findings._spectra import spectrum
from iclab.theory import (
    linear_transformer_loss,
    looped_loss,
    scalar_transformer_loss,
    wishart_moments,
)
from tests.assertions import assert_close


def test_the_polynomial_is_the_loss():
    a, b, e = 0.7, 0.2, -0.3
    A = jnp.array([[a + b, e], [-e, a - b]])
    for loops in (1, 2):
        found = np.polynomial.polynomial.polyval3d(a, b, e, mean_loss(7, loops))
        exact = looped_loss(A, covariance=jnp.eye(2), samples=7, loops=loops)
        assert_close(found, exact)


def test_the_least_value_is_found_where_it_is():
    f = np.zeros((5, 5, 5))  # (a² − 1)² + (a − 1)²/10 + b² + (ε² − 1/4)² + 1
    f[4, 0, 0], f[2, 0, 0], f[1, 0, 0] = 1.0, -2.0 + 0.1, -0.2
    f[0, 2, 0], f[0, 4, 0] = 1.0, 0.1
    f[0, 0, 4], f[0, 0, 2] = 1.0, -0.5
    f[0, 0, 0] = 1 + 0.1 + 1 / 16 + 1
    value, place = least(f, 1e-6)
    assert_close(value, 1.0, rtol=1e-6)
    assert_close(place, [1.0, 0.0, 0.5], atol=2e-3)


def test_less_far_away_is_no_certificate():
    f = np.zeros((5, 5, 5))
    f[0, 0, 0] = f[2, 0, 0] = f[0, 2, 0] = f[0, 0, 2] = 1.0
    f[4, 0, 0] = -1e-3  # below 1 from a = 32 on, outside of the box
    f[0, 4, 0] = f[0, 0, 4] = 1.0
    with pytest.raises(ArithmeticError, match="far away"):
        least(f, 1e-3)


@pytest.mark.parametrize(("d", "n"), [(1, 3), (2, 2), (2, 9)])
def test_spectra_have_wishart_moments(d, n):
    eigenvalues, chances = spectrum(d, n)
    found = [chances @ eigenvalues**k for k in range(7)]
    assert_close(found, [float(one) for one in wishart_moments(d, n, 6)], rtol=1e-10)


def test_sturm_counts_real_roots():
    assert real_roots([-6, 11, -6, 1]) == 3  # (x − 1)(x − 2)(x − 3)
    assert real_roots([-1, 0, 0, 1]) == 1
    assert real_roots([1, 0, 1]) == 0
    assert real_roots([0, 0, 1, 1]) == 2  # a double one counts once


def test_points_of_the_census_are_critical():
    found = census(2, 10)
    for one in [*found.points, found.one_step]:
        a, b = jnp.array(one.a), jnp.array([one.b, 0.0])
        loss = scalar_transformer_loss(a, b, 2, 10)
        slopes = jax.grad(scalar_transformer_loss, (0, 1))(a, b, 2, 10)
        assert_close(one.loss, loss)
        assert_close(jnp.concatenate(slopes), jnp.zeros(4), atol=1e-9)


def test_two_inputs_have_the_loss_of_theory():
    network = Network(2, 10, with_B=False)
    point = network.start(np.random.default_rng(0), 0.4)
    A, _ = network.matrices(point)
    exact = linear_transformer_loss(jnp.asarray(A), covariance=jnp.eye(2), samples=10)
    assert_close(network.loss(point), exact)
