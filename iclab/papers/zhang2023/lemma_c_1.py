"""Lemma C.1: the flow when every prompt draws its own covariance, of any law."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from iclab.core import Prompt
from iclab.evidence import Measured, rounded
from iclab.models import LinearSelfAttention
from iclab.papers.zhang2023._any_covariance import (
    Law,
    dependent,
    full,
    slope_of_all,
    trajectory,
)
from iclab.papers.zhang2023._random_covariance import DRAWS, LONG, sample_mean
from iclab.papers.zhang2023._trajectory import summary
from iclab.theory import lsa_flow_given_covariances

shares = {
    "_law": "reads the law that both speak of",
    "lsa_loss": "is the loss; its slope is differentiated",
}


@dataclass(frozen=True, eq=False)
class Simulation:
    """Weights (any U₁₁, u₋₁ = 1) whose gradient is averaged over simulated prompts."""

    law: Law


def cases(scale) -> dict[str, Law | Simulation]:
    """Whole flows, and the model on simulated prompts."""
    found: dict[str, Law | Simulation] = {**full(scale), **dependent(scale)}
    name = next(iter(full(scale)))
    if scale != "smoke":
        found[f"{name}, simulated prompts"] = Simulation(full(scale)[name])
    return found


def predict(case: Law | Simulation):
    """The vector field (C.1), and zeros for u₁₂ and u₂₁."""
    law = case.law if isinstance(case, Simulation) else case
    return _statement(case, law.context_length)


def decoy(case: Law | Simulation):
    """Γ_τ replaced by Λ_τ, as if prompts were infinitely long."""
    return _statement(case, LONG)


def measure(case: Law | Simulation, key, scale) -> Measured:
    """Minus the gradient of the exact loss in all weights, or of the model's errors."""
    if isinstance(case, Simulation):
        return _simulated(case.law, key)
    value, size = [], 0.0
    for U11, u_last in _points(case):
        d = len(U11)
        U = jnp.zeros((d + 1, d + 1)).at[:d, :d].set(U11).at[d, d].set(u_last)
        slope = -np.asarray(
            slope_of_all(U, case.covariances, case.shares, case.context_length)
        )
        beside = [np.sum(np.abs(slope[:d, d])), np.sum(np.abs(slope[d, :d]))]
        value += [*summary(slope[:d, :d], slope[d, d]), *beside]
        size = max(size, float(np.max(np.abs(slope))), 1 + float(u_last) ** 3)
    return rounded(np.array(value), case.covariances.size * 100.0, size)


def _statement(case: Law | Simulation, N: int) -> np.ndarray:
    if isinstance(case, Simulation):
        law, points = case.law, [(_weights(case.law), jnp.ones(()))]
    else:
        law, points = case, _points(case)
    found = []
    for U11, u_last in points:
        field = lsa_flow_given_covariances(
            U11, u_last, law.covariances, N, shares=law.shares
        )
        six = summary(*field)
        if isinstance(case, Simulation):
            six[1] = 0  # a norm is not linear: its mean is no gradient
        found += [*six, 0.0, 0.0]
    return np.array(found)


def _points(law: Law) -> list[tuple[Array, Array]]:
    """The start of a flow, a quarter and half of its steps to rest."""
    found = trajectory(law)
    steps = len(found.u_last) - 1
    at = (0, steps // 4, steps // 2)
    return [(jnp.asarray(found.U11[k]), jnp.asarray(found.u_last[k])) for k in at]


def _weights(law: Law) -> Array:
    d = law.dimension
    return jnp.asarray(np.random.default_rng(d).standard_normal((d, d)) / 2)


def _simulated(law: Law, key) -> Measured:
    """Descent directions of half the model's squared error, averaged over prompts."""
    d, N = law.dimension, law.context_length
    for_law, for_inputs, for_weights = jax.random.split(key, 3)
    which = jax.random.choice(for_law, len(law.shares), (DRAWS,), p=law.shares)
    roots = jnp.linalg.cholesky(law.covariances)[which]
    white = jax.random.normal(for_inputs, (DRAWS, N + 1, d))
    inputs = jnp.einsum("pij,pnj->pni", roots, white)
    weights = jax.random.normal(for_weights, (DRAWS, d))
    slopes = _slopes(_weights(law), inputs, weights)
    values = [
        [*summary(-U11, -u), np.sum(-u12), np.sum(-u21)]
        for U11, u, u12, u21 in zip(*map(np.asarray, slopes), strict=True)
    ]
    found = np.array(values)
    found[:, 1] = 0  # a norm is not linear: it has no mean here
    return sample_mean(found, "prompts")


@jax.jit
def _slopes(U11: Array, inputs: Array, weights: Array) -> tuple[Array, ...]:
    """Gradients in U₁₁, u₋₁, u₁₂ and u₂₁ for every prompt; the last input asks."""
    d = len(U11)

    def slope(inputs: Array, weight: Array) -> tuple[Array, ...]:
        labels = inputs @ weight
        prompt = Prompt(inputs[:-1], labels[:-1], inputs[-1], labels[-1])

        def loss(model: LinearSelfAttention) -> Array:
            return (model(prompt) - prompt.target) ** 2 / 2

        of = jax.grad(loss)(LinearSelfAttention.from_blocks(U11, 1.0))
        A, P = of.key_query, of.value_projection
        return A[:d, :d], P[d, d], P[d, :d], A[d, :d]

    return jax.vmap(slope)(inputs, weights)
