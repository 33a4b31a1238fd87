"""Theorem 4.1: gradient flow ends at one preconditioned gradient step, and no other
weights have a smaller loss.
"""

from dataclasses import dataclass

import numpy as np

from iclab.evidence import Measured
from iclab.papers.zhang2023._fixed_covariance import Setting, settings, trajectory
from iclab.papers.zhang2023._loss_landscape import bowl, descend
from iclab.papers.zhang2023._trajectory import SUMMARY, summary
from iclab.theory import lsa_optimum, optimal_preconditioner


@dataclass(frozen=True, eq=False)
class AllWeights:
    """A training distribution, to be searched over all weights from random starts."""

    setting: Setting
    starts: int


def cases(scale) -> dict[str, Setting | AllWeights]:
    """Limits of the flow; in three dimensions, least losses with every block free."""
    found: dict[str, Setting | AllWeights] = dict(settings(scale))
    for name, setting in settings(scale).items():
        searched = scale == "paper" or setting.context_length == 10
        if searched and len(setting.covariance) == 3:
            found[f"{name}, least loss over all weights"] = AllWeights(setting, 12)
    return found


def predict(case: Setting | AllWeights):
    """The limits (4.1), and ½(tr Λ − tr Λ²Γ⁻¹), their loss, as the least of all."""
    if isinstance(case, AllWeights):
        Lambda, N = case.setting.covariance, case.setting.context_length
        return _loss_of(Lambda, optimal_preconditioner(Lambda, N))
    W_KQ, W_PV = lsa_optimum(case.covariance, case.context_length)
    return summary(W_KQ[:-1, :-1], W_PV[-1, -1])


def measure(case: Setting | AllWeights) -> Measured:
    """Follow the flow on the exact population loss, which never mentions Γ."""
    if isinstance(case, AllWeights):
        return _least_loss(case)
    found = trajectory(case)
    value = summary(*found.flow.model)
    # A unit vector on each side: an entry moves by at most the error of the weights.
    size = 1 + float(found.flow.model[1]) + float(np.linalg.norm(found.flow.model[0]))
    return found.measured(value, size)


def decoy(case: Setting | AllWeights):
    """The trace term of Γ dropped: the limit of infinitely long training prompts."""
    setting = case.setting if isinstance(case, AllWeights) else case
    N = setting.context_length
    inverse = np.linalg.inv((1 + 1 / N) * np.asarray(setting.covariance))
    if isinstance(case, AllWeights):
        return _loss_of(setting.covariance, inverse)
    u_last = np.sqrt(np.linalg.norm(inverse))
    return summary(inverse / u_last, u_last)


def labels(case: Setting | AllWeights):
    """Those of the weights at rest; of the least loss none."""
    return () if isinstance(case, AllWeights) else SUMMARY


def _least_loss(case: AllWeights) -> Measured:
    """The least loss that descents over all of U reach, and that of the flow's end."""
    setting = case.setting
    Lambda, N, d = setting.covariance, setting.context_length, len(setting.covariance)
    starts = np.random.default_rng([d, N]).standard_normal((case.starts, d + 1, d + 1))
    free = np.ones((d + 1, d + 1))
    found = [descend(start, free, Lambda, N) for start in starts]
    best = min(found, key=lambda one: one.loss)
    end, quadratic = trajectory(setting), bowl(setting)
    U11, u_last = map(np.asarray, end.flow.model)
    value = [best.loss, quadratic.least + quadratic.gap((u_last * U11)[None])[0]]
    error = best.slope**2 / best.curvature
    error += quadratic.steepest * (2 * float(u_last) * end.resting_error) ** 2
    error += 200 * np.finfo(float).eps * (1 + float(np.trace(Lambda)))
    reason = "gradients left, squared over the curvature, and float64 round-off"
    return Measured(np.array(value), error, reason)


def _loss_of(covariance, inverse) -> np.ndarray:
    """½(tr Λ − tr Λ²Γ⁻¹): for the search, and for the flow."""
    Lambda = np.asarray(covariance)
    loss = (np.trace(Lambda) - np.trace(Lambda @ Lambda @ np.asarray(inverse))) / 2
    return np.full(2, loss)
