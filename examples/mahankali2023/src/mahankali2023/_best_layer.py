"""The best layer of linear self-attention, found by training on random prompts.

Nothing here knows what the best layer is. A layer's prediction is linear in the last
row of its value matrix and linear in the columns of its key-query matrix that meet the
query, so the model itself, asked with one of each at a time, gives numbers of which
every layer's prediction is a sum, and its mean squared error on a sample of prompts is
a polynomial of its weights. That is searched by L-BFGS from many random starts.

What a layer computes is read off its weights: a sum of the products (1/n)Σ yᵢxᵢ · x_q,
(1/n)Σ xᵢxᵢ · x_q and (1/n)Σ yᵢ² · x_q, whose coefficients a step of gradient descent
fixes.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from iclab.evidence import STANDARD_ERRORS, Measured
from iclab.models import LinearSelfAttention
from iclab.tasks import AbstractTask
from iclab.training import minimise

PROMPTS = {"smoke": 20_000, "desk": 100_000, "paper": 400_000}
_CHUNK, _STARTS = 20_000, 16


class Layer(NamedTuple):
    """The weights that count: a row of the values, columns of keys and queries."""

    row: Any  # d+1
    columns: Any  # (d+1)×d


def best_layer(task: AbstractTask, examples: int, key: Any, scale: Any) -> Measured:
    """Coefficients of the best layer on prompts of `task`, with standard errors."""
    prompts = PROMPTS[scale]
    chunks = [
        _products(task, jax.random.fold_in(key, index), examples)
        for index in range(prompts // _CHUNK)
    ]
    products, targets = (np.concatenate(parts) for parts in zip(*chunks, strict=True))
    loss = (
        products.T @ products / prompts,
        products.T @ targets / prompts,
        np.mean(targets**2),
    )
    layer = _search(jax.random.fold_in(key, prompts), task.dimension, *loss)
    value, error = map(np.asarray, _coefficients_and_errors(layer, products, targets))
    reason = (
        f"{STANDARD_ERRORS:g} standard errors of the minimiser over {prompts:,} prompts"
        " (sandwich formula)"
    )
    return Measured(value, STANDARD_ERRORS * error, reason)


def step_coefficients(step: Any) -> np.ndarray:
    """What `coefficients` are for ŷ = x_qᵀ `step` (1/n)Σ yᵢxᵢ and nothing else."""
    step = np.asarray(step)
    d = len(step)
    return np.concatenate([step.T.ravel(), np.zeros(d * d * d + d)])


def coefficients(layer: Layer) -> Any:
    """Coefficients of yx · x_q (d×d), of xx · x_q (d×d×d, symmetric), of y² · x_q."""
    u, W = layer
    d = len(u) - 1
    labelled = u[d] * W[:d] + u[:d, None] * W[None, d]
    products = u[:d, None, None] * W[None, :d, :]
    squares = (products + products.swapaxes(0, 1)) / 2
    return jnp.concatenate([labelled.ravel(), squares.ravel(), u[d] * W[d]])


@eqx.filter_jit
def _products(task: AbstractTask, key: Any, examples: int) -> Any:
    """Predictions of layers with a single weight of each kind, and the targets."""
    d = task.dimension
    batch = task.sample_batch(key, _CHUNK, examples)

    def one(j: Any, k: Any, l: Any) -> Any:
        empty = jnp.zeros((d + 1, d + 1))
        layer = LinearSelfAttention(empty.at[k, l].set(1.0), empty.at[-1, j].set(1.0))
        return jax.vmap(layer)(batch)

    j, k, l = jnp.indices((d + 1, d + 1, d)).reshape(3, -1)
    return jax.vmap(one)(j, k, l).T, batch.target


@eqx.filter_jit
def _search(key: Any, d: int, second: Any, first: Any, power: Any) -> Layer:
    """The weights of least mean squared error, of all that the starts lead to."""

    def loss(layer: Layer) -> Any:
        t = _weights(layer)
        return power - 2 * first @ t + t @ second @ t

    rows, columns = (
        0.5 * jax.random.normal(one, (_STARTS, *shape))
        for one, shape in zip(
            jax.random.split(key), ((d + 1,), (d + 1, d)), strict=True
        )
    )
    found = jax.vmap(
        lambda start: minimise(loss, start, tolerance=1e-10, max_steps=2_000).model
    )(Layer(rows, columns))
    best = jnp.argmin(jax.vmap(loss)(found))
    return jax.tree.map(lambda leaf: leaf[best], found)


@eqx.filter_jit
def _coefficients_and_errors(layer: Layer, products: Any, targets: Any) -> Any:
    """The coefficients, and their standard errors as those of an M-estimator.

    The minimiser moves by −H⁺g with the mean gradient g of the prompts' losses. The
    pseudo-inverse leaves out what changes no prediction: a factor moved from the row to
    the columns.
    """
    theta, unravel = ravel_pytree(layer)
    products, targets = jnp.asarray(products), jnp.asarray(targets)

    def loss(theta: Any) -> Any:
        return jnp.mean((products @ _weights(unravel(theta)) - targets) ** 2)

    turn = jax.jacobian(lambda t: _weights(unravel(t)))(theta)
    residuals = products @ _weights(layer) - targets
    gradients = 2 * residuals[:, None] * (products @ turn)
    J = jax.jacobian(lambda t: coefficients(unravel(t)))(theta)
    inverse = jnp.linalg.pinv(jax.hessian(loss)(theta), rtol=1e-8, hermitian=True)
    influence = gradients @ inverse @ J.T
    error = jnp.std(influence, axis=0) / jnp.sqrt(len(targets))
    left = jnp.abs(jnp.mean(influence, axis=0))  # what the search has left to go
    return coefficients(layer), error + left


def _weights(layer: Layer) -> Any:
    """Weights of the products, in their order."""
    return (layer.row[:, None, None] * layer.columns[None]).ravel()
