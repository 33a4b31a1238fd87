"""Settings and trajectories that the claims about random covariances share."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from iclab.evidence import STANDARD_ERRORS, Measured, Scale, averaged
from iclab.models import LinearSelfAttention
from iclab.papers.zhang2023._trajectory import (
    SOLVER_TOLERANCE as SOLVER_TOLERANCE,
    Trajectory as Trajectory,
    at_rest,
    balanced_theta,
)
from iclab.tasks import (
    AbstractPositiveLaw,
    Exponential,
    Fixed,
    Gamma,
    LogNormal,
    RandomCovariance,
    Uniform,
)
from iclab.theory import (
    expected_gamma_norm,
    largest_initial_scale_random_covariance,
    lsa_loss_random_covariance,
)
from iclab.training import lsa_gradient_flow

# Length of training prompts that stands for N → ∞: what is left is of order d/N.
LONG = 10**8

# Random covariances in a sample. One size for all, because each size compiles anew.
DRAWS = 1 << 15


@dataclass(frozen=True, eq=False)
class Setting:
    """A law of random covariances and a balanced start (Assumption 3.3).

    `gamma_norm` is E‖Γ_τ‖‖Λ_τ‖_F², sampled and so known up to `gamma_norm_error`.
    `tight` marks a setting in which the bounds of the proofs are nearly attained.
    """

    task: RandomCovariance
    context_length: int
    theta: Float[Array, "d d"]
    scale: float
    gamma_norm: float
    gamma_norm_error: float
    tight: bool = False

    @property
    def moments(self) -> Float[Array, "3 d"]:
        """E λᵢᵏ, exactly."""
        return self.task.moments()

    @property
    def start(self) -> tuple[Float[Array, "d d"], float]:
        """U₁₁(0) = σΘΘᵀ and u₋₁(0) = σ."""
        return self.scale * self.theta @ self.theta.T, self.scale


class Slopes(NamedTuple):
    """Population loss and its gradient at every step of a trajectory."""

    loss: Float[np.ndarray, " steps"]
    U11: Float[np.ndarray, "steps d d"]
    u_last: Float[np.ndarray, " steps"]


@functools.cache
def settings(scale: Scale) -> Mapping[str, Setting]:
    """Three kinds of laws (equal, mixed, one tiny) and three lengths."""
    sizes = {"smoke": (5,), "desk": (5, 20), "paper": (3, 5, 10, 20)}[scale]
    found = {}
    for d in sizes:
        for kind, laws in _laws(d).items():
            for N in (2, 10, 50):
                name = f"d={d}, {kind}, N={N}"
                theta = balanced_theta(np.random.default_rng(list(name.encode())), d)
                found[name] = started(RandomCovariance(laws), N, theta, 0.7)
    return MappingProxyType(found)


@functools.cache
def settings_and_tight(scale: Scale) -> Mapping[str, Setting]:
    """The same, and two in which Λ_τ hardly varies, Θ ∝ I and σ is small."""
    tight = {}
    for d, law, N in ((1, Fixed(1.0), 1), (5, Uniform(0.95, 1.05), 1000)):
        case = started(RandomCovariance((law,) * d), N, jnp.eye(d) / d**0.25, 0.05)
        tight[f"d={d}, almost fixed, N={N}"] = replace(case, tight=True)
    return MappingProxyType({**settings(scale), **tight})


def started(
    task: RandomCovariance, N: int, theta: Float[Array, "d d"], fraction: float
) -> Setting:
    """A setting whose σ is this `fraction` of the largest that (4.11) allows."""
    norm, standard_error = expected_gamma_norm(_common_diagonals(task.laws), N)
    largest = largest_initial_scale_random_covariance(task.moments(), theta, norm)
    error = STANDARD_ERRORS * float(standard_error)
    return Setting(task, N, theta, fraction * float(largest), float(norm), error)


def drawn_diagonals(
    laws: tuple[AbstractPositiveLaw, ...], key: PRNGKeyArray
) -> Float[np.ndarray, "draws d"]:
    """`DRAWS` independent diagonals of Λ_τ."""
    columns = [
        jax.vmap(law.sample)(jax.random.split(jax.random.fold_in(key, i), DRAWS))
        for i, law in enumerate(laws)
    ]
    return np.stack([np.asarray(column) for column in columns], axis=1)


def drawn_inputs(
    laws: tuple[AbstractPositiveLaw, ...], count: int, key: PRNGKeyArray
) -> Float[Array, "draws count d"]:
    """Inputs of `DRAWS` prompts, `count` for each, and a covariance for each prompt.

    What `RandomCovariance` draws, with one stream for all prompts: it compiles faster.
    """
    for_diagonals, for_inputs = jax.random.split(key)
    deviations = np.sqrt(drawn_diagonals(laws, for_diagonals))
    white = jax.random.normal(for_inputs, (DRAWS, count, len(laws)))
    return white * deviations[:, None, :]


def sample_mean(values: Float[np.ndarray, "draws *rest"], of: str) -> Measured:
    """Mean of independent draws of `of`, with its Monte Carlo error bar."""
    standard_error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return averaged(values.mean(axis=0), standard_error, len(values), of)


def trained_on_long_prompts(task: RandomCovariance) -> LinearSelfAttention:
    """The model at the end of gradient flow when N is as good as infinite."""
    d = task.dimension
    start = 0.1 * jnp.eye(d) / jnp.sqrt(d), 0.1
    flow = lsa_gradient_flow(task, LONG, *start)
    return LinearSelfAttention.from_blocks(*flow.model)


@functools.cache
def trajectory(setting: Setting) -> Trajectory:
    """Gradient flow on the population loss; solved once, however many claims ask."""
    moments, N = setting.moments, setting.context_length
    flow = lsa_gradient_flow(setting.task, N, *setting.start)
    return at_rest(lsa_loss_random_covariance, flow, moments, N)


@functools.cache
def slopes(setting: Setting) -> Slopes:
    """Loss and gradient along the trajectory, the gradient by differentiation."""
    flow = trajectory(setting).flow
    loss, gradient = _slopes(*flow.records, setting.moments, setting.context_length)
    steps = int(flow.step) + 1
    return Slopes(*(np.asarray(leaf)[:steps] for leaf in (loss, *gradient)))


@jax.jit
def _slopes(U11: Array, u_last: Array, moments: Array, context_length: Array):
    function = jax.value_and_grad(lsa_loss_random_covariance, argnums=(0, 1))
    return jax.vmap(function, in_axes=(0, 0, None, None))(
        U11, u_last, moments, context_length
    )


@functools.cache
def _common_diagonals(laws: tuple[AbstractPositiveLaw, ...]) -> Float[Array, "draws d"]:
    """The draws behind every `gamma_norm`; claims that sample use keys of their own."""
    return jnp.asarray(drawn_diagonals(laws, jax.random.key(len(laws))))


def _laws(d: int) -> dict[str, tuple[AbstractPositiveLaw, ...]]:
    different = (
        Exponential(0.5),
        Gamma(2.0, 0.5),
        Uniform(0.2, 1.8),
        LogNormal(-0.3, 0.5),
        Fixed(0.7),
    )
    means = np.linspace(1.5, 0.5, d - 1)
    return {
        "Exponential(1)": (Exponential(),) * d,
        "mixed laws": tuple(different[i % len(different)] for i in range(d)),
        "one tiny": (*(Exponential(float(mean)) for mean in means), Exponential(0.02)),
    }
