"""Lemma C.7: a lower bound that u₋₁ keeps along the flow on random covariances.

The bound vanishes where the scales of (C.10) end: its square is 1 − σ²/σ_max² in units
of σ²‖E Λ_τΘ‖_F²/(√d‖E Λ_τ²‖). Where Λ_τ does not vary, every expectation is known.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from iclab.evidence import Measured, solved
from iclab.papers.zhang2023._random_covariance import (
    SOLVER_TOLERANCE,
    Setting,
    settings_and_tight,
    trajectory,
)
from iclab.papers.zhang2023._trajectory import balanced_theta
from iclab.theory import (
    expected_gamma_norm,
    largest_initial_scale_random_covariance,
    last_weight_bound_random_covariance,
)

relation = ">="


@dataclass(frozen=True, eq=False)
class Edge:
    """Λ_τ = diag(`spectrum`) always, and σ is this `part` of σ_max."""

    spectrum: Float[np.ndarray, " d"]
    theta: Float[Array, "d d"]
    context_length: int
    part: float


def cases(scale) -> Mapping[str, Setting | Edge]:
    """Flows on random covariances, and how the bound vanishes at the edge of (C.10)."""
    found: dict[str, Setting | Edge] = dict(settings_and_tight(scale))
    for d, N in ((2, 3), (4, 7)):
        theta = balanced_theta(np.random.default_rng(d), d)
        name = f"d={d}, fixed, N={N}, (C.12) at 0.9 of σ_max"
        found[name] = Edge(np.linspace(0.5, 2.0, d), theta, N, 0.9)
    return found


def predict(case: Setting | Edge):
    """The bound (C.12), with the sampled E‖Γ_τ‖‖Λ_τ‖_F² at the low end of its interval.

    The bound falls with that expectation: if this one holds, so does the true one. Near
    the edge its square in those units, from both sides.
    """
    if isinstance(case, Edge):
        return _vanishing(case) * np.array([1, -1])
    return _bound(case, case.gamma_norm - case.gamma_norm_error)


def measure(case: Setting | Edge) -> Measured:
    """The smallest u₋₁ of the trajectory; 1 − σ²/σ_max²."""
    if isinstance(case, Edge):
        left = (1 - case.part**2) * np.array([1, -1])
        return Measured(left, 1e-9, "float64 round-off of norms")
    u_last = trajectory(case).u_last
    return solved(u_last.min(), SOLVER_TOLERANCE, len(u_last), float(u_last.max()))


def decoy(case: Setting | Edge):
    """The 2 forgotten in 2√d; only where the bound is nearly attained can it show.

    Near the edge 1 − σ/σ_max.
    """
    if isinstance(case, Edge):
        return (1 - case.part) * np.array([1, -1])
    if not case.tight:
        return None
    return np.sqrt(2) * _bound(case, case.gamma_norm + case.gamma_norm_error)


def _bound(case: Setting, gamma_norm: float):
    return last_weight_bound_random_covariance(
        case.moments, case.theta, case.scale, gamma_norm
    )


def _vanishing(case: Edge) -> float:
    spectrum, N = case.spectrum, case.context_length
    d, moments = len(spectrum), jnp.asarray([spectrum**k for k in (1, 2, 3)])
    drawn, _ = expected_gamma_norm(jnp.asarray([spectrum, spectrum]), N)
    largest = largest_initial_scale_random_covariance(moments, case.theta, drawn)
    sigma = case.part * float(largest)
    Lambda = np.diag(spectrum)
    Gamma = (1 + 1 / N) * Lambda + np.trace(Lambda) / N * np.eye(d)
    known = float(np.linalg.norm(Gamma, 2) * np.linalg.norm(Lambda) ** 2)
    bound = last_weight_bound_random_covariance(moments, case.theta, sigma, known)
    unit = sigma**2 * np.linalg.norm(Lambda @ np.asarray(case.theta)) ** 2
    return float(bound) ** 2 / (unit / (np.sqrt(d) * np.linalg.norm(Lambda, 2) ** 2))
