"""Laws of positive numbers against SciPy; random covariances."""

import jax
import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from iclab.tasks import (
    Exponential,
    Fixed,
    Gamma,
    LogNormal,
    RandomCovariance,
    Uniform,
)
from tests.assertions import assert_close, assert_mean_close
from tests.refusals import refused

LAWS = (
    (Exponential(0.7), scipy.stats.expon(scale=0.7)),
    (Gamma(2.5, 0.4), scipy.stats.gamma(2.5, scale=0.4)),
    (Gamma(0.5), scipy.stats.gamma(0.5)),
    (Uniform(0.5, 2.0), scipy.stats.uniform(0.5, 1.5)),
    (Uniform(0.0, 1.0), scipy.stats.uniform()),
    (LogNormal(0.2, 0.5), scipy.stats.lognorm(0.5, scale=np.exp(0.2))),
)


@pytest.mark.parametrize(("law", "reference"), LAWS, ids=lambda law: type(law).__name__)
def test_moments_are_integrals(law, reference):
    # To the accuracy that adaptive quadrature of xᵏ times the density reports.
    for power, moment in enumerate(law.moments(), start=1):
        low, high = reference.support()
        integral, error = scipy.integrate.quad(
            lambda x, k=power: x**k * reference.pdf(x), low, high, epsabs=1e-12
        )
        assert_close(moment, integral, rtol=1e-7, atol=10 * error)


@pytest.mark.parametrize(("law", "reference"), LAWS, ids=lambda law: type(law).__name__)
def test_samples_follow_their_law(law, reference, getkey):
    draws = np.asarray(jax.vmap(law.sample)(jax.random.split(getkey(), 20_000)))
    assert np.all(draws > 0)
    # The Kolmogorov distance of 20,000 draws exceeds 0.0144 once in 2,000 times.
    assert scipy.stats.kstest(draws, reference.cdf).statistic < 0.0144


def test_fixed_is_fixed(getkey):
    assert_close(Fixed(0.3).sample(getkey()), 0.3)
    assert_close(Fixed(0.3).moments(), [0.3, 0.09, 0.027])


def test_moments_are_those_of_the_scaled_diagonal(getkey):
    task = RandomCovariance((Exponential(), Uniform(0.5, 1.5), Fixed(2.0)), scale=0.5)
    draws = np.asarray(jax.vmap(task.diagonal)(jax.random.split(getkey(), 20_000)))
    for power, expected in enumerate(np.asarray(task.moments()), start=1):
        values = draws**power
        # A fixed entry has no spread: its error bar is round-off.
        error = values.std(axis=0) / np.sqrt(len(values)) + 1e-14
        assert_mean_close(values.mean(axis=0), error, expected)


def test_scale_multiplies_the_covariance():
    key = jax.random.key(0)
    plain = RandomCovariance((Exponential(), Exponential())).sample(key, 3)
    scaled = RandomCovariance((Exponential(), Exponential()), scale=4.0).sample(key, 3)
    assert_close(scaled.examples, 2 * plain.examples)
    assert_close(scaled.labels, 2 * plain.labels)


def test_diagonal_entries_are_independent(getkey):
    task = RandomCovariance((Exponential(), Exponential()))
    draws = np.asarray(jax.vmap(task.diagonal)(jax.random.split(getkey(), 20_000)))
    products = np.prod(draws, axis=1)
    assert_mean_close(products.mean(), products.std() / np.sqrt(20_000), 1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Exponential(0.0),
            "Exponential: `mean` must be > 0 and finite, got 0.0",
        ),
        (
            lambda: Exponential(float("inf")),
            "Exponential: `mean` must be > 0 and finite, got inf",
        ),
        (lambda: Gamma(-1.0), "Gamma: `shape` must be > 0 and finite, got -1.0"),
        (lambda: Gamma(1.0, 0.0), "Gamma: `scale` must be > 0 and finite, got 0.0"),
        (
            lambda: Uniform(-1.0, 1.0),
            "Uniform: `low` must be ≥ 0 and finite, got -1.0",
        ),
        (lambda: Uniform(2.0, 1.0), "Uniform: `high` must be > `low` = 2.0, got 1.0"),
        (
            lambda: Uniform(2.0, float("nan")),
            "Uniform: `high` must be finite, got nan",
        ),
        (
            lambda: LogNormal(float("nan")),
            "LogNormal: `log_mean` must be finite, got nan",
        ),
        (
            lambda: LogNormal(0.0, 0.0),
            "LogNormal: `log_std` must be > 0 and finite, got 0.0",
        ),
        (lambda: Fixed(-2.0), "Fixed: `value` must be > 0 and finite, got -2.0"),
        (
            lambda: RandomCovariance(()),
            "RandomCovariance: `laws` must be one law per coordinate, got none",
        ),
        (
            lambda: RandomCovariance((Fixed(1.0),), scale=0.0),
            "RandomCovariance: `scale` must be > 0 and finite, got 0.0",
        ),
        (
            lambda: RandomCovariance((Fixed(1.0),), noise_std=-1.0),
            "RandomCovariance: `noise_std` must be ≥ 0 and finite, got -1.0",
        ),
    ],
)
def test_bad_settings_are_named(call, message):
    with refused(message):
        call()
