"""Errors by context length, with bootstrap intervals, on prompts that all see."""

from collections.abc import Callable, Mapping, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from iclab.core import AbstractPredictor, Prompt, positive_integer, require
from iclab.tasks import AbstractTask

# Prompts at a time: what a CPU's caches hold, and what other devices want.
_ON_CPU, _ELSEWHERE = 16, 256


class ErrorCurve(eqx.Module):
    """Mean squared error at every context length, with an interval around it."""

    lengths: Int[Array, " m"]
    mean: Float[Array, " m"]
    lower: Float[Array, " m"]
    upper: Float[Array, " m"]


def error_curve(
    predictors: Mapping[str, AbstractPredictor],
    task: AbstractTask | Callable[[PRNGKeyArray], AbstractTask],
    lengths: Sequence[int],
    *,
    groups: int = 64,
    prompts: int = 64,
    normalisation: float = 1.0,
    level: float = 0.9,
    draws: int = 1000,
    key: PRNGKeyArray,
) -> dict[str, ErrorCurve]:
    """Error of every predictor on common prompts, as the context grows.

    There are `groups` × `prompts` prompts. A `task` that is a function of a key draws
    one task a group, say a covariance, for the group's prompts to share. The query and
    the examples of a prompt are the same at every length; a model that can sees all
    lengths in one pass (`at_lengths`).

    Errors are divided by `normalisation`. Intervals hold `level` of `draws` bootstrap
    draws; prompts of one group are not independent, so whole groups are drawn.

    Source: zhang2023, Appendix E, 64 covariances × 64 prompts, 90 % of 1,000 draws.
    """
    owner = "error_curve"
    counts = [positive_integer(length, owner, "lengths") for length in lengths]
    require(bool(counts), owner, "lengths", "at least one length", "none")
    for name, value in (("groups", groups), ("prompts", prompts), ("draws", draws)):
        positive_integer(value, owner, name)
    require(0 < level < 1, owner, "level", "between 0 and 1", level)
    known = 0 < normalisation < np.inf
    require(known, owner, "normalisation", "> 0 and finite", normalisation)
    for_prompts, for_draws = jax.random.split(key)
    wanted, total = jnp.array(counts), groups * prompts
    if isinstance(task, AbstractTask):
        batch = _sample(task, for_prompts, total, max(counts))
        units = total
    else:
        batch = _sample_groups(task, for_prompts, groups, prompts, max(counts))
        units = groups
    weights = _bootstrap_weights(for_draws, units, draws)
    tails = [(1 - level) / 2, (1 + level) / 2]
    curves = {}
    for name, predictor in predictors.items():
        errors = np.asarray(squared_errors(predictor, batch, wanted)) / normalisation
        finite, rule = np.all(np.isfinite(errors)), "finite on every prompt"
        require(bool(finite), owner, "predictors", rule, f"others from {name!r}")
        means = errors.reshape(units, total // units, len(counts)).mean(axis=1)
        lower, upper = np.quantile(weights @ means, tails, axis=0)
        numbers = map(jnp.asarray, (means.mean(axis=0), lower, upper))
        curves[name] = ErrorCurve(wanted, *numbers)
    return curves


def squared_errors(
    predictor: AbstractPredictor, prompts: Prompt, lengths: Int[Array, " m"]
) -> Float[Array, "prompts m"]:
    """Squared error on the query of every prompt after its first `lengths` examples."""
    total = len(prompts.target)
    size = min(_ON_CPU if jax.default_backend() == "cpu" else _ELSEWHERE, total)
    # Whole chunks have one shape; what fills the last one up is thrown away.
    chunks = -(-total // size)
    order = jnp.arange(chunks * size) % total
    split = jax.tree.map(
        lambda leaf: leaf[order].reshape(chunks, size, *leaf.shape[1:]), prompts
    )
    found = _chunked_errors(predictor, split, lengths)
    return found.reshape(chunks * size, len(lengths))[:total]


@eqx.filter_jit
def _chunked_errors(
    predictor: AbstractPredictor, prompts: Prompt, lengths: Int[Array, " m"]
) -> Float[Array, "chunks size m"]:
    def one(prompt: Prompt) -> Float[Array, " m"]:
        return (predictor.at_lengths(prompt, lengths) - prompt.target) ** 2

    return jax.lax.map(jax.vmap(one), prompts)


@eqx.filter_jit
def _sample(
    task: AbstractTask, key: PRNGKeyArray, prompts: int, examples: int
) -> Prompt:
    return task.sample_batch(key, prompts, examples)


@eqx.filter_jit
def _sample_groups(
    task: Callable[[PRNGKeyArray], AbstractTask],
    key: PRNGKeyArray,
    groups: int,
    prompts: int,
    examples: int,
) -> Prompt:
    """Prompts of all groups, one after the other along the leading axis."""

    def group(own: PRNGKeyArray) -> Prompt:
        for_task, for_prompts = jax.random.split(own)
        return task(for_task).sample_batch(for_prompts, prompts, examples)

    # One group at a time: a dot with two batch axes is more than XLA for CPUs likes.
    found = jax.lax.map(group, jax.random.split(key, groups))
    return jax.tree.map(
        lambda leaf: leaf.reshape(groups * prompts, *leaf.shape[2:]), found
    )


def _bootstrap_weights(
    key: PRNGKeyArray, units: int, draws: int
) -> Float[np.ndarray, "draws units"]:
    """How often each unit is in each bootstrap draw, divided by their number."""
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    return rng.multinomial(units, np.full(units, 1 / units), size=draws) / units
