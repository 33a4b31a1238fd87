"""Errors of predictors on prompts that they all see."""

from collections.abc import Callable, Mapping
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from iclab import show
from iclab.core import AbstractPredictor, Natural, Prompt, Size, between, checked
from iclab.evaluation._bootstrap import warn_of_tails
from iclab.tasks import AbstractTask

# Prompts in memory at a time.
_CHUNK = 1 << 14

# One says nothing about its own spread; more would take days.
_Prompts = Annotated[Natural, between(2, 10**10)]


class Estimate(eqx.Module):
    """A Monte Carlo mean and its standard error, leaf by leaf."""

    mean: PyTree[Array]
    standard_error: PyTree[Array]
    draws: int = eqx.field(static=True)

    def _repr_html_(self) -> str:
        places, _ = jax.tree.flatten_with_path(self.mean)
        errors = jax.tree.leaves(self.standard_error)
        rows = [
            (jax.tree_util.keystr(path) or "mean", mean, error)
            for (path, mean), error in zip(places, errors, strict=True)
        ]
        head = ("", "mean", f"standard error of {self.draws:,} draws")
        return show.table(head, rows)


@checked(finite=False)
def sampled_risk(
    predictors: Mapping[str, AbstractPredictor],
    task: AbstractTask,
    *,
    examples: Size,
    prompts: _Prompts,
    key: PRNGKeyArray,
) -> dict[str, tuple[Float[Array, ""], Float[Array, ""]]]:
    """Mean squared error and its standard error of every predictor, on common prompts.

    `prompts` prompts of `examples` examples each; rounded up to whole chunks. A mean
    that one prompt carries gets a `HeavyTails` warning.

    ```python
    risks = sampled_risk(
        {"ridge": Ridge(0.1), "zero": Zero()}, task, examples=10, prompts=1000, key=key
    )
    mean, standard_error = risks["ridge"]
    ```
    """
    named = dict(predictors)
    estimate = prompt_average(
        _squared_errors, task, named, examples=examples, prompts=prompts, key=key
    )
    (means, power), (errors, _) = estimate.mean, estimate.standard_error
    n = estimate.draws
    for name in named:
        mean, error = float(means[name]), float(errors[name])
        # Errors that are rounding errors may have what tails they like.
        if mean > np.finfo(float).eps * float(power):
            # The mean of the squares over n times the square of the mean.
            concentration = np.array([((error / mean) ** 2 * (n - 1) + 1) / n])
            warn_of_tails(name, concentration, n, [f"after {examples} examples"])
    return {name: (means[name], errors[name]) for name in named}


@checked(finite=False)
def prompt_average(
    statistic: Callable[..., PyTree[Array]],
    task: AbstractTask,
    *arguments: PyTree,
    examples: Size,
    prompts: _Prompts,
    key: PRNGKeyArray,
) -> Estimate:
    """Average `statistic(prompt, *arguments)` over `prompts` prompts of `task`.

    A function defined once, with what varies among its `arguments`, is compiled once.
    """
    prompt = jax.eval_shape(lambda: task.sample(key, examples))
    try:
        jax.eval_shape(lambda prompt: statistic(prompt, *arguments), prompt)
    except TypeError as error:
        rule = "`statistic` must be a function of a prompt that returns arrays"
        raise TypeError(f"prompt_average: {rule}: {error}") from error
    size = min(_CHUNK, prompts)
    chunks = -(-prompts // size)
    mean, square = _averages(
        statistic, task, arguments, key, examples=examples, size=size, chunks=chunks
    )
    draws = chunks * size

    def standard_error(first: Array, second: Array) -> Array:
        return jnp.sqrt(jnp.clip(second - first**2, 0) / (draws - 1))

    error = jax.tree.map(standard_error, mean, square)
    return Estimate(mean, error, draws)


def _squared_errors(
    prompt: Prompt, predictors: dict[str, AbstractPredictor]
) -> tuple[dict[str, Float[Array, ""]], Float[Array, ""]]:
    """Squared errors, and the squared target to hold them against."""
    errors = {
        name: (predictor(prompt) - prompt.target) ** 2
        for name, predictor in predictors.items()
    }
    return errors, prompt.target**2


@eqx.filter_jit
def _averages(
    statistic: Callable[..., PyTree[Array]],
    task: AbstractTask,
    arguments: tuple[PyTree, ...],
    key: PRNGKeyArray,
    *,
    examples: int,
    size: int,
    chunks: int,
) -> tuple[PyTree[Array], PyTree[Array]]:
    """Means of the statistic and of its square, one chunk in memory at a time."""

    def chunk(sums, index):
        batch = task.sample_batch(jax.random.fold_in(key, index), size, examples)
        values = jax.vmap(lambda prompt: statistic(prompt, *arguments))(batch)
        first = jax.tree.map(lambda v: jnp.mean(v, axis=0), values)
        second = jax.tree.map(lambda v: jnp.mean(v**2, axis=0), values)
        return jax.tree.map(jnp.add, sums, (first, second)), None

    shapes = jax.eval_shape(lambda: statistic(task.sample(key, examples), *arguments))
    zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    sums, _ = jax.lax.scan(chunk, (zeros, zeros), jnp.arange(chunks))
    return jax.tree.map(lambda total: total / chunks, sums)
