"""Minima of the one-layer loss over all of (b, A), from random starts."""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from iclab.papers.ahn2023._single_layer import Moments
from iclab.training import minimise

STARTS = 16


class Ends(NamedTuple):
    """Where the searches of one problem ended: b[i] A[j, k] of each, and its loss."""

    products: np.ndarray
    losses: np.ndarray


def search(problems: Sequence[Moments]) -> list[Ends]:
    """L-BFGS from `STARTS` starts on each problem, all in one compiled call.

    Problems of fewer inputs get further inputs that are always zero.
    """
    widest = max(len(problem.covariance) for problem in problems)
    padded = [_padded(problem, widest) for problem in problems]
    stacked = Moments(*map(np.stack, zip(*padded, strict=True)))
    random = np.random.default_rng([widest, STARTS])
    shape = (len(problems), STARTS, widest + 1)
    starts = random.standard_normal(shape), random.standard_normal((*shape, widest))
    b, A = map(np.asarray, _descend(starts, stacked))
    found = []
    for i, problem in enumerate(problems):
        d = len(problem.covariance)
        kept = [*range(d), widest]
        products = np.einsum("si,sjk->sijk", b[i][:, kept], A[i][:, kept, :d])
        found.append(Ends(products, np.array([problem.loss(X) for X in products])))
    return found


def families(products: np.ndarray) -> int:
    """How many different b⊗A there are: weights up to b → γb, A → A/γ."""
    kept: list[np.ndarray] = []
    for product in products:
        size = np.linalg.norm(product)
        if all(np.linalg.norm(product - other) > size / 100 for other in kept):
            kept.append(product)
    return len(kept)


def _padded(problem: Moments, widest: int) -> Moments:
    """The same problem with `widest` inputs; z keeps its label in the last place."""
    missing = widest - len(problem.covariance)
    d = len(problem.covariance)

    def spread(tensor: np.ndarray, tokens: int) -> np.ndarray:
        for axis in range(tokens):
            tensor = np.insert(tensor, [d] * missing, 0.0, axis=axis)
        inputs = [(0, 0)] * tokens + [(0, missing)] * (tensor.ndim - tokens)
        return np.pad(tensor, inputs)

    square, linear, covariance = problem
    return Moments(spread(square, 4), spread(linear, 2), spread(covariance, 0))


@jax.jit
def _descend(starts, problems: Moments):
    """Ends (b, A) of the searches; the outer axis is the problem, the inner a start."""

    def one(start, problem: Moments):
        return minimise(functools.partial(_loss, problem), start, max_steps=800).model

    # One after the other: in step with each other they would take longer to compile.
    def each(of_one):
        starts, problem = of_one
        return jax.lax.map(lambda start: one(start, problem), starts)

    return jax.lax.map(each, (starts, problems))


def _loss(problem: Moments, weights):
    """(15) with its expectation carried out: a quartic polynomial in (b, A)."""
    b, A = weights
    square, linear, Sigma = problem
    X = b[:, None, None] * A[None]
    bC = jnp.tensordot(square, X, 2) + 2 * linear
    return jnp.sum(bC * (X @ Sigma)) + jnp.trace(Sigma)
