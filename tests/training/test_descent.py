"""Finite steps: against plain arithmetic; records; explosions."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from iclab.training import Diverged, Optimiser, descend, descent_path
from tests.assertions import assert_close
from tests.refusals import refused


def _loss(y):
    return 0.5 * (2 * y[0] ** 2 + y[1] ** 2)


def test_gradient_descent_is_a_loop():
    start = jnp.array([1.0, -2.0])
    result = descend(_loss, start, steps=3, optimiser=optax.sgd(0.1))
    # Each step multiplies the coordinates by 0.8 and 0.9.
    factors = np.array([0.8, 0.9])
    path = np.asarray(start) * factors ** np.arange(4)[:, None]
    assert_close(result.model, path[-1])
    assert_close(result.losses, [_loss(y) for y in path[:3]])
    named = descent_path(_loss, start, steps=3, optimiser=Optimiser("sgd", 0.1))
    assert_close(named.model, path[-1])


def test_more_steps_than_a_chunk():
    # 256 steps make a chunk: two chunks, the second of them not full.
    start = jnp.array([1.0, -2.0])
    result = descend(_loss, start, steps=300, optimiser=optax.sgd(0.01))
    assert_close(result.model, np.asarray(start) * np.array([0.98, 0.99]) ** 300)
    assert result.losses.shape == (300,)
    assert np.all(np.diff(result.losses) < 0)


def test_optimisers_keep_their_state():
    start = {"y": jnp.array([1.0, -2.0])}
    optimiser = optax.adam(0.05)
    result = descend(lambda p: _loss(p["y"]), start, steps=5, optimiser=optimiser)
    parameters, state = start, optimiser.init(start)
    for _ in range(5):
        gradient = jax.grad(lambda p: _loss(p["y"]))(parameters)
        updates, state = optimiser.update(gradient, state)
        parameters = jax.tree.map(jnp.add, parameters, updates)
    assert_close(result.model["y"], parameters["y"])


def test_explosions_name_their_step():
    # y ← (1 − 1e80)·y: the loss y² is 1, then 1e160, then too large for float64.
    message = (
        "descend: `loss` must be finite (try a smaller learning rate),"
        " got inf at step 2"
    )
    with refused(message):
        descend(
            lambda y: jnp.sum(y**2), jnp.ones(1), steps=3, optimiser=optax.sgd(0.5e80)
        )


def _square(y):
    return jnp.sum(y**2)


def test_explosions_keep_what_was_computed():
    with pytest.raises(Diverged) as error:
        descend(
            _square,
            jnp.ones(1),
            steps=9,
            optimiser=optax.sgd(0.5e80),
            record=lambda y: y[0],
            every=1,
        )
    kept = error.value.result
    assert_close(kept.losses, [1.0, 1e160, np.inf])
    # The last parameters with a finite loss, and every record before the bad step.
    assert_close(kept.model, [-1e80])
    assert_close(kept.records, [1.0, -1e80, 1e160])
    assert_close(kept.recorded_at, [0, 1, 2])
    message = (
        "descend: `loss` must be at most `limit` = 100 (try a smaller learning rate),"
        " got 256.0 at step 4"
    )
    with refused(message):
        descend(_square, jnp.ones(1), steps=9, optimiser=optax.sgd(1.5), limit=100.0)


def test_records_are_kept_every_so_often():
    start, factors = jnp.array([1.0, -2.0]), np.array([0.8, 0.9])
    result = descend(
        _loss, start, steps=5, optimiser=optax.sgd(0.1), record=lambda y: y, every=2
    )
    steps = np.array([0, 2, 4, 5])
    assert_close(result.recorded_at, steps)
    assert_close(result.records, np.asarray(start) * factors ** steps[:, None])
    assert result.losses.shape == (5,)


def test_paths_remember_every_step():
    starts = jnp.array([[1.0, -2.0], [3.0, 0.5]])

    @jax.jit
    @jax.vmap
    def paths(start):
        return descent_path(
            _loss, start, steps=3, optimiser=optax.sgd(0.1), record=lambda y: y
        )

    found = paths(starts)
    powers = np.array([0.8, 0.9]) ** np.arange(4)[:, None]
    for row, start in enumerate(np.asarray(starts)):
        path = start * powers
        assert_close(found.records[row], path)
        assert_close(found.model[row], path[-1])
        assert_close(found.losses[row], [_loss(y) for y in path])
    assert_close(found.step, [3, 3])


def test_paths_stop_where_they_explode():
    path = descent_path(_square, jnp.ones(1), steps=5, optimiser=optax.sgd(0.5e80))
    assert int(path.step) == 2
    assert_close(path.losses[:2], [1.0, 1e160])
    assert not np.any(np.isfinite(path.losses[2:]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: descend(_loss, jnp.ones(2), steps=0, optimiser=optax.sgd(0.1)),
            "descend: `steps` must be an integer ≥ 1, got 0",
        ),
        (
            lambda: descend(
                _loss, jnp.ones(2), steps=1, optimiser=optax.sgd(0.1), every=0
            ),
            "descend: `every` must be an integer ≥ 1, got 0",
        ),
        (
            lambda: descend(_square, (), steps=1, optimiser=optax.sgd(0.1)),
            "descend: `start` must be a pytree with arrays of numbers to train,"
            " got none",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_mistakes_are_named(call, message):
    with refused(message):
        call()
