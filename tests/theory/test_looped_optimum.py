"""The looped optimum: reference values, stationarity, limits, the flow."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.theory import (
    looped_expansion,
    looped_flow,
    looped_flow_limit,
    looped_loss,
    looped_optimum,
    loss_by_test_loops,
    marchenko_pastur_looped_optimum,
    marchenko_pastur_quadrature,
    optimal_steps,
)
from tests.assertions import assert_close
from tests.refusals import refused


@pytest.mark.parametrize(
    ("d", "n", "loops", "step", "loss"),
    [
        (5, 20, 1, 0.76923076923077, 1.1538461538462),
        (5, 20, 2, 0.74251814125581, 0.49900738800726),
        (5, 20, 3, 0.71558672420396, 0.26834221784645),
        (10, 20, 1, 0.64516129032258, 3.5483870967742),
        (10, 20, 2, 0.62807747615658, 2.1052767549105),
        (10, 20, 3, 0.61125091215931, 1.4586772642491),
        (5, 3, 1, 0.33333333333333, 3.3333333333333),
        (5, 3, 3, 0.26596990489447, 2.7873032556317),
        (5, 100, 1, 0.94339622641509, 0.28301886792453),
    ],
)
def test_reference_values(d, n, loops, step, loss):
    assert_close(looped_optimum(d, n, loops), (step, loss), rtol=1e-12)


@pytest.mark.parametrize(
    ("n", "loops"), [(3, 1), (3, 20), (20, 4), (20, 64), (10**9, 1), (10**9, 4)]
)
def test_slope_vanishes_and_loss_is_the_least(n, loops):
    step, loss = looped_optimum(5, n, loops)
    near = [float(loss_by_test_loops(a, 5, n, loops)[-1]) for a in (step, step + 1e-3)]
    assert near[0] < near[1]
    # Near n = ∞ the nodes differ from 1 by √(1/n), so float64 loses half its digits.
    assert_close(loss, near[0], rtol=1e-9 if n < 10**9 else 1e-6, atol=0)
    shift = 1e-4
    slopes = [float(looped_flow(step + s, 5, n, loops)) for s in (-shift, 0.0, shift)]
    assert slopes[0] > 0 > slopes[2]
    assert abs(slopes[1]) < 1e-6 * (slopes[0] - slopes[2])


def test_one_loop_is_one_step():
    steps, loss = optimal_steps(5, 20, 1)
    assert_close(looped_optimum(5, 20, 1), (steps[0], loss))


def test_expansion_in_the_number_of_samples():
    assert looped_expansion(5, 1) == (6.0, 30.0)
    n = 10**8
    for loops in (1, 2, 3, 7):
        kappa, C = looped_expansion(4, loops)
        step, loss = looped_optimum(4, n, loops)
        assert_close((n * (1 - step), n**loops * loss), (kappa, C), rtol=1e-5)


@pytest.mark.parametrize("c", [0.25, 1.0, 3.0])
def test_marchenko_pastur_limit(c):
    h, weight = marchenko_pastur_quadrature(c, 12)
    for loops in (1, 2, 6):
        step, loss = marchenko_pastur_looped_optimum(c, loops)
        assert_close(step, 1 / (1 + c))
        assert_close(loss, weight @ (1 - step * h) ** (2 * loops))
        slope = weight @ (h * (1 - step * h) ** (2 * loops - 1))
        assert_close(slope, 0.0)


def test_large_systems_approach_the_limit():
    step, loss = looped_optimum(800, 3200, 3)
    limit_step, limit_loss = marchenko_pastur_looped_optimum(0.25, 3)
    assert_close((step, loss / 800), (limit_step, limit_loss), rtol=5e-3)


def test_flow_is_the_gradient_of_the_loss():
    a = jnp.asarray(0.3)
    slope = jax.grad(lambda a: loss_by_test_loops(a, 4, 9, 3)[-1])(a)
    assert_close(looped_flow(a, 4, 9, 3), -slope / 4)  # ‖I‖² = 4: A moves as aI
    matrix = jax.grad(
        lambda A: looped_loss(A, covariance=jnp.eye(2), samples=9, loops=2)
    )(0.3 * jnp.eye(2))
    assert_close(-matrix, looped_flow(0.3, 2, 9, 2) * jnp.eye(2))


@pytest.mark.parametrize("loops", [1, 2, 4])
@pytest.mark.parametrize("start", [0.0, 1.6])
def test_flow_without_noise_is_solved(loops, start):
    t = jnp.array(0.7)
    a, speed = jax.jvp(
        lambda t: looped_flow_limit(t, loops, start=start), (t,), (jnp.ones(()),)
    )
    assert_close(speed, 2 * loops * (1 - a) ** (2 * loops - 1))
    assert_close(looped_flow_limit(0.0, loops, start=start), start)
    assert_close(speed, looped_flow(a, 3, 10**18, loops), rtol=1e-6)


def test_refusals():
    with refused("looped_optimum: `loops` must be an integer from 1 to 64, got 0"):
        looped_optimum(5, 20, 0)
    with refused("looped_optimum: `loops` must be an integer from 1 to 64, got 65"):
        looped_optimum(5, 20, 65)
    with refused("looped_optimum: `samples` must be an integer ≥ 1, got -1"):
        looped_optimum(5, -1, 2)
    with refused("looped_expansion: `loops` must be an integer from 1 to 16, got 17"):
        looped_expansion(5, 17)
    with refused(
        "marchenko_pastur_looped_optimum: `ratio` must be > 0 and finite, got 0.0"
    ):
        marchenko_pastur_looped_optimum(0, 2)
    with refused("looped_flow: `step` must be finite, got nan"):
        looped_flow(np.nan, 5, 20, 2)
