"""Training looped transformers: the exact flow, and runs side by side."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from iclab.models import LoopedTransformer
from iclab.papers.findings._all_weights import least, mean_loss
from iclab.tasks import Exponential, LinearRegression, RandomCovariance
from iclab.theory import looped_flow_limit, looped_loss, looped_optimum
from iclab.training import Optimiser, fit_loops, looped_gradient_flow
from tests.assertions import assert_close
from tests.refusals import refused


def test_flow_of_multiples_ends_at_the_optimum():
    flow = looped_gradient_flow(jnp.zeros((5, 5)), samples=20, loops=3)
    step, _ = looped_optimum(5, 20, 3)
    assert_close(flow.model, step * jnp.eye(5), atol=1e-9)
    assert flow.records.shape[1:] == (5, 5)


def test_flow_follows_the_limit_of_many_samples():
    flow = looped_gradient_flow(
        jnp.zeros((2, 2)), samples=10**15, loops=3, max_time=5.0, throw=False
    )
    expected = looped_flow_limit(flow.recorded_at, 3)
    assert_close(flow.records[:, 0, 0], expected, rtol=1e-6)


def test_flow_of_matrices_keeps_eigenvectors_and_ends_at_the_optimum():
    start = jnp.array([[0.1, 0.05], [0.05, 1.2]])
    flow = looped_gradient_flow(start, samples=20, loops=1)  # more loops compile longer
    step, _ = looped_optimum(2, 20, 1)
    assert_close(flow.model, step * jnp.eye(2), atol=1e-9)
    A = flow.records[1]
    assert_close(A @ start, start @ A)


def test_unsymmetric_flow_is_exact_up_to_three_loops():
    start = jnp.array([[0.5, 0.4], [-0.3, 0.6]])
    flow = looped_gradient_flow(start, samples=60, loops=2, tolerance=1e-8)
    loss = functools.partial(looped_loss, covariance=jnp.eye(2), samples=60, loops=2)
    assert_close(jax.grad(loss)(flow.model), 0.0, atol=1e-7)
    turned, _ = least(mean_loss(60, 2), 1e-6)
    assert_close(loss(flow.model), turned, rtol=1e-5)
    assert turned < 0.99 * looped_optimum(2, 60, 2)[1]


@pytest.mark.everything
@pytest.mark.parametrize("turned", [0.0, 0.3])
def test_flow_on_draws_ends_near_the_exact_optimum(turned):
    start = jnp.array([[0.5, turned], [-turned, 0.6]])
    flow = looped_gradient_flow(
        start, samples=20, loops=4, key=jax.random.key(0), draws=2_000, tolerance=1e-5
    )
    A = np.asarray(flow.model)
    if turned:
        best, _ = least(mean_loss(20, 4), 1e-4)
    else:
        best = looped_optimum(2, 20, 4)[1]
        assert_close(A, A.T)
    exact = _exact_loss(A, samples=20, loops=4)
    assert best * (1 - 1e-4) <= exact <= 1.1 * best  # what 2,000 draws leave open


def _exact_loss(A, samples, loops):
    """E‖(I − SA)ᴸ‖² of a 2×2 matrix, rotated to aI + bZ + εJ."""
    a, e = np.trace(A) / 2, (A[0, 1] - A[1, 0]) / 2
    b = np.hypot((A[0, 0] - A[1, 1]) / 2, (A[0, 1] + A[1, 0]) / 2)
    return np.polynomial.polynomial.polyval3d(a, b, e, mean_loss(samples, loops))


def test_flow_refusals():
    with refused(
        "looped_gradient_flow: `loops` must be at most 3 unless `start` is a multiple "
        "of I or a `key` is given, got 4"
    ):
        looped_gradient_flow(jnp.diag(jnp.array([0.0, 1.0])), samples=20, loops=4)
    with refused("looped_gradient_flow: `samples` must be an integer ≥ 1, got 0"):
        looped_gradient_flow(jnp.eye(2), samples=0, loops=4)
    with pytest.raises(ValueError, match="`start` must be finite"):
        looped_gradient_flow(jnp.full((2, 2), jnp.nan), samples=20, loops=2)


# One object, so that runs share their program.
ADAM = optax.adam(0.05)


def _runs(**changes):
    arguments = {
        "loops": (1, 3),
        "seeds": 2,
        "examples": 8,
        "batch": 16,
        "steps": 20,
        "optimiser": ADAM,
        "key": jax.random.key(3),
        "start_scale": 0.1,
        "every": 10,
    }
    arguments["task"] = LinearRegression(jnp.eye(2))
    return fit_loops(**{**arguments, **changes})


def test_runs_side_by_side_are_what_one_does_alone():
    runs = _runs()
    A, losses = runs.records.A, np.asarray(runs.losses)
    assert A.shape == (3, 2, 2, 2, 2)
    assert_close(runs.recorded_at, [0, 10, 20])
    assert losses.shape == (20, 2, 2)
    assert not np.allclose(A[:, 1, 0], A[:, 1, 1])
    assert np.all(losses[-5:].mean(0) < losses[0])
    start_key, data_key = jax.random.split(jax.random.fold_in(jax.random.key(3), 0))
    start = LoopedTransformer(0.1 * jax.random.normal(start_key, (2, 2)), loops=3)
    model, alone = _trained_alone(start, data_key)
    assert_close(runs.model.A[1, 0], model.A)
    assert_close(A[-1, 1, 0], model.A)
    assert_close(losses[:, 1, 0], alone)


@pytest.mark.everything
def test_runs_on_fixed_draws_are_judged_by_others():
    rate = Optimiser(learning_rate=0.05, schedule="cosine")
    runs = _runs(batch=None, draws=1_500, steps=150, every=None, optimiser=rate)
    losses, fresh = np.asarray(runs.losses), runs.fresh
    # Starts do not matter, and the set looks better than the population is.
    assert_close(losses[-1, :, 0], losses[-1, :, 1], rtol=1e-3)
    for row, L in enumerate((1, 3)):
        exact = np.array([_exact_loss(A, 8, L) for A in np.asarray(runs.model.A[row])])
        assert np.all(np.abs(fresh.mean[row] - exact) <= 5 * fresh.standard_error[row])
        assert np.all(exact <= 1.2 * looped_optimum(2, 8, L)[1])
    assert_close(runs.model.u, 0.0)
    assert np.all(np.asarray(fresh.effective) >= 100)


def _trained_alone(model, key):
    """The third run of `_runs`, step by step."""
    task, optimiser = LinearRegression(jnp.eye(2)), ADAM

    @eqx.filter_jit
    def step(model, state, key):
        prompts = task.sample_batch(key, 16, 8)

        def loss(model):
            return jnp.mean((jax.vmap(model)(prompts) - prompts.target) ** 2)

        value, gradient = eqx.filter_value_and_grad(loss)(model)
        updates, state = optimiser.update(gradient, state)
        return eqx.apply_updates(model, updates), state, value

    state, losses = optimiser.init(eqx.filter(model, eqx.is_inexact_array)), []
    for index in range(20):
        model, state, value = step(model, state, jax.random.fold_in(key, index))
        losses.append(value)
    return model, losses


def test_runs_refusals():
    with refused("fit_loops: `loops` must be an integer ≥ 1, got 0"):
        _runs(loops=(1, 0))
    with refused("fit_loops: `loops` must be at least one number, got []"):
        _runs(loops=())
    with refused(
        "fit_loops: give `batch` (fresh prompts) or `draws` (a fixed set), one of them"
    ):
        _runs(draws=100)
    with refused(
        "fit_loops: `task` must be a LinearRegression with random weights of mean 0 to"
        " draw covariances, got RandomCovariance"
    ):
        task = RandomCovariance((Exponential(),) * 2)
        _runs(task=task, batch=None, draws=100)
    with refused("fit_loops: `every` must be a divisor of steps = 20, got 7"):
        _runs(every=7)
    rule = "finite (try a smaller learning rate)"
    with refused(f"fit_loops: `loss` must be {rule}, got inf at step 0 of run (0, 0)"):
        _runs(start_scale=1e200)
