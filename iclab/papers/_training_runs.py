"""What figures of trained weights share: keys, losses in blocks, multiples of I."""

from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from iclab.evidence import setting


@dataclass(frozen=True)
class Steps:
    """How a figure's training takes its steps.

    Settings of a figure inherit these, give their own values to some, and hand them to
    `training.Optimiser.of`.
    """

    method: Literal["adam", "adamw", "sgd"] = setting("Method of training.", "adam")
    learning_rate: float = setting("Learning rate after the warm-up.", 0.02)
    schedule: Literal["constant", "linear", "cosine", "halving"] = setting(
        "How the rate falls.", "cosine"
    )
    halve_every: int | None = setting("Steps until the rate is half.", None)
    warmup: int = setting("Steps until the learning rate is reached.", 0, least=0)
    betas: tuple[float, ...] = setting("Betas of Adam.", (0.9, 0.999))
    weight_decay: float = setting("Weight decay of AdamW.", 0.0, least=0)
    clip: float | None = setting("Bound on the norm of the gradient.", None)
    clip_by: Literal["whole", "matrix"] = setting(
        "What the bound is for: all of the gradient, or every matrix.", "whole"
    )
    redraw_every: int = setting("Steps that see the same prompts.", 1)


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
