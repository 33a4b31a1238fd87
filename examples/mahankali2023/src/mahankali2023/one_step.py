"""First result: on noisy linear labels the best layer is one step of descent."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured, averaged
from iclab.tasks import LinearRegression
from mahankali2023._best_layer import PROMPTS, best_layer, step_coefficients
from mahankali2023._steps import one_step


@dataclass(frozen=True)
class Case:
    """Sizes, and whether the best layer is searched or the printed ratio sampled."""

    dimension: int
    examples: int
    noise_variance: float
    searched: bool = True

    @property
    def task(self) -> LinearRegression:
        """The paper's data."""
        return LinearRegression(
            jnp.eye(self.dimension), noise_std=self.noise_variance**0.5
        )


def cases(scale) -> dict[str, Case]:
    """Best layers with and without noise, and the ratio that defines the step."""
    found = {
        "d = 2, n = 6, σ² = 1/2": Case(2, 6, 0.5),
        "d = 2, n = 6, σ² = 1/2, printed ratio": Case(2, 6, 0.5, searched=False),
    }
    if scale != "smoke":
        found["d = 3, n = 10, σ² = 0"] = Case(3, 10, 0.0)
        found["d = 3, n = 4, σ² = 2"] = Case(3, 4, 2.0)
        found["d = 5, n = 4, σ² = 1, printed ratio"] = Case(5, 4, 1.0, searched=False)
    return found


def predict(case: Case):
    """η = 1/(n + d + 1 + σ²), and no other coefficient."""
    return _stated(case, one_step(case.dimension, case.examples, case.noise_variance))


def measure(case: Case, key, scale) -> Measured:
    """Search all weights of a layer; or sample the ratio with ridge solutions."""
    if case.searched:
        return best_layer(case.task, case.examples, key, scale)
    prompts = case.task.sample_batch(key, PROMPTS[scale], case.examples)
    X, y = np.asarray(prompts.examples), np.asarray(prompts.labels)
    penalty = case.noise_variance * np.eye(case.dimension)
    b = np.einsum("pnd,pn->pd", X, y)
    w = np.linalg.solve(X.swapaxes(1, 2) @ X + penalty, b[..., None])[..., 0]
    top, bottom = np.sum(w * b, axis=1), np.sum(b * b, axis=1)
    ratio = top.mean() / bottom.mean()
    # To first order a ratio of means moves as the mean of this does.
    moves = (top - ratio * bottom) / bottom.mean()
    return averaged(ratio, moves.std() / len(moves) ** 0.5, len(moves), "prompts")


def decoy(case: Case):
    """1/(n + d + σ²): the one in the second moment of a Wishart matrix forgotten."""
    n, d = case.examples, case.dimension
    return _stated(case, 1 / (n + d + case.noise_variance))


def _stated(case: Case, eta: float):
    if not case.searched:
        return eta
    return step_coefficients(case.examples * eta * np.eye(case.dimension))
