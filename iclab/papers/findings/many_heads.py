"""Many heads in deep transformers: no slower by step, slower by time.

Steps until the training loss is a part of its first value, start by start, with the
most heads and with four; a step's time in operations and numbers moved is known.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from iclab.evidence import STANDARD_ERRORS, Measured
from iclab.papers._step_costs import time_of_a_step
from iclab.papers.findings._many_heads import losses_of, steps_until

_PART, _FEW = 0.3, 4

relation = ">="
labels = ["time, many over few heads", "steps, few over many heads"]


@dataclass(frozen=True, eq=False)
class Case:
    """Sizes of the encoders, and the largest number of heads."""

    sizes: Mapping[str, Any]
    many: int

    @property
    def price(self) -> float:
        """Time of a step with many heads over that with few."""
        few, many = (time_of_a_step(self.sizes, H) for H in (_FEW, self.many))
        return many / few


def cases(scale) -> dict[str, Case]:
    """Small encoders; four layers and more starts at `desk`."""
    layers, starts = {"smoke": (2, 10), "desk": (2, 12), "paper": (4, 24)}[scale]
    sizes = {
        "dictionary_size": 16,
        "input_dim": 6,
        "feature_dim": 3,
        "context_length": 8,
        "noise_variance": 0.01,
        "layers": layers,
        "width": 16,
        "hidden": 32,
        "starts": starts,
        "steps": 100,
        "batch": 32,
        "rate": 3e-3,
    }
    name = f"{layers} layers of width 16, K = 16, {starts} starts, 16 heads against 4"
    return {name: Case(sizes, 16)}


def predict(case: Case):
    """A fifth slower by time at the least, and by step no more than by a half."""
    return np.log([1.2, 1 / 1.5])


def decoy(case: Case):
    """Slower by the price of a step and by step as well, by a half."""
    return np.log([1.5 * case.price, 1 / 1.5])


def measure(case: Case) -> Measured:
    """Logarithms of the quotients of steps, and of steps times their price."""
    few, many = (
        steps_until(losses_of(case.sizes, H), _PART) for H in (_FEW, case.many)
    )
    assert not np.isnan([few, many]).any(), "a start has not come down"
    logs = np.log(many / few)
    error = STANDARD_ERRORS * logs.std(ddof=1) / np.sqrt(len(logs))
    reason = (
        f"{STANDARD_ERRORS:g} standard errors of {len(logs)} starts; steps"
        f" {few.mean():.0f} and {many.mean():.0f}, price of a step {case.price:.2f}"
    )
    value = np.array([logs.mean() + np.log(case.price), -logs.mean()])
    return Measured(value, error, reason)


def numbers(results):
    """By step and by time, many heads over few."""
    (one,) = results.values()
    time, steps = np.exp(one.measured)
    return {"steps": 1 / steps, "time": time}
