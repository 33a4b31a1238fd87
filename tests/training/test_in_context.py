"""What a problem samples is what its task samples; losses of errors."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from iclab.algorithms import Zero
from iclab.tasks import LinearRegression
from iclab.training import Curriculum, HuberLoss, InContext, Ramp, squared
from tests.assertions import assert_close
from tests.refusals import refused
from tests.test_task_contract import TASKS

COUNT = 50


@pytest.mark.parametrize("member", TASKS, ids=lambda member: member.name)
def test_prompts_have_the_law_of_the_task(member):
    task = member.make(0.3)
    problem = InContext(task, 3, positions="final")
    stage, keys = problem.curriculum.last(), jax.random.split(jax.random.key(1), COUNT)
    ours = jax.jit(jax.vmap(lambda key: problem.sample(key, stage)))(keys)
    theirs = jax.jit(jax.vmap(lambda key: task.sample(key, 2)))(keys)
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert np.array_equal(one, other)
    if member.fixed_inputs is None:
        return
    # A query that is a shown token has its label.
    same = np.all(ours.examples == ours.query[:, None], axis=2)
    shown = np.asarray(ours.labels)[same]
    assert np.array_equal(
        shown, np.broadcast_to(ours.target[:, None], same.shape)[same]
    )
    if member.fixed_inputs is not None:
        assert np.any(same)


def test_a_task_that_samples_its_own_way_keeps_its_dimensions():
    (task,) = (one.make(0.0) for one in TASKS if one.fixed_inputs is not None)
    curriculum = Curriculum(Ramp(2, 3), Ramp(1, 3))
    with refused(
        "InContext: `curriculum` must be of all dimensions from the start for a"
        " Representation, got fewer"
    ):
        InContext(task, 3, curriculum=curriculum, positions="final")
    longer = Curriculum(Ramp(2, 3), Ramp(3, 3))
    problem = InContext(task, 3, curriculum=longer, positions="final")
    stage = longer.stage(jnp.asarray(0), 3)
    prompt = problem.sample(jax.random.key(0), stage)
    assert prompt.count == 1
    assert np.all(prompt.examples[1] == 0)


def test_losses_are_functions_of_prediction_and_target():
    errors, target = jnp.array([0.0, 0.3, -1.0, 4.0]), jnp.zeros(4)
    assert_close(squared(errors, target), errors**2)
    for threshold in (0.5, 1.0, 9.0):
        expected = optax.huber_loss(errors, target, delta=threshold)
        assert_close(HuberLoss(threshold)(errors, target), expected)
    with refused("HuberLoss: `threshold` must be > 0 and finite, got 0.0"):
        HuberLoss(0.0)
    task = LinearRegression(jnp.eye(2))
    problem = InContext(task, 4, positions="final", loss=lambda y, t: jnp.abs(y - t))
    prompts = task.sample_batch(jax.random.key(0), 8, 3)
    loss = problem.loss(Zero(), prompts, problem.curriculum.last())
    assert_close(loss, jnp.mean(jnp.abs(prompts.target)))
