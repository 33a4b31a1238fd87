"""Theorem 3: two layers on isotropic inputs lose nothing by being diagonal; the best
ones are even multiples of the identity.
"""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured
from iclab.papers._training_runs import mean_diagonal
from iclab.papers.ahn2023._multi_layer import (
    Setting,
    isotropic,
    lowest,
    round_off,
    trained,
)
from iclab.theory import marchenko_pastur_optimal_steps, optimal_steps

_LAYERS = 2


@dataclass(frozen=True)
class Case:
    """Isotropic inputs, and how many random starts each search has."""

    setting: Setting
    starts: int


def cases(scale) -> dict[str, Case]:
    """One or two dimensions, at the lengths that the other claims use."""
    found = {"d=5, n=20": isotropic(5, 20)}
    if scale != "smoke":
        found["d=3, n=8"] = isotropic(3, 8)
    if scale == "paper":
        found["d=4, n=2"] = isotropic(4, 2)
    starts = {"smoke": 2, "desk": 4, "paper": 20}[scale]
    return {name: Case(setting, starts) for name, setting in found.items()}


def predict(case: Case):
    """The best two steps: their loss for all matrices and for diagonal ones, both
    steps, and nothing that is not scalar.
    """
    steps, loss = optimal_steps(case.setting.dimension, case.setting.samples, _LAYERS)
    return np.array([loss, loss, *steps, 0.0])


def measure(case: Case) -> Measured:
    """Descents on the exact loss, over all matrices and over diagonal ones."""
    setting, d = case.setting, case.setting.dimension
    full = trained(setting, _LAYERS, case.starts)
    diagonal = lowest(setting, _LAYERS, case.starts, np.eye(d))
    steps = -mean_diagonal(full.A[:_LAYERS])
    rest = full.A[:_LAYERS] + steps[:, None, None] * np.eye(d)
    value = [full.loss, diagonal.loss, *np.sort(steps), np.linalg.norm(rest)]
    of_loss, of_slope = round_off(full.A, setting)
    # How far from the minimum the descent may have stopped.
    distance = (full.slope + of_slope * np.sqrt(_LAYERS) * d) / full.curvature
    errors = [
        of_loss + full.curvature * distance**2,
        of_loss + diagonal.slope**2 / diagonal.curvature,
        *[distance] * 3,
    ]
    reason = "gradient left over the smallest curvature, and float64 round-off"
    return Measured(np.array(value), np.array(errors), reason)


def decoy(case: Case):
    """The best two steps in the limit of many inputs and examples, n/d fixed."""
    d, n = case.setting.dimension, case.setting.samples
    steps, loss = marchenko_pastur_optimal_steps(d / n, _LAYERS)
    return np.array([d * loss, d * loss, *steps, 0.0])
