"""What figures of trained weights share: keys, losses in blocks, multiples of I."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def quick_key(key: Any) -> Any:
    """The same seed for XLA's own generator, whose programs compile much faster."""
    data = np.asarray(jax.random.key_data(key)).ravel()
    return jax.random.wrap_key_data(jnp.asarray(np.tile(data, 4)[:4]), impl="rbg")


def blocks(losses: Any, every: int) -> np.ndarray:
    """Mean over every `every` steps: single batches are too noisy to draw.

    Steps that do not fill the last block are left out.
    """
    whole = losses.shape[-1] // every * every
    shape = (*losses.shape[:-1], whole // every, every)
    return np.asarray(losses)[..., :whole].reshape(shape).mean(-1)


def mean_diagonal(matrices: np.ndarray) -> np.ndarray:
    """tr M/d: the α of the multiple of I that is nearest to M, over the last axes."""
    return np.asarray(np.trace(matrices, axis1=-2, axis2=-1) / matrices.shape[-1])


def to_multiples(matrices: np.ndarray) -> np.ndarray:
    """Dist(M, I) = min_α ‖M − αI‖_F/‖M‖_F, over the last two axes."""
    multiples = mean_diagonal(matrices)[..., None, None] * np.eye(matrices.shape[-1])
    sizes = np.linalg.norm(matrices, axis=(-2, -1))
    return np.asarray(np.linalg.norm(matrices - multiples, axis=(-2, -1)) / sizes)


def shared_key(key: Any, seed: int) -> Any:
    """A key that units of a figure share, for a seed; that of seed 0 is itself."""
    return key if seed == 0 else jax.random.fold_in(key, seed)
