"""Lemma C.8: a Polyak–Łojasiewicz inequality along the flow on random covariances.

Where Λ_τ hardly varies, from even starts of small scale, the quotient is least at t = 0
and there four times ν: the proof's own 2, and the gradient in U₁₁ as large as
that in u₋₁.
"""

import numpy as np

from iclab.evidence import Measured
from iclab.papers.zhang2023._random_covariance import (
    Setting,
    settings_and_tight,
    slopes,
    trajectory,
)
from iclab.theory import convergence_constant_random_covariance

cases = settings_and_tight
relation = ">="


def predict(case: Setting):
    """ν of (C.13) for both numbers; the sampled expectation at its low end, where ν is
    largest. In the tight setting the first is 4ν, up to a few in a hundred.
    """
    least = np.full(2, _constant(case, case.gamma_norm - case.gamma_norm_error))
    if not case.tight:
        return least
    return np.array([*least, 0.99 * 4 * least[0], -1.04 * 4 * least[0]])


def measure(case: Setting) -> Measured:
    """Smallest ‖∇ℓ‖²/(ℓ − min ℓ), and smallest mean rate at which the gap decays."""
    found = slopes(case)
    times = np.asarray(trajectory(case).flow.recorded_at)[: len(found.loss)]
    # The minimum is where the flow rests: the gap left there is of order speed².
    gap = found.loss - found.loss[-1]
    squared = np.sum(found.U11**2, axis=(1, 2)) + found.u_last**2
    resolution = found.U11[0].size * np.finfo(float).eps * np.max(np.abs(found.loss))
    seen = gap > 1e6 * resolution
    decay = np.log(gap[0] / gap[seen])
    # A decay by less than a thousandth is left to the first number.
    moved = decay > 1e-3
    rate = decay[moved] / times[seen][moved]
    value = np.stack([np.min(squared[seen] / gap[seen]), np.min(rate)])
    reason = "gaps are known to one part in 10⁶, their logarithms to one in 500"
    error = value * np.array([1e-6, 2e-3])
    if case.tight:
        value = np.array([*value, value[0], -value[0]])
        error = np.array([*error, error[0], error[0]])
    return Measured(value, error, reason)


def decoy(case: Setting):
    """A tenth more than the best constant, where the bound is nearly attained."""
    if not case.tight:
        return None
    nu = _constant(case, case.gamma_norm + case.gamma_norm_error)
    return np.concatenate([np.full(2, 1.1 * 4 * nu), predict(case)[2:]])


def _constant(case: Setting, gamma_norm: float) -> float:
    nu = convergence_constant_random_covariance(
        case.moments, case.context_length, case.theta, case.scale, gamma_norm
    )
    return float(nu)
