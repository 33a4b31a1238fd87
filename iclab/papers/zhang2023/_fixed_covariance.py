"""Settings and trajectories that the claims about a fixed covariance share."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from iclab.evidence import Scale
from iclab.papers.zhang2023._trajectory import (
    SOLVER_TOLERANCE as SOLVER_TOLERANCE,
    Trajectory as Trajectory,
    at_rest,
    balanced_theta,
)
from iclab.theory import largest_initial_scale, lsa_loss
from iclab.training import lsa_gradient_flow


@dataclass(frozen=True, eq=False)
class Setting:
    """A training distribution and a balanced start (Assumption 3.3)."""

    covariance: Float[Array, "d d"]
    context_length: int
    theta: Float[Array, "d d"]
    scale: float

    @property
    def start(self) -> tuple[Float[Array, "d d"], float]:
        """U₁₁(0) = σΘΘᵀ and u₋₁(0) = σ."""
        return self.scale * self.theta @ self.theta.T, self.scale


@functools.cache
def settings(scale: Scale) -> Mapping[str, Setting]:
    """Three spectra (equal, geometric, one tiny), three lengths, random eigenbases."""
    lengths = (2, 10, 50)
    sizes = {"smoke": (3,), "desk": (3, 20), "paper": (2, 3, 8, 20)}[scale]
    found = {}
    for d in sizes:
        for spectrum, eigenvalues in _spectra(d).items():
            for N in lengths:
                name = f"d={d}, {spectrum} spectrum, N={N}"
                found[name] = _setting(name, eigenvalues, N)
    return MappingProxyType(found)


@functools.cache
def trajectory(setting: Setting) -> Trajectory:
    """Gradient flow on the population loss; solved once, however many claims ask."""
    U11, u_last = setting.start
    flow = lsa_gradient_flow(setting.covariance, setting.context_length, U11, u_last)
    return at_rest(lsa_loss, flow, setting.covariance, setting.context_length)


def _spectra(d: int) -> dict[str, np.ndarray]:
    return {
        "equal": np.ones(d),
        "geometric": 2.0 * 0.8 ** np.arange(d),
        "one tiny": np.append(np.linspace(1.5, 0.5, d - 1), 0.02),
    }


def _setting(name: str, eigenvalues: np.ndarray, N: int) -> Setting:
    """Eigenvectors and Θ are fixed by the name, so that a case is always the same."""
    random = np.random.default_rng(list(name.encode()))
    d = len(eigenvalues)
    basis, _ = np.linalg.qr(random.standard_normal((d, d)))
    covariance = (basis * eigenvalues) @ basis.T
    covariance = jnp.asarray((covariance + covariance.T) / 2)
    theta = balanced_theta(random, d)
    sigma = 0.7 * float(largest_initial_scale(covariance, N))
    return Setting(covariance, N, theta, sigma)
