"""Samples of problems: epochs of a fixed set, and the queries of a task."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from iclab.tasks import LinearRegression, QueryShift
from iclab.training import (
    AbstractProblem,
    Curriculum,
    FixedSet,
    InContext,
    Optimiser,
    Plan,
    Ramp,
    train,
)
from tests.assertions import assert_close
from tests.refusals import refused


class Number(eqx.Module):
    """A model of one number."""

    y: Array


class Numbers(AbstractProblem):
    """Numbers from N(0, 1); every step subtracts the mean of its batch."""

    curriculum: Curriculum = Curriculum.constant(2, 1)

    def sample(self, key, stage):
        return jax.random.normal(key)

    def loss(self, model, samples, stage):
        return jnp.mean(model.y * samples)


def _trained(problem, batch, steps, **options):
    plan = Plan(steps, batch, Optimiser("sgd", 1.0), seed=4, precision="float64")
    return train(problem, Number(jnp.zeros(())), plan, show_progress=False, **options)


def test_fresh_samples_draw_from_the_key_of_their_step():
    result = _trained(Numbers(), 3, 2)
    y = 0.0
    for step in range(2):
        keys = jax.random.split(jax.random.fold_in(jax.random.key(4), step), 3)
        y -= np.mean([jax.random.normal(one) for one in keys])
    assert_close(result.model.y, y)


def test_epochs_go_through_the_set(getkey):
    problem = FixedSet(Numbers(), 7, key=getkey())
    numbers = np.asarray(problem.samples)
    result = _trained(problem, 3, 6, log_every=2, record=lambda model: model.y)
    # Two full batches an epoch.
    path = [0.0]
    for epoch in range(3):
        key = jax.random.fold_in(jax.random.key(4), epoch)
        order = np.asarray(jax.random.permutation(key, 7))
        assert sorted(order) == list(range(7))
        for rows in order[:6].reshape(2, 3):
            path.append(path[-1] - numbers[rows].mean())
    assert_close(result.recorded_at, [0, 2, 4, 6])
    assert_close(result.records, path[::2])
    stage = problem.curriculum.stage(jnp.asarray(0), 2)
    assert problem.sample(getkey(), stage) in numbers


def test_queries_have_the_law_of_the_task(getkey):
    # A query that is always zero, and labels without noise.
    task = QueryShift(LinearRegression(jnp.eye(2)), jnp.zeros((2, 2)))
    problem = InContext(task, 4, positions="final")
    stage = problem.curriculum.stage(jnp.asarray(0), 4)
    prompt = jax.jit(lambda key: problem.sample(key, stage))(getkey())
    assert np.all(prompt.query == 0)
    assert prompt.target == 0
    assert prompt.count == 3
    assert np.all(prompt.labels != 0)


@pytest.mark.usefixtures("unchecked")
def test_refusals(getkey):
    with refused("FixedSet: `count` must be an integer ≥ 1, got 0"):
        FixedSet(Numbers(), 0, key=getkey())
    growing = InContext(
        LinearRegression(jnp.eye(2)),
        4,
        curriculum=Curriculum(Ramp(2, 4), Ramp(1, 2)),
    )
    with refused(
        "FixedSet: `problem` must be one without a curriculum, got one that has"
    ):
        FixedSet(growing, 5, key=getkey())
    with refused(
        "FixedSet.batch: `size` must be at most 7 samples, all there are, in a batch,"
        " got 8"
    ):
        _trained(FixedSet(Numbers(), 7, key=getkey()), 8, 1)
