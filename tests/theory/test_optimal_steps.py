"""Best step sizes: determinants, gradients, limits, the ledger's numbers."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from iclab.theory import (
    marchenko_pastur_optimal_steps,
    marchenko_pastur_quadrature,
    optimal_filter,
    optimal_gd_plus_plus,
    optimal_steps,
    residual_polynomial,
    scalar_transformer_loss,
    wishart_moments,
)
from iclab.theory._optimal_steps import _loss_and_gradient
from tests.assertions import assert_close


def determinant(rows):
    """Exact, by elimination; the Hankel matrices here are positive definite."""
    rows, value = [list(row) for row in rows], Fraction(1)
    for i in range(len(rows)):
        value *= rows[i][i]
        for below in rows[i + 1 :]:
            factor = below[i] / rows[i][i]
            for j in range(i, len(rows)):
                below[j] -= factor * rows[i][j]
    return value


def loss_by_determinants(d, n, k):
    m = wishart_moments(d, n, 2 * k)
    whole = [[m[i + j] for j in range(k + 1)] for i in range(k + 1)]
    shifted = [[m[i + j + 2] for j in range(k)] for i in range(k)]
    return d * determinant(whole) / determinant(shifted)


@pytest.mark.parametrize(
    ("n", "k", "steps", "loss"),
    [
        (20, 1, [0.769230769231], Fraction(15, 13)),
        (20, 2, [0.515370682836, 1.24957196156], Fraction(1795, 4969)),
        (
            20,
            3,
            [0.422408533929, 0.689126087405, 1.71421737953],
            Fraction(12138645, 90852389),
        ),
        (10, 1, [0.625], Fraction(15, 8)),
        (10, 2, [0.386893564976, 1.09959292151], Fraction(970, 999)),
        (
            10,
            3,
            [0.300305482504, 0.528693073262, 1.64433003598],
            Fraction(307915, 531468),
        ),
    ],
)
def test_reference_values(n, k, steps, loss):
    found, value = optimal_steps(5, n, k)
    np.testing.assert_allclose(found, steps, rtol=1e-11)
    np.testing.assert_allclose(value, float(loss), rtol=1e-14)


@pytest.mark.parametrize(("d", "n"), [(5, 20), (5, 3), (1, 1), (20, 40)])
@pytest.mark.parametrize("k", [1, 4, 16])
def test_loss_is_a_ratio_of_determinants(d, n, k):
    steps, loss = optimal_steps(d, n, k)
    exact = float(loss_by_determinants(d, n, k))
    np.testing.assert_allclose(loss, exact, rtol=1e-13)
    assert steps.shape == (k,)
    assert np.all(steps > 0)
    assert np.all(np.diff(steps) > 0)


@pytest.mark.parametrize(
    ("d", "n", "k"),
    [
        (5, 20, 32),
        pytest.param(5, 20, 64, marks=pytest.mark.everything),  # seconds
        pytest.param(5, 3, 64, marks=pytest.mark.everything),
        pytest.param(20, 40, 64, marks=pytest.mark.everything),
    ],
)
def test_many_steps_to_eight_digits_by_another_route(d, n, k):
    """Coefficients of the best p from the moments alone, by linear equations.

    Among p with p(0) = 1 the least ∫p² dμ is 1/(H⁻¹)₀₀, H the Hankel matrix of moments.
    """
    steps, loss = optimal_steps(d, n, k)
    with mpmath.workdps(60 + 6 * k):
        m = [
            mpmath.mpf(one.numerator) / one.denominator
            for one in wishart_moments(d, n, 2 * k)
        ]
        H = mpmath.matrix(k + 1, k + 1)
        for i in range(k + 1):
            for j in range(k + 1):
                H[i, j] = m[i + j]
        unit = mpmath.matrix(k + 1, 1)
        unit[0] = 1
        p = mpmath.lu_solve(H, unit)
        assert mpmath.nstr(d / p[0], 10) == mpmath.nstr(mpmath.mpf(loss), 10)
        for step in np.asarray(steps):
            # A zero within a part in 10⁹ of the step's reciprocal.
            beside = []
            for side in (-1, 1):
                node = 1 / (mpmath.mpf(step) * (1 + side * mpmath.mpf("1e-9")))
                value = mpmath.mpf(0)
                for coefficient in list(p)[::-1]:
                    value = value * node + coefficient
                beside.append(value)
            assert beside[0] * beside[1] < 0


@pytest.mark.everything
def test_noise_leaves_many_layers_where_the_filter_is():
    """The loss of the best real steps is that of the exact quadrature at them."""
    steps, loss = optimal_steps(5, 20, 24, noise_variance=0.25)
    direct = scalar_transformer_loss(-steps, None, 5, 20, noise_variance=0.25)
    assert_close(loss, direct, rtol=1e-9)
    below = optimal_filter(5, 20, 24, noise_variance=0.25)[1]
    fewer = optimal_steps(5, 20, 16, noise_variance=0.25)[1]
    assert below < loss < fewer


@pytest.mark.parametrize("k", [2, 5])
def test_stationary_for_the_exact_loss(k):
    steps, loss = optimal_steps(4, 9, k)

    def value(a):
        return scalar_transformer_loss(a, None, 4, 9)

    np.testing.assert_allclose(value(-steps), loss, rtol=1e-12)
    np.testing.assert_allclose(jax.grad(value)(-steps), np.zeros(k), atol=1e-12)
    assert np.all(np.linalg.eigvalsh(jax.hessian(value)(-steps)) > 0)


def test_fewer_samples_than_dimensions_leave_a_floor():
    losses = [optimal_steps(5, 3, k)[1] for k in (1, 4, 16)]
    assert losses[0] > losses[1] > losses[2] > 2  # d − n directions are never seen


@pytest.mark.parametrize(("k", "loss"), [(1, 5), (2, 21), (3, 85), (4, 341)])
def test_marchenko_pastur_reference(k, loss):
    steps, value = marchenko_pastur_optimal_steps(0.25, k)
    np.testing.assert_allclose(value, 1 / loss, rtol=1e-14)
    angles = np.arange(1, k + 1) * np.pi / (k + 1)
    np.testing.assert_allclose(steps, 1 / (1.25 + np.cos(angles)), rtol=1e-13)
    assert np.all(np.diff(steps) > 0)


@pytest.mark.parametrize("ratio", [0.1, 1, 3])
def test_marchenko_pastur_steps_are_stationary(ratio):
    nodes, weights = marchenko_pastur_quadrature(ratio, 6)

    def value(steps):
        return jnp.sum(
            weights * jnp.prod(1 - steps[:, None] * nodes[None], axis=0) ** 2
        )

    steps, loss = marchenko_pastur_optimal_steps(ratio, 3)
    np.testing.assert_allclose(value(steps), loss, rtol=1e-12)
    np.testing.assert_allclose(jax.grad(value)(steps), np.zeros(3), atol=1e-13)


def test_marchenko_pastur_limits():
    # Closed form at c ≠ 1, its limit 1/(k+1) at c = 1, the floor 1 − 1/c beyond.
    c, k = 0.6, 5
    closed = c**k * (1 - c) / (1 - c ** (k + 1))
    found = marchenko_pastur_optimal_steps(c, k)[1]
    np.testing.assert_allclose(found, closed, rtol=1e-13)
    found = marchenko_pastur_optimal_steps(1.0, 7)[1]
    np.testing.assert_allclose(found, 1 / 8, rtol=1e-14)
    found = marchenko_pastur_optimal_steps(3.0, 2000)[1]
    np.testing.assert_allclose(found, 2 / 3, rtol=1e-14)


def test_large_systems_approach_marchenko_pastur():
    steps, loss = marchenko_pastur_optimal_steps(0.25, 3)
    for d, bound in ((100, 0.1), (10_000, 0.001)):
        found, value = optimal_steps(d, 4 * d, 3)
        assert np.max(np.abs(found / steps - 1)) < bound
        assert abs(value / d / loss - 1) < bound


def test_gd_plus_plus_reference():
    a, b, loss = optimal_gd_plus_plus(5, 10, 3)
    expected = [-0.538992036549, -1.57035918366, -11.7809966232]
    np.testing.assert_allclose(a, expected, rtol=1e-11)
    products = [-0.160067543514, -1.48903481949, 0]
    np.testing.assert_allclose(a * b, products, rtol=1e-11)
    np.testing.assert_allclose(loss, 0.039259320946832, rtol=1e-13)
    assert b[2] == 0


def test_gd_plus_plus_with_twenty_samples():
    a, _, loss = optimal_gd_plus_plus(5, 20, 3)
    np.testing.assert_allclose(loss, 9.613107e-4, rtol=1e-6)
    np.testing.assert_allclose(a, [-0.338, -2.091, -8.568], atol=6e-4)


@pytest.mark.parametrize(("d", "n", "k"), [(5, 20, 4), (5, 3, 2)])
def test_gd_plus_plus_is_a_minimum(d, n, k):
    a, b, loss = optimal_gd_plus_plus(d, n, k)

    def value(parameters):
        free = jnp.concatenate([parameters[k:], jnp.zeros(1)])
        return scalar_transformer_loss(parameters[:k], free, d, n)

    found = jnp.concatenate([a, b[:-1]])
    np.testing.assert_allclose(value(found), loss, rtol=1e-10)
    slope, H = jax.jit(lambda x: (jax.grad(value)(x), jax.hessian(value)(x)))(found)
    np.testing.assert_allclose(slope, np.zeros(2 * k - 1), atol=1e-11)
    assert np.all(np.linalg.eigvalsh(H) > 0)
    assert loss < optimal_steps(d, n, k)[1]


def test_one_layer_has_no_use_for_b():
    a, b, loss = optimal_gd_plus_plus(5, 20, 1)
    np.testing.assert_allclose(a, [-10 / 13], rtol=1e-14)
    np.testing.assert_allclose(b, [0])
    np.testing.assert_allclose(loss, 15 / 13, rtol=1e-14)


def test_gd_plus_plus_too_good_to_search_for():
    with pytest.raises(ArithmeticError) as caught:
        optimal_gd_plus_plus(5, 10**9, 3)
    assert str(caught.value) == (
        "optimal_gd_plus_plus: with dimension 5, samples 1000000000 and 3 layers the "
        "loss falls below 1e-30 a dimension, where float64 cannot find the best of "
        "them; take fewer samples or layers"
    )


def test_residual_polynomial_without_b():
    a = jnp.array([-1.5, -0.5, 0.25])
    roots_product = np.polynomial.Polynomial([1.0])
    for value in np.asarray(a):
        roots_product *= np.polynomial.Polynomial([1.0, value])
    expected = np.asarray(roots_product.coef, dtype=float)
    np.testing.assert_allclose(residual_polynomial(a), expected, rtol=1e-14)


def test_residual_polynomial_with_b():
    rng = np.random.default_rng(0)
    a, b = jnp.array(rng.normal(size=(2, 3)))
    coefficients = np.asarray(residual_polynomial(a, b))
    assert coefficients.shape == (14,)
    for h in (0.0, 0.3, 1.1):
        # One eigenvalue, one dimension: the matrix recursion with numbers.
        F = G = 1.0
        for a_i, b_i in zip(np.asarray(a), np.asarray(b), strict=True):
            G, F = G * (1 + h * F * a_i * F), F + b_i * F * h * F * a_i * F
        value = np.polynomial.polynomial.polyval(h, coefficients)
        np.testing.assert_allclose(value, G, rtol=1e-12)
    zeros = residual_polynomial(a, jnp.zeros(3))
    np.testing.assert_allclose(zeros[:4], residual_polynomial(a), rtol=1e-14)
    np.testing.assert_allclose(zeros[4:], np.zeros(10))


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (
            optimal_steps,
            (5, 20, 65),
            "`layers` must be an integer from 1 to 64, got 65",
        ),
        (optimal_steps, (5, 20, 0), "`layers` must be an integer from 1 to 64, got 0"),
        (optimal_steps, (0, 20, 1), "`dimension` must be an integer ≥ 1, got 0"),
        (optimal_steps, (5, 0, 1), "`samples` must be an integer ≥ 1, got 0"),
        (
            optimal_gd_plus_plus,
            (5, 20, 5),
            "`layers` must be an integer from 1 to 4, got 5",
        ),
        (
            marchenko_pastur_optimal_steps,
            (-1.0, 2),
            "`ratio` must be > 0 and finite, got -1.0",
        ),
        (
            marchenko_pastur_optimal_steps,
            (0.5, 0),
            "`layers` must be an integer from 1 to 1,000,000, got 0",
        ),
    ],
)
def test_bad_input(function, arguments, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        function(*arguments)
    assert str(caught.value) == f"{function.__name__}: {message}"


def test_noisy_steps_stop_where_their_search_does():
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        optimal_steps(5, 20, 33, noise_variance=0.1)
    assert str(caught.value) == (
        "optimal_steps: `layers` must be at most 32 with noise (optimal_filter has no "
        "such limit), got 33"
    )


def test_bad_residual_polynomial(unchecked):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        residual_polynomial(jnp.ones((2, 2)))
    assert str(caught.value) == (
        "residual_polynomial: `a` must be a vector of numbers, got shape (2, 2)"
    )
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        residual_polynomial(jnp.ones(2), jnp.ones(3))
    assert str(caught.value) == (
        "residual_polynomial: `b` must be a vector of 2 numbers like `a`, got "
        "shape (3,)"
    )


def test_the_slope_of_the_search_is_that_of_its_loss():
    nodes, weights = [mpmath.mpf("0.7"), mpmath.mpf("1.9")], [mpmath.mpf("0.4")] * 2
    with mpmath.workdps(50):
        x = mpmath.matrix(["-0.3", "-0.5", "-0.2"])  # two layers: a, a and β
        _, gradient = _loss_and_gradient(x, nodes, weights)
        width = mpmath.mpf("1e-20")
        for j in range(3):
            losses = []
            for side in (-1, 1):
                moved = x.copy()
                moved[j] += side * width
                losses.append(_loss_and_gradient(moved, nodes, weights)[0])
            slope = (losses[1] - losses[0]) / (2 * width)
            assert float(gradient[j]) == pytest.approx(float(slope), rel=1e-14)
