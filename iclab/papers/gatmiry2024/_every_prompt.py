"""Looped models on every prompt of a Gaussian law at once: averages without sampling.

By Bartlett's decomposition S = RRᵀ with R = Σ⋆^{½}T/√n, where T is lower triangular,
T_ii² ~ χ²_{n−i+1} and T_ij normal below. What is odd in a T_ij averages out, and with
it what is odd in a T_ii, since S does not see the sign of a column. So a grid of Gauss
rules in T_ii² and T_ij integrates polynomials in S exactly. A prompt of d examples, the
columns of √d R, has the second moment S, and besides w and x_q a model sees no more.
"""

import functools
import itertools
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from iclab.core import Prompt
from iclab.evidence import Measured
from iclab.models import LoopedTransformer, UntiedTransformer

# Products and sums behind a layer's part of a prediction, and some for the rule.
_OPERATIONS = 40


class Rule(NamedTuple):
    """Factors R with S = RRᵀ, and the probability of each."""

    factors: np.ndarray
    weights: np.ndarray

    @property
    def S(self) -> np.ndarray:
        """The sample covariances."""
        return self.factors @ self.factors.swapaxes(1, 2)

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Mean of what has been computed for every S."""
        return np.tensordot(self.weights, values, 1)


def every_sample(covariance: np.ndarray, samples: int, degree: int) -> Rule:
    """Sample covariances whose means are exact for polynomials up to `degree`."""
    d = len(covariance)
    T, weights = _triangles(d, samples, degree)
    root = np.linalg.cholesky(covariance)
    return Rule(root @ T / np.sqrt(samples), weights)


def population_loss(
    model: UntiedTransformer, covariance: np.ndarray, samples: int
) -> Measured:
    """Mean squared error on the query, by forward passes."""
    layers, _ = model.u.shape
    rule = every_sample(covariance, samples, 2 * layers)
    losses = losses_given(model, rule, covariance)
    return Measured(rule.mean(losses.value), rule.mean(losses.error), losses.reason)


def losses_given(
    model: UntiedTransformer, rule: Rule, covariance: np.ndarray
) -> Measured:
    """Squared error for each S of the rule, averaged over w and the query exactly."""
    layers, d = model.u.shape
    values = squared_errors(model, rule.factors, *tasks_and_queries(covariance))
    unit = _OPERATIONS * d * layers * np.finfo(float).eps
    reason = (
        f"float64 round-off of {layers} layers; {len(values):,} S integrate exactly"
    )
    error = unit * _sizes(model, rule, covariance)
    return Measured(np.asarray(values), error, reason)


def looped_losses(
    A: np.ndarray, covariance: np.ndarray, samples: int, loops: int
) -> Measured:
    """Population losses with u = 0 of many matrices A, in one pass."""
    d = len(covariance)
    rule = every_sample(covariance, samples, 2 * loops)
    flat = A.reshape(-1, d, d)
    places = tasks_and_queries(covariance)
    values = np.asarray(_looped_losses(flat, *rule, *places, loops=loops))
    growth = 1 + np.outer(_norms(rule.S), _norms(flat))
    size = d * np.linalg.cond(covariance) * rule.mean(growth ** (2 * loops))
    error = _OPERATIONS * d * loops * np.finfo(float).eps * size
    shape = A.shape[:-2]
    count = len(rule.weights)
    reason = f"float64 round-off of {loops} layers; {count:,} S integrate exactly"
    return Measured(values.reshape(shape), error.reshape(shape), reason)


def tasks_and_queries(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All w and x_q that an average needs: the error is affine in w, linear in x_q.

    ±√d times the columns of Σ⋆^{−½} have the moments of w, and the columns of Σ⋆^{½}
    add up to those of x_q.
    """
    root = np.linalg.cholesky(covariance)
    half = np.sqrt(len(root)) * np.linalg.inv(root)
    return np.concatenate([half, -half]), root.T


@eqx.filter_jit
def squared_errors(
    model: UntiedTransformer,
    factors: Array | np.ndarray,
    tasks: Array | np.ndarray,
    queries: Array | np.ndarray,
) -> Array:
    """For each S = RRᵀ, the mean over tasks of the sum over queries."""
    d = len(queries)
    nodes, pairs = len(factors), len(tasks) * d

    def squared_error(R, w, query):
        examples = jnp.sqrt(d) * R.T
        prompt = Prompt(examples, examples @ w, query, w @ query)
        return (model(prompt) - prompt.target) ** 2

    # One batch axis: every S with every task and every query.
    R = jnp.repeat(factors, pairs, axis=0)
    w = jnp.tile(jnp.repeat(tasks, d, axis=0), (nodes, 1))
    x = jnp.tile(queries, (nodes * len(tasks), 1))
    squares = jax.vmap(squared_error)(R, w, x)
    return jnp.sum(squares.reshape(nodes, pairs), axis=1) / len(tasks)


@functools.partial(jax.jit, static_argnames="loops")
def _looped_losses(
    A: Array,
    factors: Array,
    chances: Array,
    tasks: Array,
    queries: Array,
    *,
    loops: int,
) -> Array:
    def loss(A):
        model = LoopedTransformer(A, loops=loops).unrolled()
        return chances @ squared_errors(model, factors, tasks, queries)

    return jax.lax.map(loss, A)


def _sizes(model: UntiedTransformer, rule: Rule, covariance: np.ndarray) -> np.ndarray:
    """Squares of the numbers that cancel within a prediction, for every S."""
    A, u = np.asarray(model.A), np.asarray(model.u)
    growth = np.prod(1 + np.outer(_norms(rule.S), _norms(A)), axis=1)
    shift = 1 + np.sum(u**2) * np.trace(covariance)
    return len(covariance) * np.linalg.cond(covariance) * shift * growth**2


def _norms(matrices: np.ndarray) -> np.ndarray:
    return np.linalg.norm(matrices, axis=(1, 2))


@functools.lru_cache(maxsize=64)
def _triangles(d: int, n: int, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """All T of the grid, and their weights."""
    squares = [_gamma_rule((n - i) / 2, degree // 2 + 1) for i in range(d)]
    below = [_normal_rule(degree + 1)] * (d * (d - 1) // 2)
    axes = [(np.sqrt(2 * t), w) for t, w in squares] + below
    values = np.array(list(itertools.product(*(nodes for nodes, _ in axes))))
    weights = np.array(list(itertools.product(*(weights for _, weights in axes))))
    T = np.zeros((len(values), d, d))
    T[:, range(d), range(d)] = values[:, :d]
    rows, columns = np.tril_indices(d, -1)
    T[:, rows, columns] = values[:, d:]
    return T, np.prod(weights, axis=1)


def _gamma_rule(shape: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss rule of the law with density t^{shape−1}e^{−t}/Γ(shape)."""
    j = np.arange(count)
    return _gauss(2 * j + shape, np.sqrt(j[1:] * (j[1:] + shape - 1)))


def _normal_rule(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss rule of the standard normal law."""
    return _gauss(np.zeros(count), np.sqrt(np.arange(1, count)))


def _gauss(middle: np.ndarray, beside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights from a recurrence's coefficients (Golub and Welsch)."""
    nodes, vectors = np.linalg.eigh(
        np.diag(middle) + np.diag(beside, 1) + np.diag(beside, -1)
    )
    return nodes, vectors[0] ** 2
