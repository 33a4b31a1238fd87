"""Corollary C.2: the flow when every prompt draws its own diagonal covariance."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from iclab.core import Prompt
from iclab.evidence import Measured, rounded
from iclab.models import LinearSelfAttention
from iclab.papers.zhang2023._any_covariance import (
    Law,
    dependent,
    slope_of_all,
    trajectory as trajectory_of,
)
from iclab.papers.zhang2023._random_covariance import (
    LONG,
    Setting,
    drawn_diagonals,
    drawn_inputs,
    sample_mean,
    settings,
    slopes,
    trajectory,
)
from iclab.papers.zhang2023._trajectory import summary
from iclab.tasks import Exponential, RandomCovariance
from iclab.theory import lsa_flow_random_covariance, random_covariance_coefficients

shares = {
    "lsa_loss_random_covariance": "is the loss; its slope is differentiated",
    "lsa_loss": "is the loss; its slope is differentiated",
}


@dataclass(frozen=True)
class Simulation:
    """Weights (any U₁₁, u₋₁ = 1) whose gradient is averaged over simulated prompts."""

    task: RandomCovariance
    context_length: int
    U11: Float[Array, "d d"]


@dataclass(frozen=True)
class Coefficients:
    """The coefficients (C.3) of equal laws, averaged over drawn covariances."""

    task: RandomCovariance
    context_length: int


Case = Setting | Simulation | Coefficients | Law


def cases(scale) -> dict[str, Case]:
    """All trajectories, the model on simulated prompts, the coefficients."""
    found: dict[str, Case] = {**settings(scale), **dependent(scale)}
    for N in () if scale == "smoke" else (2, 10):
        name = f"d=5, mixed laws, N={N}"
        U11 = np.random.default_rng([5, N]).standard_normal((5, 5)) / 2
        task = settings(scale)[name].task
        found[f"{name}, simulated prompts"] = Simulation(task, N, jnp.asarray(U11))
    d, N = (5, 10) if scale == "smoke" else (20, 40)
    name = f"d={d}, Exponential(1), N={N}, drawn coefficients"
    found[name] = Coefficients(RandomCovariance((Exponential(),) * d), N)
    return found


def predict(case: Case):
    """The vector field (C.4), or its coefficients (C.3)."""
    return _statement(case, case.context_length)


def decoy(case: Case):
    """Γ_τ replaced by Λ_τ, as if prompts were infinitely long."""
    return _statement(case, LONG)


def measure(case: Case, key, scale) -> Measured:
    """Gradients that know no Γ_τ: of the exact loss, or of the model's own error."""
    if isinstance(case, Coefficients):
        return _drawn_coefficients(case, key)
    if isinstance(case, Law):
        return _on_dependent(case)
    if isinstance(case, Simulation):
        return _simulated(case, key, chunks=2 if scale == "smoke" else 4)
    found = slopes(case)
    value = [_three(-found.U11[k], -found.u_last[k]) for k in _steps(case)]
    weights = 1 + float(trajectory(case).u_last[-1]) ** 3
    size = float(jnp.max(case.moments)) * weights
    return rounded(np.concatenate(value), len(case.theta) ** 3.0, size)


def _statement(case: Case, N: int) -> np.ndarray:
    """The prediction with context length N inside Γ_τ."""
    if isinstance(case, Law):
        return _by_entry(case, N)
    moments = case.task.moments()
    if isinstance(case, Coefficients):
        gamma, xi, zeta = random_covariance_coefficients(moments, N)
        return np.stack([gamma[0], xi[0], zeta[0, 1]])
    if isinstance(case, Simulation):
        field = lsa_flow_random_covariance(case.U11, jnp.ones(()), moments, N)
        return np.append(np.delete(summary(*field), 1), [0, 0])
    found, forms = trajectory(case), []
    for k in _steps(case):
        U11, u_last = jnp.asarray(found.U11[k]), jnp.asarray(found.u_last[k])
        field = lsa_flow_random_covariance(U11, u_last, moments, N)
        forms.append(_three(*field))
    return np.concatenate(forms)


def _simulated(case: Simulation, key, chunks: int) -> Measured:
    """Descent directions of the model's squared error, averaged over prompts."""
    values = []
    for one in jax.random.split(key, chunks):
        for_inputs, for_weights = jax.random.split(one)
        inputs = drawn_inputs(case.task.laws, case.context_length + 1, for_inputs)
        weights = jax.random.normal(for_weights, (len(inputs), case.task.dimension))
        values.append(_descents(case.U11, inputs, weights))
    return sample_mean(np.concatenate(values), "prompts")


@jax.jit
def _descents(U11: Array, inputs: Array, weights: Array) -> Array:
    """For every prompt, forms of −∇ in u₋₁, U₁₁, then u₁₂ and u₂₁; last input asks."""
    d = len(U11)
    ones, ramp = jnp.ones(d) / jnp.sqrt(d), jnp.linspace(-1, 1, d)
    ramp = ramp / jnp.linalg.norm(ramp)

    def descent(inputs: Array, weight: Array) -> Array:
        labels = inputs @ weight
        prompt = Prompt(inputs[:-1], labels[:-1], inputs[-1], labels[-1])

        def loss(model: LinearSelfAttention) -> Array:
            return (model(prompt) - prompt.target) ** 2 / 2

        slope = jax.grad(loss)(LinearSelfAttention.from_blocks(U11, 1.0))
        dU11, u21 = slope.key_query[:d, :d], slope.key_query[d, :d]
        u12, u_last = slope.value_projection[d, :d], slope.value_projection[d, d]
        forms = [a @ dU11 @ b for a in (ones, ramp) for b in (ones, ramp)]
        return -jnp.stack([u_last, *forms, ones @ u12, ones @ u21])

    return jax.vmap(descent)(inputs, weights)


def _drawn_coefficients(case: Coefficients, key) -> Measured:
    """Means of Γ_τΛ_τ², Λ_τ² and of the products in ζ, over coordinates and draws."""
    N, draws = case.context_length, drawn_diagonals(case.task.laws, key)
    Gamma = (1 + 1 / N) * draws + draws.sum(axis=1, keepdims=True) / N
    gamma, xi = np.mean(Gamma * draws**2, axis=1), np.mean(draws**2, axis=1)
    # Neighbours stand for all pairs i ≠ j.
    zeta = np.mean(Gamma * draws * np.roll(draws, 1, axis=1), axis=1)
    return sample_mean(np.stack([gamma, xi, zeta], axis=1), "covariances")


def _by_entry(case: Law, N: int) -> np.ndarray:
    """(C.4) entry by entry, with (C.3) averaged over the atoms."""
    s, entries = np.asarray(case.shares), _entries(case)
    total = entries.sum(axis=1)
    xi = s @ entries**2
    pairs = entries[:, :, None] * entries[:, None, :]
    zeta = (N + 1) / N * np.einsum("m,mij,mi->ij", s, pairs, entries)
    zeta = zeta + np.einsum("m,mij,m->ij", s, pairs, total) / N  # γ on its diagonal
    forms = []
    for U11, u in _halfway(case):
        dU11 = -zeta * u**2 * U11 + u * np.diag(xi)
        du = -u * np.sum(zeta * U11**2) + xi @ np.diag(U11)
        forms.append(_three(dU11, du))
    return np.concatenate(forms)


def _on_dependent(case: Law) -> Measured:
    """Minus the gradient of the exact loss in all weights."""
    value, d = [], case.dimension
    for U11, u in _halfway(case):
        U = jnp.zeros((d + 1, d + 1)).at[:d, :d].set(U11).at[d, d].set(u)
        slope = -np.asarray(
            slope_of_all(U, case.covariances, case.shares, case.context_length)
        )
        value.append(_three(slope[:d, :d], slope[d, d]))
    largest = max(abs(float(u)) for _, u in _halfway(case))
    size = float(jnp.max(case.covariances)) ** 3 * (1 + largest**3)
    return rounded(np.concatenate(value), case.covariances.size * 100.0, size)


def _entries(case: Law) -> np.ndarray:
    return np.diagonal(np.asarray(case.covariances), axis1=1, axis2=2)


def _halfway(case: Law) -> list[tuple[np.ndarray, float]]:
    """The start of the flow and half of its steps to rest."""
    found = trajectory_of(case)
    steps = len(found.u_last) - 1
    U11, u_last = np.asarray(found.U11), np.asarray(found.u_last)
    return [(U11[k], float(u_last[k])) for k in (0, steps // 2)]


def _steps(case: Setting) -> list[int]:
    """The start, a quarter and half of the steps to rest."""
    steps = int(trajectory(case).flow.step)
    return [0, steps // 4, steps // 2]


def _three(U11, u_last) -> np.ndarray:
    """Three numbers of a direction: its u₋₁, the norm of its U₁₁, a skew form of it."""
    return summary(U11, u_last)[[0, 1, 3]]
