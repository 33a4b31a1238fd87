"""(C.15): the limit of u₋₁, in which our copy prints ξ/γ without its square."""

import numpy as np

from iclab.evidence import Measured, Printed
from iclab.papers.zhang2023._random_covariance import Setting, settings, trajectory
from iclab.theory import random_covariance_coefficients

cases = settings


def predict(case: Setting):
    """Limit of u₋₁, (Σ ξᵢ²/γᵢ²)^{1/4}, and the sum of the limits of uᵢᵢ."""
    return _limits(case, 2)


def as_printed(case: Setting):
    """u₋₁ → (Σ ξᵢ/γᵢ)^{1/4}; the limits of uᵢᵢ are printed as in (C.17)."""
    return np.stack([_limits(case, 1)[0], _limits(case, 2)[1]])


printed = Printed(predict=as_printed, nearby=True)


def decoy(case: Setting):
    """A square root in place of the fourth root."""
    u_last, trace = _limits(case, 2)
    return np.stack([u_last**2, trace])


def measure(case: Setting) -> Measured:
    """End of the flow on the exact population loss."""
    found = trajectory(case)
    U11, u_last = found.flow.model
    reason = (
        "final gradient over the loss's smallest curvature, plus the solver's error"
        f" over {int(found.flow.step)} steps, added over the diagonal"
    )
    error = found.resting_error * len(U11)
    return Measured(np.stack([u_last, np.trace(U11)]), error, reason)


def _limits(case: Setting, power: int) -> np.ndarray:
    coefficients = random_covariance_coefficients(case.moments, case.context_length)
    gamma, xi, _ = map(np.asarray, coefficients)
    u_last = np.sum((xi / gamma) ** power) ** 0.25
    return np.stack([u_last, np.sum(xi / gamma) / u_last])


def numbers(results, printed):
    """How far from the printed limit u₋₁ ends, at the most."""
    away = [abs(one.measured[0] - one.predicted[0]) for one in printed.values()]
    return {"off": max(away)}
