"""Ramps, shapes, and what a stage lets through."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.models import GPT2
from iclab.tasks import LinearRegression
from iclab.training import Curriculum, InContext, Ramp
from tests.assertions import assert_close
from tests.refusals import refused


def test_the_curriculum_of_the_paper():
    # d = 20: 5 → 20 dimensions by one, 11 → 41 points by two, every 2,000 steps.
    curriculum = Curriculum.growing(41, 20)
    for stair in range(20):
        for step in (2000 * stair, 2000 * stair + 1999):
            assert curriculum.dimensions(step) == min(5 + stair, 20)
            assert curriculum.points(step) == min(11 + 2 * stair, 41)
    assert Curriculum.growing(101, 20).points(30_000) == 101
    assert Curriculum.growing(101, 20).points(29_999) == 95


def test_long_stairs_are_not_padded():
    curriculum = Curriculum.growing(41, 20)
    for step in range(0, 40_000, 500):
        assert curriculum.padded_length(step) == curriculum.points(step)


def test_few_shapes_and_little_padding():
    curriculum = Curriculum.growing(41, 20, every=300)
    lengths = [curriculum.padded_length(step) for step in range(0, 6000, 150)]
    assert sorted(set(lengths)) == [17, 25, 33, 41]
    for step in range(0, 6000, 75):
        length, points = curriculum.padded_length(step), curriculum.points(step)
        assert points <= length <= points + 6
        after = curriculum.leaves_at(step)
        assert after > step
        assert curriculum.padded_length(int(min(after, 10**6)) - 1) == length
        assert after == np.inf or curriculum.padded_length(int(after)) > length
    constant = Curriculum.constant(6, 2)
    assert constant.padded_length(0) == 6
    assert constant.leaves_at(0) == np.inf


@pytest.mark.parametrize("stairs", [1, 2, 3, 7, 30])
@pytest.mark.parametrize("shapes", [1, 2, 4, 9, 100])
def test_padded_lengths_are_values_of_the_ramp(stairs: int, shapes: int):
    for end in (3, 5, 10):
        ramp = Ramp(3, end, stairs, 2)
        curriculum = Curriculum(ramp, Ramp(1, 1), shapes)
        points = [ramp(step) for step in range(2 * stairs + 4)]
        lengths = [curriculum.padded_length(step) for step in range(2 * stairs + 4)]
        assert lengths == sorted(lengths)
        assert lengths[-1] == end
        assert set(lengths) <= set(points)
        assert len(set(lengths)) == min(shapes, len(set(points)))
        assert all(map(int.__ge__, lengths, points))


def test_padding_changes_neither_samples_nor_losses():
    task = LinearRegression(jnp.eye(3), noise_std=0.5)
    ramps = (Ramp(2, 6, 4, 1000), Ramp(1, 3, 2, 1000))
    rivals = [InContext(task, 6, curriculum=Curriculum(*ramps, k)) for k in (1, 5)]
    model = GPT2.of_size("tiny", 3, 6, key=jax.random.key(1))
    keys, step = jax.random.split(jax.random.key(0), 2), jnp.asarray(2000)
    found = []
    for problem in rivals:
        stage = problem.curriculum.stage(step, problem.curriculum.padded_length(2000))
        found.append(_drawn_and_lost(problem, model, keys, stage))
    ((X, y), loss), ((X_exact, y_exact), exact_loss) = found
    assert (X.shape[1], X_exact.shape[1]) == (6, 4)
    assert np.array_equal(X[:, :4], X_exact)
    assert np.array_equal(y[:, :4], y_exact)
    assert_close(loss, exact_loss, rtol=1e-6)  # float32


@eqx.filter_jit
def _drawn_and_lost(problem, model, keys, stage):
    samples = jax.vmap(lambda key: problem.sample(key, stage))(keys)
    return samples, problem.loss(model, samples, stage)


def test_traced_steps_see_the_same_ramp():
    ramp = Ramp(3, 10, 4, 5)
    found = jax.vmap(ramp)(jnp.arange(40))
    assert found.tolist() == [ramp(step) for step in range(40)]


def test_inactive_dimensions_and_points_do_not_count():
    task = LinearRegression(jnp.eye(3))
    problem = InContext(task, 5, curriculum=Curriculum(Ramp(2, 5), Ramp(1, 3), 1))
    stage = problem.curriculum.stage(jnp.asarray(0), 5)
    key = jax.random.key(2, impl="rbg")
    X, y = jax.jit(lambda key: problem.sample(key, stage))(key)
    assert X.shape == (5, 3)
    assert np.all(X[:, 1:] == 0)
    assert_close(y / X[:, 0], jnp.full(5, y[0] / X[0, 0]))

    class Wrong:
        """Off by one at the first point, by two at the second, and so on."""

        def predictions(self, inputs, labels):
            return labels + jnp.arange(1.0, 6.0)

        def __call__(self, prompt):
            assert prompt.examples.shape == (4, 3)
            return prompt.query[0] * prompt.labels[0] / prompt.examples[0, 0] + 3.0

    batch = (X[None], y[None])
    # Two of five points are active: (1² + 2²)/2.
    assert_close(problem.loss(Wrong(), batch, stage), 2.5)
    final = InContext(task, 5, curriculum=problem.curriculum, positions="final")
    prompts = jax.jit(jax.vmap(lambda key: final.sample(key, stage)))(key[None])
    assert np.all(prompts.examples[:, 1:] == 0)
    assert np.all(prompts.query[:, 1:] == 0)
    assert_close(final.loss(Wrong(), prompts, stage), 9.0)


def test_refusals():
    with refused("Ramp: `end` must be at least `start` = 3, got 2"):
        Ramp(3, 2)
    with refused("Ramp: `every` must be an integer ≥ 1, got 0"):
        Ramp(1, 2, 1, 0)
    task = LinearRegression(jnp.eye(2))
    with refused("InContext: `points` must be ≥ 2, got 1"):
        InContext(task, 1)
    with refused(
        "InContext: `curriculum` must be one that ends at 4 points and 2 dimensions,"
        " got 5 points and 2 dimensions"
    ):
        InContext(task, 4, curriculum=Curriculum.constant(5, 2))
    with refused("InContext: `curriculum` must be of ≥ 2 points, got 1"):
        InContext(task, 4, curriculum=Curriculum(Ramp(1, 4), Ramp(1, 2)))
