"""Prompts from a mixture in which rare ones are frequent, and which mixture to take."""

import math
from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from iclab.core import Mixture, Prompt, require
from iclab.tasks import AbstractShift, AbstractTask, Regression

# Powers of S whose scales are tried, and prompts of a pilot run: see `chosen`.
_POWERS, _PILOT = (2, 4, 8, 16, 32, 64), 2048


def is_gaussian(task: AbstractTask) -> bool:
    """Whether a task's inputs are Gaussian, so that a mixture has known weights."""
    latent = jax.eval_shape(task.latent, jax.random.key(0))
    return jax.eval_shape(task.input_root, latent) is not None


def require_gaussian(task: AbstractTask) -> None:
    """Refuse a mixture for inputs of another law."""
    rule = (
        "Gaussian in its inputs for a mixture (LinearRegression, NonlinearRegression, "
        "RandomCovariance, Regression without `inputs` and shifts of these are)"
    )
    named, found = task, type(task).__name__
    while isinstance(named, AbstractShift):
        named = named.task
    if isinstance(named, Regression):
        found = f"{found} with inputs of {named.input_law}"
    require(is_gaussian(task), "task", rule, found)


@eqx.filter_jit
def stretched_prompts(
    task: AbstractTask, mixture: Mixture, key: PRNGKeyArray, prompts: int, examples: int
) -> tuple[Prompt, Float[Array, "prompts n d"]]:
    """Prompts of the mixture, and their inputs before these get their covariance."""
    for_prompts, for_stretches = jax.random.split(key)
    T = mixture.stretches(for_stretches, prompts, task.dimension)
    keys = jax.random.split(for_prompts, prompts)
    return jax.vmap(lambda one, t: task.sample_stretched(one, examples, t))(keys, T)


@eqx.filter_jit
def weights(
    mixture: Mixture, white: Float[Array, "prompts n d"], lengths: tuple[int, ...]
) -> Float[Array, "prompts m"]:
    """Weights of prompts that are cut to these lengths."""
    every = []
    for n in lengths:
        S = jnp.einsum("bni,bnj->bij", white[:, :n], white[:, :n]) / n
        every.append(mixture.weights(S, n))
    return jnp.stack(every, axis=1)


def chosen(
    values: Callable[[Prompt], Float[Array, "prompts m"]],
    task: AbstractTask,
    lengths: Sequence[int],
    key: PRNGKeyArray,
) -> Mixture:
    """The mixture of 1 and one scale under which the means vary least, by a pilot run.

    `values` gives what is averaged, with a column for every length. Scales are those of
    powers p of S, s² = 1 + 2p/n. With weights w of a scale the mean of the values v has
    variance E wv² − (E v)² under the plain law; a mixture of several scales estimates
    that for each.
    """
    n = max(lengths)
    scales = [math.sqrt(1 + 2 * p / n) for p in _POWERS]
    wide = Mixture([1.0, scales[1], scales[3], scales[5]])
    batch, white = stretched_prompts(task, wide, key, _PILOT, n)
    found = np.abs(np.asarray(values(batch)))
    own = np.asarray(weights(wide, white, tuple(lengths)))
    size = np.mean(own * found, axis=0)
    relative = found / np.where(size > 0, size, 1.0)
    spread = []
    for s in scales:
        w = np.asarray(weights(Mixture([1.0, s]), white, tuple(lengths)))
        spread.append(np.max(np.mean(own * w * relative**2, axis=0)))
    return Mixture([1.0, scales[int(np.argmin(spread))]])
