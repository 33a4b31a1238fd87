"""Predictions of any predictor on many prompts, at several context lengths."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from iclab.core import AbstractPredictor, Foreign, Prompt, require

# Prompts at a time: what a CPU's caches hold, and what other devices want.
_ON_CPU, _ELSEWHERE = 32, 256
# Chunks in a block, the unit of compilation.
_CHUNKS = 8


def predictions(
    predictor: AbstractPredictor, prompts: Prompt, lengths: Sequence[int]
) -> Float[np.ndarray, "prompts m"]:
    """Predictions from the first `lengths[j]` examples of every prompt, float64."""
    if isinstance(predictor, Foreign):
        # Straight to the function, so that its mistakes are shown in its own words.
        columns = [predictor.on_batch(_cut(prompts, n)) for n in lengths]
        found = np.stack(columns, axis=1)
    else:
        found = by_chunks(_at_lengths, predictor, prompts, jnp.asarray(lengths))
    bad = int(np.sum(~np.isfinite(found)))
    name = type(predictor).__name__
    finite = "finite on every prompt"
    require(bad == 0, "predictor", finite, f"{bad} others from {name}")
    return np.asarray(found, float)


def _cut(prompts: Prompt, n: int) -> Prompt:
    """The first n examples, in NumPy: nothing is compiled."""
    X, y = np.asarray(prompts.examples)[:, :n], np.asarray(prompts.labels)[:, :n]
    counts = np.full(len(y), X.shape[1])
    return batch_of(X, y, np.asarray(prompts.query), np.asarray(prompts.target), counts)


def batch_of(*leaves: np.ndarray) -> Prompt:
    """Prompts with a leading axis, from NumPy arrays as they are."""
    one = Prompt(jnp.zeros((1, 1)), jnp.zeros(1), jnp.zeros(1))
    return jax.tree.unflatten(jax.tree.structure(one), leaves)


def by_chunks(program, predictor: AbstractPredictor, prompts: Prompt, *arguments):
    """`program(predictor, prompts, …)` on all prompts, in blocks of one shape.

    However many prompts there are, a program is compiled once; a block is mapped over
    in chunks that a CPU's caches hold.
    """
    total = len(prompts.target)
    size = _ON_CPU if jax.default_backend() == "cpu" else _ELSEWHERE
    block = size * _CHUNKS
    host = jax.tree.map(np.asarray, prompts)
    parts = []
    for start in range(0, total, block):
        # The last block is filled up with prompts whose answers are thrown away.
        order = np.arange(start, start + block) % total
        split = jax.tree.map(
            lambda leaf, order=order: leaf[order].reshape(
                _CHUNKS, size, *leaf.shape[1:]
            ),
            host,
        )
        found = np.asarray(program(predictor, split, *arguments))
        parts.append(found.reshape(block, *found.shape[2:]))
    return np.concatenate(parts)[:total]


def shortened(prompts: Prompt, length: int) -> Prompt:
    """The prompts with their first `length` examples and no others."""
    parts = (prompts.examples[:, :length], prompts.labels[:, :length])
    return jax.vmap(Prompt)(*parts, prompts.query, prompts.target)


@eqx.filter_jit
def _at_lengths(
    predictor: AbstractPredictor, prompts: Prompt, lengths: Int[Array, " m"]
) -> Float[Array, "chunks size m"]:
    one = lambda prompt: predictor.at_lengths(prompt, lengths)  # noqa: E731
    return jax.lax.map(jax.vmap(one), prompts)
