"""Theorem 4: among multiples of Σ⁻¹ there is a point where the gradient in all of the
matrices A_i vanishes, and training from random matrices ends there.
"""

from dataclasses import dataclass

import jax
import numpy as np

from iclab.evidence import Measured
from iclab.papers._training_runs import mean_diagonal
from iclab.papers.ahn2023._multi_layer import (
    LAYERS,
    Setting,
    loss_and_gradient,
    round_off,
    settings,
    trained,
)
from iclab.papers.ahn2023._two_inputs import derivatives
from iclab.theory import (
    marchenko_pastur_optimal_steps,
    optimal_steps,
    scalar_transformer_loss,
)

STARTS = {"smoke": 1, "desk": 2, "paper": 5}

shares = {
    "optimal_steps": (
        "names the point; slopes there, and where descents end, come from the model"
    ),
}


@dataclass(frozen=True)
class Stationary:
    """The best multiples of Σ⁻¹ in this many layers; the gradient of each layer."""

    setting: Setting
    layers: int


@dataclass(frozen=True)
class Trained:
    """Three layers of arbitrary matrices, trained from this many random starts."""

    setting: Setting
    starts: int


@dataclass(frozen=True)
class Deep:
    """More layers than three: two inputs, of which every prompt is integrated."""

    samples: int
    layers: int


_COVARIANCE = np.array([[1.3, 0.4], [0.4, 0.5]])


def cases(scale) -> dict[str, Stationary | Trained | Deep]:
    """Gradients for one to three layers and for more, and the end of training."""
    found: dict[str, Stationary | Trained | Deep] = {}
    for name, setting in settings(scale).items():
        for k in range(1, LAYERS + 1):
            found[f"{name}, k={k}, gradient"] = Stationary(setting, k)
    name, setting = next(iter(settings(scale).items()))
    found[f"{name}, k={LAYERS}, trained"] = Trained(setting, STARTS[scale])
    for k in {"smoke": (5,), "desk": (4, 5), "paper": (4, 5, 6, 8)}[scale]:
        found[f"d=2, n=10, k={k}, gradient"] = Deep(10, k)
    return found


def predict(case: Stationary | Trained | Deep):
    """No gradient; after training the closed form, and no part that is not scalar."""
    if not isinstance(case, Trained):
        return np.zeros(case.layers)
    steps, loss = optimal_steps(case.setting.dimension, case.setting.samples, LAYERS)
    return np.array([loss, *steps, 0.0])


def measure(case: Stationary | Trained | Deep) -> Measured:
    """Derivatives of the exact loss in every entry, or descents on it."""
    if isinstance(case, Deep):
        steps, _ = optimal_steps(2, case.samples, case.layers)
        A = -np.asarray(steps)[:, None, None] * np.linalg.inv(_COVARIANCE)
        found = derivatives(A, 0 * A, _COVARIANCE, case.samples, without_B=True)
        norms = np.linalg.norm(found.A, axis=(1, 2))
        reason = "float64 round-off over all nodes of an exact rule"
        return Measured(norms, 2 * found.error, reason)
    setting = case.setting
    d, n = setting.dimension, setting.samples
    if isinstance(case, Stationary):
        steps, _ = optimal_steps(d, n, case.layers)
        A = setting.multiples(-np.asarray(steps))
        _, rounding = round_off(A, setting)
        reason = f"float64 round-off of {d * d} entries whose terms cancel"
        return Measured(_norms(setting, A, case.layers), d * rounding, reason)
    found = trained(setting, LAYERS, case.starts)
    layers = setting.whitened(found.A)
    steps = -mean_diagonal(layers)
    rest = layers + steps[:, None, None] * np.eye(d)
    value = np.array([found.loss, *np.sort(steps), np.linalg.norm(rest)])
    of_loss, of_slope = round_off(found.A, setting)
    # The gradient that rounding may hide moves the point where the descent rests.
    resting = (found.slope + np.sqrt(LAYERS) * d * of_slope) / found.curvature
    error = np.full(len(value), resting)
    error[0] = of_loss + resting**2 * found.curvature
    return Measured(value, error, "gradient left over the smallest curvature, rounding")


def decoy(case: Stationary | Trained | Deep):
    """The steps that are best in the limit of many inputs and examples, n/d fixed."""
    if isinstance(case, Deep):
        a = -marchenko_pastur_optimal_steps(2 / case.samples, case.layers)[0]
        slopes = jax.grad(scalar_transformer_loss)(a, None, 2, case.samples)
        # On S the gradient in A_i is that in a_i times Σ/d.
        return np.abs(np.asarray(slopes)) * np.linalg.norm(_COVARIANCE) / 2
    setting, d = case.setting, case.setting.dimension
    k = case.layers if isinstance(case, Stationary) else LAYERS
    steps, loss = marchenko_pastur_optimal_steps(d / setting.samples, k)
    if isinstance(case, Stationary):
        return _norms(setting, setting.multiples(-np.asarray(steps)), k)
    return np.array([d * loss, *steps, 0.0])


def _norms(setting: Setting, A: np.ndarray, layers: int) -> np.ndarray:
    """‖∇f‖_F of every layer."""
    _, gradient = loss_and_gradient(A, setting)
    return np.linalg.norm(gradient[:layers], axis=(1, 2))
