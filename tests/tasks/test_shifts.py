"""Shifts change one thing and leave the rest, draw by draw."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.tasks import (
    CovariateShift,
    Fixed,
    LinearRegression,
    NonlinearRegression,
    OrthogonalQuery,
    QueryShift,
    RandomCovariance,
    Sine,
    TaskShift,
)
from tests.assertions import assert_close
from tests.refusals import refused

KEY = jax.random.key(0)
COVARIANCE = jnp.array([[1.0, 0.3, 0.0], [0.3, 0.5, -0.1], [0.0, -0.1, 0.2]])
TASK = LinearRegression(COVARIANCE, noise_std=0.1)
PLAIN = jax.jit(lambda key: TASK.sample(key, 2))(KEY)
NOISELESS = LinearRegression(COVARIANCE)


def test_task_shift_leaves_the_inputs():
    weight = jnp.array([1.0, 2.0, 3.0])
    shifted = TaskShift(TASK, LinearRegression(jnp.eye(3), weight=weight)).sample(
        KEY, 2
    )
    assert_close(shifted.examples, PLAIN.examples)
    assert_close(shifted.query, PLAIN.query)
    assert_close(shifted.labels, PLAIN.examples @ weight)
    assert_close(shifted.target, PLAIN.query @ weight)


def test_task_shift_takes_the_noise_of_the_labels():
    noisy = NonlinearRegression(Sine(jnp.ones(3)), COVARIANCE, noise_std=0.5)
    silent = NonlinearRegression(Sine(jnp.ones(3)), COVARIANCE)
    shifted, quiet = (TaskShift(TASK, task).sample(KEY, 2) for task in (noisy, silent))
    assert_close(quiet.labels, jnp.sin(quiet.examples.sum(axis=1)))
    assert jnp.all(shifted.labels != quiet.labels)
    assert shifted.target != quiet.target


def test_task_shift_keeps_a_random_covariance():
    # Inputs and query must share the covariance that the prompt drew.
    base = RandomCovariance((Fixed(1.0), Fixed(4.0), Fixed(9.0)))
    shifted = TaskShift(base, NOISELESS).sample(KEY, 2)
    assert_close(shifted.examples, base.sample(KEY, 2).examples)


def test_query_shift_leaves_examples_and_labels():
    shifted = QueryShift(TASK, 4 * jnp.eye(3)).sample(KEY, 2)
    assert_close(shifted.examples, PLAIN.examples)
    assert_close(shifted.labels, PLAIN.labels)
    # The same stream, another root: the plain query was Λ^{1/2} times the same draw.
    root = np.linalg.svd(np.asarray(COVARIANCE))
    whitening = root.U @ np.diag(root.S**-0.5) @ root.Vh
    assert_close(shifted.query, 2 * whitening @ np.asarray(PLAIN.query))


def test_query_shift_labels_the_new_query():
    shifted = QueryShift(NOISELESS, jnp.eye(3)).sample(KEY, 3)
    weight = np.linalg.solve(shifted.examples, shifted.labels)
    assert_close(shifted.target, shifted.query @ weight, rtol=1e-8)  # conditioning


def test_query_shift_to_a_subspace():
    direction = jnp.array([0.0, 0.0, 1.0])
    shifted = QueryShift(TASK, jnp.outer(direction, direction)).sample(KEY, 2)
    assert_close(shifted.query[:2], [0.0, 0.0])


def test_orthogonal_queries_are_projections():
    shifted = OrthogonalQuery(TASK).sample(KEY, 2)
    assert_close(shifted.examples, PLAIN.examples)
    assert_close(shifted.labels, PLAIN.labels)
    X = np.asarray(PLAIN.examples)
    projection = np.eye(3) - np.linalg.pinv(X) @ X
    assert_close(shifted.query, projection @ np.asarray(PLAIN.query))


def test_covariate_shift_moves_every_input():
    T = jnp.array([[1.0, 0.5, 0.0], [0.0, 2.0, 0.0], [0.3, 0.0, 0.5]])
    plain, shifted = (
        NOISELESS.sample(KEY, 3),
        CovariateShift(NOISELESS, T).sample(KEY, 3),
    )
    assert_close(shifted.examples, plain.examples @ T.T)
    assert_close(shifted.query, T @ plain.query)
    # Labels follow the new inputs with the old weight.
    weight = np.linalg.solve(plain.examples, plain.labels)
    assert_close(shifted.labels, shifted.examples @ weight)
    assert_close(shifted.target, shifted.query @ weight, rtol=1e-8)  # conditioning


def test_shifts_keep_the_noise_of_the_target():
    function = Sine(jnp.ones(3))
    tasks = (
        QueryShift(NonlinearRegression(function, COVARIANCE, noise_std=s), jnp.eye(3))
        for s in (0.0, 0.5, 1.0)
    )
    silent, loud, louder = (task.sample(KEY, 2).target for task in tasks)
    assert loud != silent
    assert_close(louder - silent, 2 * (loud - silent))


def test_shifts_compose():
    scaled = CovariateShift(TASK, 2 * jnp.eye(3))
    prompt = QueryShift(scaled, jnp.eye(3)).sample(KEY, 2)
    assert_close(prompt.examples, 2 * PLAIN.examples)
    assert_close(prompt.query, QueryShift(TASK, jnp.eye(3)).sample(KEY, 2).query)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: TaskShift(TASK, LinearRegression(jnp.eye(2))),
            "TaskShift: `labelling` must be of dimension 3, that of `task`,"
            " got dimension 2",
        ),
        (
            lambda: QueryShift(TASK, jnp.eye(2)),
            "QueryShift: `query_covariance` must be a 3×3 matrix, got shape (2, 2)",
        ),
        (
            lambda: QueryShift(TASK, -jnp.eye(3)),
            "QueryShift: `query_covariance` must be positive semi-definite,"
            " got smallest eigenvalue -1",
        ),
        (
            lambda: OrthogonalQuery(TASK).sample(KEY, 3),
            "OrthogonalQuery.query: `examples` must be fewer than the dimension 3,"
            " got 3",
        ),
        (
            lambda: CovariateShift(TASK, jnp.eye(2)),
            "CovariateShift: `transform` must be a 3×3 matrix, got shape (2, 2)",
        ),
        (
            lambda: CovariateShift(TASK, jnp.ones((2, 3))),
            "CovariateShift: `transform` must be a square matrix, got shape (2, 3)",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_mistakes_are_named(call, message):
    with refused(message):
        call()
