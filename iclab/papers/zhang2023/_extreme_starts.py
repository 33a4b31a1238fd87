"""Starts at which the bounds on the flow are nearly equalities."""

import functools

import jax.numpy as jnp
import numpy as np

from iclab.evidence import Scale
from iclab.papers.zhang2023._fixed_covariance import Setting, settings
from iclab.theory import largest_initial_scale


@functools.cache
def even_start(dimension: int) -> Setting:
    """Λ = I, ΘΘᵀ ∝ I and a small σ: each inequality behind (A.14) is sharp at t = 0."""
    covariance, N = jnp.eye(dimension), 10
    theta = jnp.eye(dimension) / dimension**0.25
    return Setting(
        covariance, N, theta, 0.05 * float(largest_initial_scale(covariance, N))
    )


@functools.cache
def aligned_start(setting: Setting) -> Setting:
    """Θ along the leading eigenvector, σ at the edge of (A.13): u₋₁ falls at first."""
    _, vectors = np.linalg.eigh(np.asarray(setting.covariance))
    theta = jnp.asarray(np.outer(vectors[:, -1], vectors[:, -1]))
    N = setting.context_length
    sigma = 0.999 * float(largest_initial_scale(setting.covariance, N))
    return Setting(setting.covariance, N, theta, sigma)


def with_edges(scale: Scale) -> dict[str, Setting]:
    """Random starts; in three dimensions also rank one, at the edge of (A.13)."""
    found = dict(settings(scale))
    for name, setting in settings(scale).items():
        if len(setting.covariance) == 3:
            found[f"{name}, leading start at the edge"] = aligned_start(setting)
    return found
