"""The cap on the start scale of zhang2023's Theorem 4.1 is not needed to converge.

In the covariance's eigenbasis uᵢᵢ(0) ≥ 0, and the flow keeps u₋₁ > 0 and uᵢᵢ ≥ 0, since
at u₋₁ = 0 its derivative is Σξᵢuᵢᵢ ≥ 0. Starts at ten times the cap end where the
others do.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from iclab.evidence import Measured
from iclab.theory import largest_initial_scale, lsa_optimum
from iclab.training import lsa_gradient_flow

_COVARIANCE = np.array([[1.2, 0.4], [0.4, 0.5]])
_LENGTH = 10
# Local error of the flow, and the speed at which it counts as at rest.
_TOLERANCE = 1e-6

shares = {
    "gamma_matrix": "sizes the start; where the flow ends is integrated",
}


@dataclass(frozen=True)
class Case:
    """A start at so many times the cap."""

    times: float


def cases(scale) -> dict[str, Case]:
    """Below the cap and far above it."""
    times = (0.5, 10.0) if scale == "smoke" else (0.5, 3.0, 10.0, 30.0)
    return {f"{one:g} times the cap": Case(one) for one in times}


def predict(case: Case):
    """The product u₋₁U₁₁ at the global minimum, by rows."""
    W_KQ, W_PV = lsa_optimum(jnp.asarray(_COVARIANCE), _LENGTH)
    return np.asarray(W_PV[-1, -1] * W_KQ[:-1, :-1]).ravel()


def decoy(case: Case):
    """Zero, the saddle."""
    return np.zeros(4)


def measure(case: Case) -> Measured:
    """Where gradient flow on the population loss comes to rest."""
    covariance = jnp.asarray(_COVARIANCE)
    sigma = case.times * float(largest_initial_scale(covariance, _LENGTH))
    theta = np.random.default_rng(5).standard_normal((2, 2))
    outer = theta @ theta.T
    outer /= np.linalg.norm(outer)
    flow = lsa_gradient_flow(covariance, _LENGTH, jnp.asarray(sigma * outer), sigma)
    U11, u_last = map(np.asarray, flow.model)
    speed = float(flow.gradient_norm)
    reason = f"a flow at rest after {int(flow.step)} steps, speed {speed:.1g}"
    return Measured((u_last * U11).ravel(), _TOLERANCE, reason)
