"""The differential equation (29) in the proof of Theorem A.12, and its solution."""

import functools
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured, solved
from iclab.papers.gatmiry2024._given_time import TOLERANCE, solution_at
from iclab.theory import dominance_envelope


@dataclass(frozen=True)
class Case:
    """g(0), a time, and the number of loops in g′ = −g^{(2L−1)/L}/16."""

    start: float
    time: float
    loops: int


def cases(scale) -> dict[str, Case]:
    """Two loops and more: for one the exponent L/(L−1) is infinite."""
    found = {
        "L=2, g(0)=7, t=3": Case(7.0, 3.0, 2),
        "L=3, g(0)=7, t=30": Case(7.0, 30.0, 3),
        "L=5, g(0)=1, t=500": Case(1.0, 500.0, 5),
    }
    if scale != "smoke":
        found["L=2, g(0)=100, t=0.01"] = Case(100.0, 0.01, 2)
        found["L=10, g(0)=0.3, t=50"] = Case(0.3, 50.0, 10)
    return found


def predict(case: Case):
    """[16L/(L−1)]^{L/(L−1)}/(t + c)^{L/(L−1)}, c = 16L/(L−1) g(0)^{−(L−1)/L}."""
    return float(dominance_envelope(case.start, case.time, case.loops))


def printed(case: Case):
    """16L/(L−1) to the powers L/(2L−1), and (L−1)/(2L−1) within c."""
    return float(dominance_envelope(case.start, case.time, case.loops, corrected=False))


def decoy(case: Case):
    """16 in place of 16L/(L−1)."""
    constant = case.loops / (16 * (case.loops - 1))
    return float(
        dominance_envelope(case.start, case.time, case.loops, constant=constant)
    )


def measure(case: Case, scale) -> Measured:
    """Solve the equation numerically."""
    values, steps = _solutions(scale)
    return solved(values[case], TOLERANCE, steps, max(1.0, case.start))


@functools.cache
def _solutions(scale) -> tuple[dict[Case, float], int]:
    """Solve all equations at once."""
    instances = list(cases(scale).values())
    start, time, loops = (
        np.array([getattr(case, name) for case in instances], float)
        for name in ("start", "time", "loops")
    )
    power = jnp.asarray((2 * loops - 1) / loops)
    ends, steps = solution_at(lambda g: -(g**power) / 16, start, time)
    return dict(zip(instances, ends.tolist(), strict=True)), steps


def numbers(results, printed):
    """The solution at a time, and what is printed."""
    one = printed["L=2, g(0)=7, t=3"]
    return {"value": one.measured, "printed": one.predicted}
