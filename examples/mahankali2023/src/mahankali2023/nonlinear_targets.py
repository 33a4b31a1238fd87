"""Third result: labels of random functions leave the best layer one step of descent."""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured
from mahankali2023._best_layer import best_layer, step_coefficients
from mahankali2023._random_functions import RandomFunction
from mahankali2023._steps import bent_powers, nonlinear_step, sine_powers


@dataclass(frozen=True)
class Case:
    """A law of functions in `dimension` dimensions, as in `RandomFunction`."""

    dimension: int
    examples: int
    noise_variance: float
    bend: float | None = None
    scale: float = 1.0

    @property
    def powers(self) -> tuple[float, float, float]:
        """E‖u‖², E f²‖x‖² and E f²."""
        if self.bend is None:
            return sine_powers(self.dimension, self.scale)
        return bent_powers(self.dimension, self.bend)


def cases(scale) -> dict[str, Case]:
    """A sine of a random projection, and a random parabola beside a random slope."""
    found = {"sine, d = 2, n = 6, σ² = 0.1": Case(2, 6, 0.1)}
    if scale != "smoke":
        found["parabola, d = 2, n = 6, σ² = 1/2"] = Case(2, 6, 0.5, bend=0.3)
        found["sine, d = 3, n = 12, σ² = 0"] = Case(3, 12, 0.0, scale=0.7)
    return found


def predict(case: Case):
    """The step below the formula of contents.py, and no other coefficient."""
    fit, weighted, _ = case.powers
    return _stated(case, fit, weighted)


def measure(case: Case, key, scale) -> Measured:
    """Search all weights of a layer on prompts with these labels."""
    task = RandomFunction(
        case.dimension, case.scale, case.bend, case.noise_variance**0.5
    )
    return best_layer(task, case.examples, key, scale)


def decoy(case: Case):
    """What f has beyond its linear fit taken for noise that does not see the input."""
    fit, _, power = case.powers
    d = case.dimension
    return _stated(case, fit, (d + 2) * fit + (power - fit) * d)


def _stated(case: Case, fit: float, weighted: float):
    d, n = case.dimension, case.examples
    eta = nonlinear_step(d, n, case.noise_variance, fit, weighted)
    return step_coefficients(n * eta * np.eye(d))
