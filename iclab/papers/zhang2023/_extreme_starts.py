"""Starts at which the bounds on the flow are nearly equalities."""

import dataclasses
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
def on_a_line(part: float) -> Setting:
    """One dimension, and σ this `part` of σ_max: past 0.7 of it u₋₁ falls to rest."""
    covariance, N = jnp.eye(1), 10
    sigma = part * float(largest_initial_scale(covariance, N))
    return Setting(covariance, N, jnp.eye(1), sigma)


@functools.cache
def of_rank_one(setting: Setting, along: str) -> Setting:
    """Θ along the weakest eigenvector of Λ, so that ΛΘ is small, or at random."""
    _, vectors = np.linalg.eigh(np.asarray(setting.covariance))
    direction = np.random.default_rng(len(along)).standard_normal(len(vectors))
    v = vectors[:, 0] if along == "weakest" else direction / np.linalg.norm(direction)
    return dataclasses.replace(setting, theta=jnp.asarray(np.outer(v, v)))


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
