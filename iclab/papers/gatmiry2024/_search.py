"""The lowest point of a looped model's population loss over matrices A and all u."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from iclab.models import LoopedTransformer
from iclab.papers.gatmiry2024._every_prompt import (
    every_sample,
    squared_errors,
    tasks_and_queries,
)

_MOST_STEPS = 100
# Steps after the search has come to rest, which only rounding makes.
_RESTING = 5


class Minimum(NamedTuple):
    """Where a search ended, in whitened weights, and how far rounding moves it.

    B = RᵀAR and v = Rᵀu with Σ⋆ = RRᵀ: a multiple of I where A is one of Σ⋆⁻¹.
    """

    B: np.ndarray
    v: np.ndarray
    loss: float
    jitter: float


def lowest(
    covariance: np.ndarray, samples: int, loops: int, *, symmetric: bool
) -> Minimum:
    """Newton's method from a random point, over symmetric A or over all of them.

    The Hessian comes from differences of the gradient, and its eigenvalues lose their
    signs, so that steps go down; they are halved until they do.
    """
    d = len(covariance)
    rule = every_sample(covariance, samples, 2 * loops)
    tasks, queries = tasks_and_queries(covariance)
    free = _directions(d, symmetric)
    # The loss bends on the scale of the noise in S.
    width = 0.01 / np.sqrt(samples)

    def evaluate(point: np.ndarray) -> tuple[float, np.ndarray]:
        loss, slope = _loss_and_slope(point @ free, *rule, tasks, queries, loops=loops)
        return float(loss), free @ np.asarray(slope)

    def newton_step(point: np.ndarray) -> np.ndarray:
        units = width * np.eye(len(point))
        rises = [evaluate(point + one)[1] - evaluate(point - one)[1] for one in units]
        hessian = np.array(rises) / (2 * width)
        curvatures, basis = np.linalg.eigh((hessian + hessian.T) / 2)
        return -basis @ (basis.T @ evaluate(point)[1] / np.abs(curvatures))

    point = np.random.default_rng([d, loops]).standard_normal(len(free))
    loss = evaluate(point)[0]
    for _ in range(_MOST_STEPS):
        step = newton_step(point)
        while evaluate(point + step)[0] > loss and np.any(point + step != point):
            step = step / 2
        point, before = point + step, loss
        loss = evaluate(point)[0]
        if loss > before * (1 - 1e-10):
            break
    steps = [newton_step(point)]
    for _ in range(_RESTING):
        point = point + steps[-1]
        steps.append(newton_step(point))
    weights = point @ free
    jitter = max(float(np.linalg.norm(step)) for step in steps)
    B, v = weights[: d * d].reshape(d, d), weights[d * d :]
    return Minimum(B, v, evaluate(point)[0], jitter)


def _directions(d: int, symmetric: bool) -> np.ndarray:
    """Orthonormal directions, as rows, in the entries of B and then of v."""
    entries = np.eye(d * d).reshape(d, d, d, d)
    if symmetric:
        rows, columns = np.triu_indices(d)
        halves = entries[rows, columns]
        entries = halves + halves.swapaxes(1, 2)
        entries /= np.linalg.norm(entries, axis=(1, 2), keepdims=True)
    of_B = entries.reshape(-1, d * d)
    empty = np.zeros((len(of_B), d)), np.zeros((d, d * d))
    return np.block([[of_B, empty[0]], [empty[1], np.eye(d)]])


@functools.partial(jax.jit, static_argnames="loops")
@functools.partial(jax.value_and_grad, argnums=0)
def _loss_and_slope(
    weights: Array,
    factors: Array,
    chances: Array,
    tasks: Array,
    queries: Array,
    *,
    loops: int,
) -> Array:
    d = len(queries)
    B, v = weights[: d * d].reshape(d, d), weights[d * d :]
    whitener = jnp.linalg.inv(queries)  # the queries are the rows of Rᵀ
    model = LoopedTransformer(whitener @ B @ whitener.T, whitener @ v, loops=loops)
    errors = squared_errors(model.unrolled(), factors, tasks, queries)
    return chances @ errors
