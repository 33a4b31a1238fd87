"""Prompts put together from laws: corners that have names, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.algorithms import LeastSquares, Zero
from iclab.core import Mixture
from iclab.evaluation import prompt_average, sampled_risk
from iclab.tasks import (
    DiagonalCovariance,
    DrawnCovariance,
    Exponential,
    LinearLabels,
    LinearRegression,
    MixtureOfCovariances,
    QueryLaw,
    Regression,
    RotatedCovariance,
    Sine,
    StudentVectors,
    TaskShift,
    Uniform,
    WishartCovariance,
)
from tests.assertions import assert_close, assert_estimated, assert_mean_close
from tests.refusals import refused

EYE = jnp.eye(2)
COVARIANCE = jnp.array([[1.0, 0.4], [0.4, 0.5]])


def test_a_fixed_covariance_is_linear_regression():
    """To the bit in inputs; weights come from another stream."""
    key = jax.random.key(0)
    found = Regression(COVARIANCE, noise_std=0.5).sample(key, 3)
    known = LinearRegression(COVARIANCE, noise_std=0.5).sample(key, 3)
    assert_close(found.examples, known.examples)
    assert_close(found.query, known.query)


@pytest.mark.parametrize(
    "law",
    [
        DiagonalCovariance((Exponential(0.5), Uniform(0.5, 1.5))),
        RotatedCovariance((Exponential(0.5), Uniform(0.5, 1.5))),
        WishartCovariance(COVARIANCE, 3),
        MixtureOfCovariances(jnp.stack([COVARIANCE, EYE]), jnp.array([0.2, 0.8])),
    ],
    ids=lambda law: type(law).__name__,
)
def test_covariances_have_the_promised_mean(law):
    draws = np.asarray(law.draws(jax.random.key(1), 20_000))
    assert np.all(np.linalg.eigvalsh(draws) > 0)
    error = draws.std(axis=0) / np.sqrt(len(draws)) + 1e-14  # zeros off a diagonal
    assert_mean_close(draws.mean(axis=0), error, law.mean())


def test_a_rotation_is_uniform():
    """The leading eigenvector has no favourite side: E (u₁)⁴ = 3/8 in the plane."""
    law = RotatedCovariance((Uniform(1.0, 2.0), Uniform(0.1, 0.2)))
    draws = np.asarray(law.draws(jax.random.key(2), 20_000))
    powers = np.linalg.eigh(draws)[1][:, 0, 1] ** 4
    assert_mean_close(powers.mean(), powers.std() / np.sqrt(len(powers)), 3 / 8)


def test_a_mixture_of_rare_prompts_serves_every_gaussian_corner():
    """Weighted means over stretched prompts are those of the law itself."""
    task = Regression(
        WishartCovariance(COVARIANCE, 4),
        labels=Sine(jnp.ones(2)),
        query=QueryLaw(correlation=0.5),
    )
    options = {"examples": 3, "prompts": 20_000, "key": jax.random.key(3)}
    plain = prompt_average(_square, task, **options, mixture=False)
    mixed = prompt_average(_square, task, **options, mixture=Mixture([1.0, 1.5]))
    error = np.hypot(plain.standard_error, mixed.standard_error)
    assert_mean_close(plain.mean - mixed.mean, error, 0.0)


def _square(prompt):
    return jnp.sum(prompt.examples[0] * prompt.query) * prompt.target


def test_zero_has_the_power_of_the_target():
    task = Regression(COVARIANCE, inputs=StudentVectors(12.0))
    found = sampled_risk(
        {"zero": Zero()}, task, examples=2, prompts=20_000, key=jax.random.key(4)
    )
    assert_estimated(found["zero"], 1.5)


@pytest.mark.parametrize(
    ("task", "found"),
    [
        (
            Regression(EYE, inputs=StudentVectors(2.0)),
            "inputs of StudentVectors(degrees=2.0)",
        ),
        (
            Regression(EYE, noise=StudentVectors(1.0), noise_std=0.1),
            "noise of StudentVectors(degrees=1.0)",
        ),
        (
            TaskShift(
                LinearRegression(EYE),
                Regression(EYE, labels=LinearLabels(law=StudentVectors(1.5))),
            ),
            "weights of StudentVectors(degrees=1.5)",
        ),
        (
            Regression(EYE, query=QueryLaw(StudentVectors(2.0))),
            "query of StudentVectors(degrees=2.0)",
        ),
    ],
)
def test_no_risk_without_second_moments(task, found):
    with refused(
        "sampled_risk: `task` must be of laws with a second moment (medians of"
        f" `error_curve` need none), got {found}"
    ):
        sampled_risk(
            {"least squares": LeastSquares()},
            task,
            examples=3,
            prompts=10,
            key=jax.random.key(0),
        )


def test_a_mixture_refuses_other_laws_by_name():
    task = TaskShift(Regression(EYE, inputs=StudentVectors(5.0)), LinearRegression(EYE))
    with refused(
        "sampled_risk: `task` must be Gaussian in its inputs for a mixture "
        "(LinearRegression, NonlinearRegression, RandomCovariance, Regression without "
        "`inputs` and shifts of these are), got TaskShift with inputs of "
        "StudentVectors(degrees=5.0)"
    ):
        sampled_risk(
            {"zero": Zero()},
            task,
            examples=2,
            prompts=10,
            key=jax.random.key(0),
            mixture=True,
        )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: WishartCovariance(EYE, 1),
            "WishartCovariance: `degrees` must be at least the dimension 2 (covariances"
            " are definite), got 1",
        ),
        (
            lambda: MixtureOfCovariances(jnp.stack([EYE, -EYE])),
            "MixtureOfCovariances: `covariances[1]` must be positive definite, got"
            " smallest eigenvalue -1",
        ),
        (
            lambda: DrawnCovariance(lambda key: EYE - jax.random.exponential(key)),
            "DrawnCovariance: `draw(key)` must be positive definite, got smallest"
            " eigenvalue -6.01",
        ),
        (
            lambda: DrawnCovariance(lambda key: jnp.ones(3)),
            "DrawnCovariance: `draw` must be a function of a key → a d×d matrix, got"
            " shape (3,)",
        ),
        (
            lambda: Regression(-EYE),
            "Regression: `covariance` must be positive semi-definite, got smallest"
            " eigenvalue -1",
        ),
        (
            lambda: Regression(EYE, labels=Sine(jnp.ones(3))),
            "FixedLabels.sample: `function` must be of dimension 2, got 3",
        ),
        (
            lambda: Regression(EYE, labels=LinearLabels(jnp.eye(3))),
            "LinearLabels.sample: `covariance` must be of dimension 2, got 3",
        ),
        (
            lambda: Regression(EYE, query=QueryLaw(mean=jnp.ones(3))),
            "QueryLaw.sample: `mean` must be of dimension 2, got 3",
        ),
        (
            lambda: QueryLaw(correlation=1.5),
            "QueryLaw: `correlation` must be from −1 to 1, got 1.5",
        ),
    ],
)
def test_bad_parts_are_named(make, message):
    with refused(message):
        make()
