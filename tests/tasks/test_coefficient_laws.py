"""Laws of λ: their promised moments, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.tasks import GaussianCoefficients, RademacherCoefficients, UnitCoefficients
from tests.assertions import assert_close, assert_mean_close
from tests.refusals import refused

DRAWS = 40_000


def _uniform(key, count):
    return jax.random.uniform(key, (count,), minval=-(3**0.5), maxval=3**0.5)


@pytest.mark.parametrize(
    ("law", "moments"),
    [
        (GaussianCoefficients(), (0.0, 1.0)),
        (GaussianCoefficients(1.0, 2.0), (1.0, 5.0)),
        (RademacherCoefficients(), (0.0, 1.0)),
        (UnitCoefficients(_uniform), (0.0, 1.0)),
    ],
)
def test_moments_are_those_of_the_draws(law, moments, getkey):
    assert_close(law.moments(), moments)
    draws = np.asarray(law.sample(getkey(), DRAWS))
    for values, expected in zip((draws, draws**2), moments, strict=True):
        assert_mean_close(values.mean(), values.std() / DRAWS**0.5, expected)


def test_rademacher_has_one_norm(getkey):
    assert_close(jnp.sum(RademacherCoefficients().sample(getkey(), 9) ** 2), 9.0)


def test_mistakes_are_named():
    with refused("GaussianCoefficients: `std` must be ≥ 0 and finite, got -1.0"):
        GaussianCoefficients(0.0, -1.0)
    with pytest.raises(ValueError, match=r"`draw` must be of mean 0, got 0\.99"):
        UnitCoefficients(lambda key, count: 1 + _uniform(key, count))
    with pytest.raises(ValueError, match=r"`draw` must be of variance 1, got 4 "):
        UnitCoefficients(lambda key, count: 2 * _uniform(key, count))
    message = (
        "UnitCoefficients: `draw` must be a function (key, count) → `count` numbers,"
        " 16384 if so asked, got shape ()"
    )
    with refused(message):
        UnitCoefficients(lambda key, count: jax.random.normal(key))
