"""Theorem 3.3 (A.12): after how long gradient flow has brought the loss below ξ.

The flow follows the model's own gradient. With so many samples S = I, and there the
flow from a multiple of I is known to the end (`looped_flow_limit`): the loss at the
theorem's time is that number, from both sides. With the time as corrected it tends to
4^{−L/(L−1)} of ξ, since dominance holds with four times the constant there. With one
loop, where the theorem's time is singular, the loss falls like e^{−4t}.
"""

import functools

import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured, Printed
from iclab.papers.gatmiry2024._given_time import (
    TOLERANCE,
    Flow,
    error_left,
    steps_reached,
)
from iclab.theory import (
    looped_flow_limit,
    looped_loss,
    looped_optimum,
    spectral_distance,
)
from iclab.training import looped_gradient_flow

# More than the sharp constant of gradient dominance, which is 4 in the units used here.
_TOO_FAST = 4.5

relation = "<="


def cases(scale) -> dict[str, Flow]:
    """From zero in a high dimension, and from the far side in a low one."""
    found = {
        "L=2, d=700, ξ=0.01, A(0)=0": Flow(700, 10**18, 2, 0.01),
        "L=2, d=100000, ξ=1, A(0)=0": Flow(10**5, 10**18, 2, 1.0),
        "L=3, d=5, ξ=0.1, A(0)=3I": Flow(5, 10**18, 3, 0.1, 3.0),
        "L=1, d=4, ξ=0.25, A(0)=0": Flow(4, 10**18, 1, 0.25),
    }
    if scale != "smoke":
        found["L=4, d=1100, ξ=0.01, A(0)=0"] = Flow(1100, 10**26, 4, 0.01)
        start = (-1.0, 0.5, 3.0)
        found["L=2, d=3, ξ=0.01, A(0) uneven"] = Flow(3, 10**18, 2, 0.01, start)
    return found


def at_printed_time(scale) -> dict[str, Flow]:
    """On both sides of d = 650, where two loops begin to need longer."""
    return {
        f"L=2, d={d}, ξ=0.01, A(0)=0": Flow(d, 10**18, 2, 0.01, printed=True)
        for d in (600, 700)
    }


def predict(case: Flow):
    """Loss at most ξ, distance at most 8(1 + 4d^{1/(2L)})ξ^{1/(2L)}.

    And, from multiples of I, the loss that the solved flow has then.
    """
    root = 1 / (2 * case.loops)
    bounds = [case.xi, 8 * (1 + 4 * case.dimension**root) * case.xi**root]
    if isinstance(case.start, tuple):
        return np.array(bounds)
    a = looped_flow_limit(case.time, case.loops, start=case.start)
    loss = case.dimension * float(1 - a) ** (2 * case.loops)
    known = [*bounds, loss, -loss]
    if not case.printed:
        reached = case.xi * _gained(case, 4.0)
        known += [reached, -0.98 * reached]
    return np.array(known)


printed = Printed(predict=predict, cases=at_printed_time)


def decoy(case: Flow):
    """The loss if dominance held with more than its sharp constant."""
    if isinstance(case.start, tuple):
        return None
    loss, *others = predict(case)
    return np.array([loss * _gained(case, _TOO_FAST), *others])


def _gained(case: Flow, times: float) -> float:
    """What dominance with so many times the constant makes of ξ, at the same time.

    With one loop the loss falls like e^{−t}, times the constant; else by a power of t,
    if it has become small beside the first.
    """
    if case.loops == 1:
        return float(np.exp(-(times - 1) * case.time))
    return times ** (-case.loops / (case.loops - 1))


def measure(case: Flow, scale) -> Measured:
    """Loss and distance from the optimum at that time, on the flow of the model."""
    d, n, L = case.dimension, case.samples, case.loops
    best, _ = looped_optimum(d, n, L)
    if isinstance(case.start, tuple):
        return _from_matrix(case, best)
    ends, steps = _ends(scale)
    a = ends[case]
    left = float(error_left(jnp.asarray(a), L))
    loss = d * left**2
    ends = [loss, -loss] if case.printed else [loss, -loss] * 2
    value = np.array([loss, abs(a / best - 1), *ends])
    # The loss goes as the 2L-th power of 1 − a, and S is I up to √(d/n).
    slope = 2 * L * loss / abs(1 - a)
    off = TOLERANCE * steps + 10 * np.sqrt(d / n)
    error = off * np.array([slope, 1.0, *[slope] * len(ends)])
    reason = f"local error {TOLERANCE:.0e} a step, {steps} steps; time {case.time:.4g}"
    return Measured(value, error, reason)


@functools.cache
def _ends(scale) -> tuple[dict[Flow, float], int]:
    every = [*cases(scale).values(), *at_printed_time(scale).values()]
    return steps_reached([run for run in every if not isinstance(run.start, tuple)])


def _from_matrix(case: Flow, best: float) -> Measured:
    d, n, L = case.dimension, case.samples, case.loops
    flow = looped_gradient_flow(
        jnp.diag(jnp.array(case.start)),
        samples=n,
        loops=L,
        max_time=case.time,
        throw=False,
    )
    loss = looped_loss(flow.model, covariance=jnp.eye(d), samples=n, loops=L)
    distance = spectral_distance(flow.model, best * jnp.eye(d))
    # The slope of the loss is below 1 this near to the optimum.
    error = 1e-10 * int(flow.step)
    reason = f"local error 1e-10 a step, {flow.step} steps; time {case.time:.4g}"
    return Measured(np.array([float(loss), distance]), error, reason)


def numbers(results, printed):
    """Losses at the printed time, on both sides of where it is too short."""
    at = "L=2, d={}, ξ=0.01, A(0)=0"
    return {
        "early": printed[at.format(600)].measured[0],
        "late": printed[at.format(700)].measured[0],
    }
