"""(26): the flow within S lowers the loss at least as fast as gradient flow would; in
fact d times as fast.
"""

import numpy as np

from iclab.evidence import Measured
from iclab.papers.ahn2023._multi_layer import (
    LAYERS,
    Multiples,
    loss_and_gradient,
    round_off,
    settings,
    slope,
    slope_round_off,
)


def cases(scale) -> dict[str, Multiples]:
    """Random points of S, none of them stationary."""
    found = {}
    for name, setting in settings(scale).items():
        random = np.random.default_rng(list(name.encode()))
        for number in range(2):
            a = tuple(-random.uniform(0.1, 1, LAYERS))
            found[f"{name}, point {number + 1} of S"] = Multiples(setting, a)
    return found


def predict(case: Multiples):
    """−df/dt along the flow is d Σ‖∇f‖², which is at least Σ‖∇f‖²."""
    return float(case.setting.dimension)


def measure(case: Multiples) -> Measured:
    """Differences of the exact loss along the flow's direction, over Σ‖∇f‖²."""
    setting, d = case.setting, case.setting.dimension
    A = setting.multiples(np.array(case.a))
    _, gradient = loss_and_gradient(A, setting)
    r = np.trace(setting.root @ gradient @ setting.root, axis1=1, axis2=2)
    direction = setting.multiples(-r)
    width = 0.1 / np.max(np.abs(r))

    def loss(time):
        return loss_and_gradient(A + time * direction, setting)[0]

    squares = float(np.sum(gradient**2))
    value = -slope(loss, width) / squares
    of_loss, of_slope = round_off(A, setting)
    error = slope_round_off(of_loss, width) / squares
    error += 2 * value * np.sqrt(LAYERS) * d * of_slope / np.sqrt(squares)
    return Measured(value, error, "float64 round-off of losses and of their gradient")


def decoy(case: Multiples):
    """As fast as gradient flow: the rate if r_i had the 1/d that it has below (25)."""
    return 1.0
