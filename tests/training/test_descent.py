"""Finite steps: against a plain loop, and towards the known optimum."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from iclab.models import LinearSelfAttention
from iclab.tasks import LinearRegression
from iclab.theory import lsa_risk, optimal_preconditioner
from iclab.training import Diverged, descend, descent_path, fit, fit_fixed, fit_fresh
from tests.assertions import assert_close
from tests.refusals import refused

COVARIANCE = jnp.diag(jnp.array([1.0, 0.5]))
START = LinearSelfAttention.from_blocks(0.1 * jnp.eye(2), 0.5)


def _loss(y):
    return 0.5 * (2 * y[0] ** 2 + y[1] ** 2)


def test_gradient_descent_is_a_loop():
    start = jnp.array([1.0, -2.0])
    result = descend(_loss, start, steps=3, optimiser=optax.sgd(0.1))
    # Each step multiplies the coordinates by 0.8 and 0.9.
    factors = np.array([0.8, 0.9])
    path = np.asarray(start) * factors ** np.arange(4)[:, None]
    assert_close(result.final, path[-1])
    assert_close(result.losses, [_loss(y) for y in path[:3]])


def test_more_steps_than_a_chunk():
    # 256 steps make a chunk: two chunks, the second of them not full.
    start = jnp.array([1.0, -2.0])
    result = descend(_loss, start, steps=300, optimiser=optax.sgd(0.01))
    assert_close(result.final, np.asarray(start) * np.array([0.98, 0.99]) ** 300)
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
    assert_close(result.final["y"], parameters["y"])


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
    assert_close(kept.final, [-1e80])
    assert_close(kept.records, [1.0, -1e80, 1e160])
    assert_close(kept.recorded_at, [0, 1, 2])
    message = (
        "descend: `loss` must be at most 100 (try a smaller learning rate),"
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
        assert_close(found.final[row], path[-1])
        assert_close(found.losses[row], [_loss(y) for y in path])
    assert_close(found.taken, [3, 3])


def test_paths_stop_where_they_explode():
    path = descent_path(_square, jnp.ones(1), steps=5, optimiser=optax.sgd(0.5e80))
    assert int(path.taken) == 2
    assert_close(path.losses[:2], [1.0, 1e160])
    assert not np.any(np.isfinite(path.losses[2:]))


def test_fresh_losses_draw_from_the_key_of_their_step():
    key = jax.random.key(3)

    def loss(y, key):
        return jnp.sum((y - jax.random.normal(key, (2,))) ** 2) / 2

    result = fit_fresh(loss, jnp.zeros(2), steps=3, optimiser=optax.sgd(0.5), key=key)
    y, losses = np.zeros(2), []
    for step in range(3):
        target = np.asarray(jax.random.normal(jax.random.fold_in(key, step), (2,)))
        losses.append(np.sum((y - target) ** 2) / 2)
        y = y - 0.5 * (y - target)
    assert_close(result.final, y)
    assert_close(result.losses, losses)


def test_epochs_go_through_the_samples():
    key, data = jax.random.key(4), jnp.arange(7.0)

    def run(every):
        return fit_fixed(
            lambda y, batch: jnp.mean(y * batch),
            jnp.zeros(()),
            data,
            batch=3,
            epochs=3,
            optimiser=optax.sgd(1.0),
            key=key,
            record=lambda y: y,
            every=every,
        )

    # Two full batches an epoch; each step subtracts the mean of its batch.
    path = [0.0]
    for epoch in range(3):
        order = jax.random.permutation(jax.random.fold_in(key, epoch), 7)
        for batch in np.asarray(order)[:6].reshape(2, 3):
            path.append(path[-1] - batch.mean())
    result = run(1)
    assert_close(result.final, path[-1])
    assert_close(result.recorded_at, [0, 2, 4, 6])
    assert_close(result.records, path[::2])
    assert result.losses.shape == (6,)
    longer = run(2)
    assert_close(longer.final, path[-1])
    assert_close(longer.recorded_at, [0, 4, 6])


def test_fit_follows_the_gradient_of_fresh_prompts(getkey):
    task, key = LinearRegression(COVARIANCE), getkey()
    result = fit(
        START, task, examples=3, batch=2, steps=2, optimiser=optax.sgd(0.1), key=key
    )

    @jax.jit
    @jax.value_and_grad
    def loss(model, prompts):
        pairs = [(model(p), p.target) for p in prompts]
        return sum((prediction - target) ** 2 for prediction, target in pairs) / 2

    model, losses = START, []
    for step in range(2):
        keys = jax.random.split(jax.random.fold_in(key, step), 2)
        value, gradient = loss(model, [task.sample(one, 3) for one in keys])
        model = jax.tree.map(lambda p, g: p - 0.1 * g, model, gradient)
        losses.append(value)
    assert_close(result.losses, losses)
    assert_close(result.final.key_query, model.key_query)
    assert_close(result.final.value_projection, model.value_projection)


def test_fit_approaches_the_optimum(getkey):
    result = fit(
        START,
        LinearRegression(COVARIANCE),
        examples=8,
        batch=512,
        steps=300,
        optimiser=optax.adam(0.03),
        key=getkey(),
    )
    best = lsa_risk(optimal_preconditioner(COVARIANCE, 8), COVARIANCE, 8)
    risk = lsa_risk(result.final.preconditioner, COVARIANCE, 8)
    start = lsa_risk(START.preconditioner, COVARIANCE, 8)
    assert best <= risk < best + 0.05 * (start - best)


def _fit(model=START, **options):
    settings = {"examples": 3, "batch": 4, "steps": 2, **options}
    task, key = LinearRegression(COVARIANCE), jax.random.key(0)
    return fit(model, task, optimiser=optax.sgd(0.1), key=key, **settings)


def _fit_fixed(data, **options):
    settings = {"batch": 2, "epochs": 1, "key": jax.random.key(0), **options}
    optimiser = optax.sgd(0.1)
    return fit_fixed(
        lambda y, rows: jnp.sum(y), jnp.ones(2), data, optimiser=optimiser, **settings
    )


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
        (
            lambda: _fit_fixed(jnp.ones(3), batch=4),
            "fit_fixed: `batch` must be at most 3 samples, got 4",
        ),
        (
            lambda: _fit_fixed((jnp.ones(3), jnp.ones(2))),
            "fit_fixed: `data` must be arrays with one leading axis of samples,"
            " got [2, 3] samples",
        ),
        (
            lambda: _fit_fixed(jnp.ones(3), epochs=0),
            "fit_fixed: `epochs` must be an integer ≥ 1, got 0",
        ),
        (lambda: _fit(steps=-1), "fit: `steps` must be an integer ≥ 1, got -1"),
        (lambda: _fit(steps=1.5), "fit: `steps` must be an integer ≥ 1, got 1.5"),
        (lambda: _fit(examples=0), "fit: `examples` must be an integer ≥ 1, got 0"),
        (lambda: _fit(batch=0), "fit: `batch` must be an integer ≥ 1, got 0"),
        (
            lambda: _fit(LinearSelfAttention.from_blocks(jnp.eye(3), 1.0)),
            "LinearSelfAttention: `prompt` must be of dimension 3,"
            " the predictor's own, got dimension 2",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_mistakes_are_named(call, message):
    with refused(message):
        call()
