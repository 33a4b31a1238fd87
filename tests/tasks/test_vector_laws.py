"""Laws of white vectors against SciPy and their own promises."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from iclab.tasks import (
    DiscreteVectors,
    GaussianVectors,
    SignVectors,
    SparseVectors,
    SphereVectors,
    StudentVectors,
    UniformVectors,
)
from tests.assertions import assert_close, assert_mean_close
from tests.refusals import refused

DRAWS = 20_000
POINTS = jnp.array([[2.0, 0.0], [-1.0, 1.0], [0.0, -2.0]])
LAWS = (
    GaussianVectors(),
    SphereVectors(),
    SignVectors(),
    UniformVectors(),
    StudentVectors(9.0),
    SparseVectors(0.3),
    DiscreteVectors(POINTS, jnp.array([0.25, 0.5, 0.25])),
)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_mean_and_second_moment_are_as_promised(law, getkey):
    z = np.asarray(law.sample(getkey(), DRAWS, 2))
    assert_mean_close(z.mean(axis=0), z.std(axis=0) / np.sqrt(DRAWS), 0.0)
    products = z[:, :, None] * z[:, None, :]
    error = products.std(axis=0) / np.sqrt(DRAWS) + 1e-14  # exact for signs
    assert_mean_close(products.mean(axis=0), error, law.second_moment(2))


@pytest.mark.parametrize("degrees", [1.0, 2.0, 3.0, 30.0])
def test_student_is_student(degrees, getkey):
    law = StudentVectors(degrees)
    scale = np.sqrt((degrees - 2) / degrees) if degrees > 2 else 1.0
    z = np.asarray(law.sample(getkey(), DRAWS, 1))[:, 0] / scale
    # The Kolmogorov distance of 20,000 draws exceeds 0.0144 once in 2,000 times.
    assert scipy.stats.kstest(z, scipy.stats.t(degrees).cdf).statistic < 0.0144
    assert (law.second_moment(1) is None) == (degrees <= 2)


def test_supports(getkey):
    sphere = np.asarray(SphereVectors().sample(getkey(), 50, 3))
    assert_close(np.linalg.norm(sphere, axis=1), np.sqrt(3))
    sparse = np.asarray(SparseVectors(0.3).sample(getkey(), DRAWS, 1))
    there = np.mean(sparse != 0)
    assert_mean_close(there, np.sqrt(0.21 / DRAWS), 0.3)
    drawn = {tuple(row) for row in np.asarray(LAWS[-1].sample(getkey(), 200, 2))}
    assert drawn == {tuple(row) for row in np.asarray(POINTS)}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: SparseVectors(0.0),
            "SparseVectors: `share` must be above 0 and at most 1, got 0.0",
        ),
        (
            lambda: StudentVectors(-1.0),
            "StudentVectors: `degrees` must be > 0 and finite, got -1.0",
        ),
        (
            lambda: DiscreteVectors(POINTS, jnp.array([0.5, 0.5, 0.5])),
            "DiscreteVectors: `shares` must be 3 positive numbers that sum to 1, got"
            " [0.5, 0.5, 0.5]",
        ),
    ],
)
def test_bad_laws_are_named(make, message):
    with refused(message):
        make()
