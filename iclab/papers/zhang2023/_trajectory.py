"""What trajectories have in common, whether the covariance is fixed or random."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from iclab.evidence import Measured
from iclab.training import Trained

# Local error of the solver, which the flow's defaults promise.
SOLVER_TOLERANCE = 1e-10

# A loss of (U₁₁, u₋₁, distribution, N), such as `theory.lsa_loss`.
Loss = Callable[..., Float[Array, ""]]


class Trajectory(NamedTuple):
    """A flow that came to rest, and how far from the true limit it may have stopped."""

    flow: Trained
    U11: Float[np.ndarray, "steps d d"]
    u_last: Float[np.ndarray, " steps"]
    resting_error: float

    def measured(self, value: np.ndarray, size: float) -> Measured:
        """Numbers at the end, which move by at most `size` times its error."""
        reason = (
            "distance from rest: final gradient over the loss's smallest curvature,"
            f" plus the solver's error over {int(self.flow.step)} steps"
        )
        return Measured(value, self.resting_error * size, reason)


def at_rest(loss: Loss, flow: Trained, *distribution: Array | int) -> Trajectory:
    """A finished flow on `loss` as a trajectory without the padding of unused steps."""
    steps = int(flow.step) + 1
    error = float(flow.gradient_norm) / _slowest_rate(loss, flow, *distribution)
    error += SOLVER_TOLERANCE * steps * float(flow.model[1])
    # NumPy before slicing: JAX would compile a program for every number of steps.
    U11, u_last = map(np.asarray, flow.records)
    return Trajectory(flow, U11[:steps], u_last[:steps], error)


def balanced_theta(random: np.random.Generator, d: int) -> Float[Array, "d d"]:
    """A random Θ with ‖ΘΘᵀ‖_F = 1, as Assumption 3.3 wants it."""
    theta = random.standard_normal((d, d))
    return jnp.asarray(theta / np.sqrt(np.linalg.norm(theta @ theta.T)))


# Names of the six numbers of `summary`; 1 and r are an even and an uneven direction.
SUMMARY = ("u₋₁", "‖U₁₁‖", "1ᵀU₁₁1", "1ᵀU₁₁r", "rᵀU₁₁1", "rᵀU₁₁r")


def summary(U11: Array | np.ndarray, u_last: Array | np.ndarray | float) -> np.ndarray:
    """Six numbers that fix the weights, or a change of them, for practical purposes."""
    U11, u_last = np.asarray(U11), np.asarray(u_last)
    ones = np.ones(len(U11)) / np.sqrt(len(U11))
    ramp = np.linspace(-1, 1, len(U11))
    ramp = ramp / np.linalg.norm(ramp)
    forms = [ones @ U11 @ ones, ones @ U11 @ ramp, ramp @ U11 @ ones, ramp @ U11 @ ramp]
    return np.stack([u_last, np.linalg.norm(U11), *forms])


def _slowest_rate(loss: Loss, flow: Trained, *distribution: Array | int) -> float:
    """Smallest nonzero curvature of the loss at rest.

    One direction is flat, (U₁₁, u₋₁) → (cU₁₁, u₋₁/c); the start's balance fixes it.
    """
    flat = jnp.append(flow.model[0].ravel(), flow.model[1])
    hessian = _hessian(loss, flat, *distribution)
    return float(np.sort(np.abs(np.linalg.eigvalsh(np.asarray(hessian))))[1])


@functools.partial(jax.jit, static_argnums=0)
def _hessian(loss: Loss, flat: Array, *distribution: Array) -> Array:
    d = distribution[0].shape[-1]

    def of_flat(flat: Array) -> Array:
        return loss(flat[:-1].reshape(d, d), flat[-1], *distribution)

    return jax.hessian(of_flat)(flat)
