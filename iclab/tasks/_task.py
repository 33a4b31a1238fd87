"""What a task is: a distribution over prompts."""

import abc
from typing import Annotated, Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from iclab.core import (
    Own,
    Prompt,
    Size,
    checked,
    enough_memory,
    finite_array,
    refuse,
)

# Every source of randomness has a stream of its own, so that changing one (more noise,
# another query) leaves the others' draws as they were.
_LATENT, _INPUTS, _NOISE, _QUERY, _QUERY_NOISE = range(5)


def _as_drawn(task: "AbstractTask", value: Any) -> Any:
    """`value` if it is made of arrays of the same shapes as a draw of `task`."""
    like, tree = jax.tree.flatten(jax.eval_shape(task.latent, jax.random.key(0)))
    parts = [jnp.asarray(one) for one in tree.flatten_up_to(value)]
    for part, one in zip(parts, like, strict=True):
        if part.shape != one.shape or jnp.issubdtype(part.dtype, jnp.complexfloating):
            raise ValueError(f"not of shape {one.shape}")
        finite_array(part, "latent")
    return tree.unflatten(parts)


# Inputs by row, their labels or the noise on them, and one input.
Inputs = Float[Array, "count d"]
Labels = Float[Array, " count"]
Input = Float[Array, " d"]

# What a method gets that another one, `latent`, has drawn.
Latent = Annotated[Any, Own("what the task's own `latent(key)` draws", _as_drawn)]


@checked(finite=False)
class AbstractTask(eqx.Module):
    """A distribution over prompts, in the pieces that shifts replace one by one.

    A prompt is drawn in three steps: what the prompt shares (`latent`: weights, perhaps
    a covariance), then the inputs, then their labels. Everything is unbatched;
    `sample_batch` maps it over keys.
    """

    dimension: eqx.AbstractVar[int]

    @abc.abstractmethod
    def latent(self, key: PRNGKeyArray) -> Any:
        """Draw what all examples of a prompt share."""

    @abc.abstractmethod
    def inputs(self, latent: Latent, count: Size, key: PRNGKeyArray) -> Inputs:
        """Draw `count` inputs."""

    @abc.abstractmethod
    def labels(self, latent: Latent, inputs: Inputs) -> Labels:
        """Noiseless labels of inputs."""

    @abc.abstractmethod
    def noise(self, latent: Latent, count: Size, key: PRNGKeyArray) -> Labels:
        """Draw the noise on the labels of `count` examples."""

    def input_root(self, latent: Latent) -> Float[Array, "d d"] | None:
        """R where inputs are Rz with z ~ N(0, I); None where they are not Gaussian.

        A task that has it draws z from `key` as `jax.random.normal(key, (count, d))`.
        """
        return None

    def heavy_law(self) -> str | None:
        """Name of a law without a second moment, if there is one: no risk exists."""
        return None

    def query(self, latent: Latent, examples: Inputs, key: PRNGKeyArray) -> Input:
        """Draw the query; by default from the law of the inputs."""
        return self.inputs(latent, 1, key)[0]

    def target_noise(
        self, latent: Latent, key: PRNGKeyArray
    ) -> Float[Array, ""] | float:
        """Noise on the query's label; by default the target is noiseless."""
        return 0.0

    def sample(self, key: PRNGKeyArray, examples: Size) -> Prompt:
        """Draw one prompt with `examples` examples."""
        latent = self.latent(jax.random.fold_in(key, _LATENT))
        X = self.inputs(latent, examples, jax.random.fold_in(key, _INPUTS))
        return self._prompt(latent, X, key)

    def sample_stretched(
        self, key: PRNGKeyArray, examples: Size, stretch: Float[Array, "d d"]
    ) -> tuple[Prompt, Float[Array, "n d"]]:
        """A prompt with inputs RTz in place of Rz, T = `stretch`; and all Tz.

        Everything else is drawn as in `sample`, from the same key. What a mean over
        such prompts says of the task's own law, `core.Mixture` knows. Only for tasks
        with Gaussian inputs.
        """
        latent = self.latent(jax.random.fold_in(key, _LATENT))
        root = self.input_root(latent)
        if root is None:
            refuse(f"inputs must be Gaussian, those of {type(self).__name__} are not")
        shape = (examples, self.dimension)
        white = jax.random.normal(jax.random.fold_in(key, _INPUTS), shape) @ stretch.T
        return self._prompt(latent, white @ root.T, key), white

    def _prompt(self, latent: Any, X: Array, key: PRNGKeyArray) -> Prompt:
        """The prompt of these inputs."""
        stream = lambda index: jax.random.fold_in(key, index)  # noqa: E731
        y = self.labels(latent, X) + self.noise(latent, len(X), stream(_NOISE))
        x_q = self.query(latent, X, stream(_QUERY))
        target = self.labels(latent, x_q[None])[0]
        target = target + self.target_noise(latent, stream(_QUERY_NOISE))
        return Prompt(X, y, x_q, target)

    def sample_batch(self, key: PRNGKeyArray, prompts: Size, examples: Size) -> Prompt:
        """Draw `prompts` prompts; every field gets a leading axis."""
        product = "prompts × examples × dimension"
        enough_memory(prompts * examples * self.dimension, "prompts", product)
        keys = jax.random.split(key, prompts)
        return jax.vmap(lambda one: self.sample(one, examples))(keys)
