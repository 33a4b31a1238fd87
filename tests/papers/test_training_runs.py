"""What figures of trained weights share."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.papers._step_costs import operations_a_step, time_of_a_step
from iclab.papers._training_runs import blocks, mean_diagonal, quick_key, to_multiples
from iclab.papers.yang2024._experiments import (
    dictionary_of,
    fixed_tasks,
)
from tests.assertions import assert_close


@pytest.mark.parametrize("kind", ["threefry2x32", "rbg", "unsafe_rbg"])
def test_quick_keys_of_every_kind(kind):
    first, second = (jax.random.key(seed, impl=kind) for seed in (3, 4))
    draws = [jax.random.normal(quick_key(key), (4,)) for key in (first, first, second)]
    assert jnp.all(draws[0] == draws[1])
    assert not jnp.any(draws[0] == draws[2])


def test_a_quick_key_repeats_the_words_of_its_seed():
    found = jax.random.key_data(quick_key(jax.random.key(7)))
    assert found.tolist() == [0, 7, 0, 7]


def test_blocks_leave_out_what_does_not_fill_one():
    losses = np.arange(14.0).reshape(2, 7)
    assert_close(blocks(losses, 3), [[1.0, 4.0], [8.0, 11.0]])


def test_distance_to_multiples():
    """Against the best α of a fine search."""
    M = np.random.default_rng(0).normal(size=(2, 3, 3)) + np.eye(3)
    search = np.linspace(-3, 3, 60_001)
    for one, distance, best in zip(M, to_multiples(M), mean_diagonal(M), strict=True):
        rest = one - search[:, None, None] * np.eye(3)
        sizes = np.linalg.norm(rest, axis=(1, 2)) / np.linalg.norm(one)
        assert_close(distance, sizes.min(), rtol=1e-6)
        assert_close(best, search[np.argmin(sizes)], rtol=0, atol=1e-4)
    assert_close(to_multiples(2.5 * np.eye(4)), 0.0)


def test_fixed_tasks_are_seen_once_an_epoch():
    settings = {
        "dictionary": 0,
        "dictionary_size": 10,
        "input_dim": 12,
        "feature_dim": 2,
        "context_length": 4,
        "noise_variance": 0.01,
        "unit_norm": False,
        "samples": 14,
        "batch": 4,
    }
    task, key = dictionary_of(settings), jax.random.key(1)
    short, long = (fixed_tasks(settings, task, key, steps) for steps in (5, 9))
    stage = long.curriculum.last()
    batches = [long.batch(key, jnp.asarray(t), 4, stage) for t in range(9)]
    for step in range(5):
        same = short.batch(key, jnp.asarray(step), 4, stage)
        assert np.array_equal(same, batches[step])
    # Three full batches are an epoch; two of fourteen tasks wait.
    epochs = [np.concatenate(batches[first : first + 3]) for first in (0, 3, 6)]
    for rows in epochs:
        assert rows.shape == (12, 10)
        assert len(np.unique(rows[:, 0])) == 12
    assert not np.array_equal(epochs[0], epochs[1])


def test_a_step_with_more_heads_takes_longer_as_measured():
    sizes = {
        "dictionary_size": 200,
        "input_dim": 100,
        "width": 256,
        "hidden": 512,
        "layers": 4,
        "batch": 256,
    }
    few, many = (time_of_a_step(sizes, heads) for heads in (8, 64))
    assert_close(many / few, 33 / 18, rtol=0.02)  # seconds of one core
    one, two = (operations_a_step(sizes, heads) for heads in (1, 2))
    # Six more for every score of a softmax, three times with the derivatives.
    assert two - one == 3 * 256 * 4 * 6 * 200**2
