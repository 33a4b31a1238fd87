"""Theorem 4.5: where gradient flow ends when every prompt has its own covariance."""

import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured
from iclab.papers.zhang2023._random_covariance import Setting, settings, trajectory
from iclab.papers.zhang2023._trajectory import SUMMARY, summary
from iclab.theory import lsa_optimum, lsa_optimum_random_covariance

cases = settings
labels = SUMMARY


def predict(case: Setting):
    """Limits of U₁₁ and u₋₁: norms, and U₁₁ along fixed directions."""
    W_KQ, W_PV = lsa_optimum_random_covariance(case.moments, case.context_length)
    return summary(W_KQ[:-1, :-1], W_PV[-1, -1])


def measure(case: Setting) -> Measured:
    """Follow the flow on the exact population loss, which never mentions Γ_τ."""
    found = trajectory(case)
    U11, u_last = found.flow.model
    # A unit vector on each side: an entry moves by at most the error of the weights.
    size = 1 + float(u_last) + float(np.linalg.norm(U11))
    return found.measured(summary(U11, u_last), size)


def decoy(case: Setting):
    """The limit of Theorem 4.1 for the mean covariance."""
    W_KQ, W_PV = lsa_optimum(jnp.diag(case.moments[0]), case.context_length)
    return summary(W_KQ[:-1, :-1], W_PV[-1, -1])
