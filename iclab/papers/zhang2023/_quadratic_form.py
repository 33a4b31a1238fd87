"""The prediction as a quadratic form in the weights, and prompts to try it on."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import jax
import numpy as np

from iclab.core import Prompt
from iclab.evidence import Scale
from iclab.models import LinearSelfAttention


@dataclass(frozen=True)
class Shape:
    """A dimension d and a number N of examples."""

    dimension: int
    count: int


class Batch(NamedTuple):
    """Prompts as plain arrays: inputs (·, N, d), labels (·, N), queries (·, d)."""

    examples: np.ndarray
    labels: np.ndarray
    query: np.ndarray


def shapes(scale: Scale) -> Mapping[str, Shape]:
    """Fewer examples than dimensions (where that is possible), as many, more."""
    dimensions = {"smoke": (3,), "desk": (3, 5), "paper": (1, 2, 3, 5, 8)}[scale]
    found = {}
    for d in dimensions:
        counts = (d - 1, 3 * d) if scale == "smoke" else (d - 1, d, 3 * d)
        for N in counts[d == 1 :]:
            found[f"d={d}, N={N}"] = Shape(d, N)
    return MappingProxyType(found)


def prompts(shape: Shape, number: int) -> Batch:
    """Prompts with linear labels, the same at every call."""
    d, N = shape.dimension, shape.count
    random = np.random.default_rng([d, N])
    X = random.standard_normal((number, N + 1, d)) * np.sqrt(1.0 + np.arange(d))
    y = np.einsum("nij,nj->ni", X, random.standard_normal((number, d)))
    return Batch(X[:, :-1], y[:, :-1], X[:, -1])


@jax.jit
def token_space_predictions(model: LinearSelfAttention, batch: Batch) -> jax.Array:
    """The forward pass (3.3) as written, attention matrix and all."""
    return jax.vmap(lambda x, y, q: model.in_token_space(Prompt(x, y, q)))(*batch)


@jax.jit
def gram_space_predictions(model: LinearSelfAttention, batch: Batch) -> jax.Array:
    """The same prediction through the second moments of the prompt, (3.6)."""
    return jax.vmap(lambda x, y, q: model(Prompt(x, y, q)))(*batch)


def largest_token(batch: Batch) -> float:
    """Largest entry of the prompts."""
    return max(float(np.max(np.abs(part))) for part in batch)


def embedding(batch: Batch) -> np.ndarray:
    """E of (3.4) for every prompt: one column an example, the query last."""
    top = np.concatenate([batch.examples, batch.query[:, None]], axis=1)
    bottom = np.append(batch.labels, np.zeros((len(top), 1)), axis=1)
    return np.concatenate([top, bottom[:, :, None]], axis=2).swapaxes(1, 2)


def query_matrix(batch: Batch) -> np.ndarray:
    """X of (5.1) for every prompt: the query in the last row and column, else zero."""
    number, d = batch.query.shape
    X = np.zeros((number, d + 1, d + 1))
    X[:, :d, d] = X[:, d, :d] = batch.query
    return X


def quadratic_matrix(batch: Batch) -> np.ndarray:
    """H = ½ X ⊗ (EEᵀ/N) of (5.1) for every prompt."""
    E, X = embedding(batch), query_matrix(batch)
    second = E @ E.swapaxes(1, 2) / batch.labels.shape[1]
    return np.stack([np.kron(a, b) / 2 for a, b in zip(X, second, strict=True)])
