"""Errors of predictors on prompts that they all see."""

import warnings
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from iclab.core import (
    AbstractPredictor,
    Estimate,
    HeavyTails,
    Mixture,
    Natural,
    Prompt,
    Size,
    Sums,
    between,
    checked,
    largest_share,
    require,
)
from iclab.evaluation._mixture import (
    chosen,
    is_gaussian,
    require_gaussian,
    stretched_prompts,
    weights,
)
from iclab.tasks import AbstractTask

# Prompts in memory at a time, and numbers in an array: attention makes n² of a prompt.
_CHUNK = 1 << 14
_AT_ONCE = 1 << 27

# One says nothing about its own spread; more would take days.
_Prompts = Annotated[Natural, between(2, 10**10)]


@checked(finite=False)
def sampled_risk(
    predictors: Mapping[str, AbstractPredictor],
    task: AbstractTask,
    *,
    examples: Size,
    prompts: _Prompts,
    key: PRNGKeyArray,
    mixture: Mixture | bool | None = None,
) -> dict[str, Estimate]:
    """Mean squared error and its standard error of every predictor, on common prompts.

    `prompts` prompts of `examples` examples each; rounded up to whole chunks. With many
    layers a few prompts may carry a mean: what is done then, `prompt_average` says, and
    what `mixture` is.

    ```python
    risks = sampled_risk(
        {"ridge": Ridge(0.1), "zero": Zero()}, task, examples=10, prompts=1000, key=key
    )
    mean, standard_error = risks["ridge"]
    ```
    """
    heavy = task.heavy_law()
    rule = "of laws with a second moment (medians of `error_curve` need none)"
    require(heavy is None, "task", rule, heavy)
    named = dict(predictors)
    found = _average(
        _squared_errors,
        task,
        (named,),
        examples,
        prompts,
        key,
        mixture,
        # Errors that are rounding errors may have what tails they like.
        floor=lambda mean: np.finfo(float).eps * float(mean[1]),
    )
    return {name: found.part(lambda tree, name=name: tree[0][name]) for name in named}


@checked(finite=False)
def prompt_average(
    statistic: Callable[..., PyTree[Array]],
    task: AbstractTask,
    *arguments: PyTree,
    examples: Size,
    prompts: _Prompts,
    key: PRNGKeyArray,
    mixture: Mixture | bool | None = None,
) -> Estimate:
    """Average `statistic(prompt, *arguments)` over `prompts` prompts of `task`.

    A function defined once, with what varies among its `arguments`, is compiled once.

    Prompts come from the task. Where one of many carries over a twentieth of a mean,
    that is no estimate, and all is made again from a `core.Mixture` with a
    scale chosen by a pilot run; if that is not enough either, or if inputs are not
    Gaussian, the mean is NaN, and a `HeavyTails` warning says so. `mixture=True` begins
    with the mixture, a `Mixture` is taken as it is, and `False` gives the plain mean
    whatever carries it.
    """
    drawn = jax.eval_shape(lambda: task.sample(key, examples))
    try:
        jax.eval_shape(lambda prompt: statistic(prompt, *arguments), drawn)
    except TypeError as error:
        rule = "`statistic` must be a function of a prompt that returns arrays"
        raise TypeError(f"prompt_average: {rule}: {error}") from error

    return _average(statistic, task, arguments, examples, prompts, key, mixture)


def _average(
    statistic: Callable[..., PyTree[Array]],
    task: AbstractTask,
    arguments: tuple[PyTree, ...],
    examples: int,
    prompts: int,
    key: PRNGKeyArray,
    mixture: Mixture | bool | None,
    floor: Callable[[PyTree[Array]], float] = lambda mean: 0.0,
) -> Estimate:
    """What `prompt_average` promises; means of at most `floor` count as zero."""

    def average(law: Mixture | None) -> tuple[Estimate, dict[str, float]]:
        laws = 1 if law is None else law.laws
        size = -(-min(_CHUNK, prompts) // laws) * laws
        chunks = -(-prompts // size)
        sizes = {"examples": examples, "size": size, "chunks": chunks}
        sums = _sums(statistic, task, arguments, law, key, **sizes)
        found = sums.estimate(chunks * size)
        return found, _carried(found, floor(found.mean))

    if mixture is None or mixture is False:
        found, carried = average(None)
        if mixture is False or not carried:
            return found
        if not is_gaussian(task):
            return _unknown(found, carried, "inputs are not Gaussian: no mixture helps")
    require_gaussian(task)
    if not isinstance(mixture, Mixture):

        def values(batch: Prompt) -> Float[Array, "prompts leaves"]:
            leaves = jax.tree.leaves(_values(statistic, batch, arguments))
            flat = [leaf.reshape(len(leaf), -1) for leaf in leaves]
            return jnp.concatenate(flat, axis=1)

        mixture = chosen(values, task, [examples], jax.random.fold_in(key, 2**31))
    found, carried = average(mixture)
    if carried:
        return _unknown(found, carried, "a mixture did not help: draw more prompts")
    return found


def _carried(found: Estimate, floor: float) -> dict[str, float]:
    """Largest shares of means that one draw carries, by their places in the tree."""
    shares, _ = jax.tree.flatten_with_path(found.largest_share)
    errors = jax.tree.leaves(found.standard_error)
    return {
        jax.tree_util.keystr(path[-1:]).strip("[]"): float(np.max(share))
        for (path, share), error in zip(shares, errors, strict=True)
        if np.max(share) > largest_share(found.draws) and np.max(error) > floor
    }


def _unknown(found: Estimate, carried: dict[str, float], reason: str) -> Estimate:
    """The estimate without the means that one draw carries, and a warning."""
    names = ", ".join(f"of {name}" for name in carried if name)
    warnings.warn(
        f"the mean {names} is unknown: one of {found.draws:,} prompts makes"
        f" {max(carried.values()):.0%} of it, and {reason}; medians and quantiles"
        " (`error_curve`) are known",
        HeavyTails,
        stacklevel=4,
    )

    def known(value: Array, share: Array) -> Array:
        return jnp.where(share > largest_share(found.draws), jnp.nan, value)

    mean = jax.tree.map(known, found.mean, found.largest_share)
    error = jax.tree.map(known, found.standard_error, found.largest_share)
    return Estimate(mean, error, found.draws, found.effective, found.largest_share)


def _squared_errors(
    prompt: Prompt, predictors: dict[str, AbstractPredictor]
) -> tuple[dict[str, Float[Array, ""]], Float[Array, ""]]:
    """Squared errors, and the squared target to compare them with."""
    errors = {
        name: (predictor(prompt) - prompt.target) ** 2
        for name, predictor in predictors.items()
    }
    return errors, prompt.target**2


@eqx.filter_jit
def _values(
    statistic: Callable[..., PyTree[Array]], batch: Prompt, arguments: PyTree
) -> PyTree[Array]:
    def one(prompt: Prompt) -> PyTree[Array]:
        return statistic(prompt, *arguments)

    first = jax.tree.map(lambda leaf: leaf[0], batch)
    part = max(1, _AT_ONCE // _largest(jax.make_jaxpr(one)(first).jaxpr))
    if part >= len(batch.target):
        return jax.vmap(one)(batch)
    return jax.lax.map(one, batch, batch_size=part)


def _largest(program: Any) -> int:
    """Numbers in the largest array that a program makes on its way."""
    sizes = [1]
    for step in program.eqns:
        sizes += [getattr(one.aval, "size", 1) for one in step.outvars]
        for inner in jax.tree.leaves(
            list(step.params.values()), is_leaf=lambda one: hasattr(one, "eqns")
        ):
            inner = getattr(inner, "jaxpr", inner)
            sizes += [_largest(inner)] if hasattr(inner, "eqns") else []
    return max(sizes)


@eqx.filter_jit
def _sums(
    statistic: Callable[..., PyTree[Array]],
    task: AbstractTask,
    arguments: tuple[PyTree, ...],
    mixture: Mixture | None,
    key: PRNGKeyArray,
    *,
    examples: int,
    size: int,
    chunks: int,
) -> Sums:
    """Sums of the statistic over all prompts, one chunk in memory at a time."""

    def chunk(index: Array) -> Sums:
        own = jax.random.fold_in(key, index)
        if mixture is None:
            batch = task.sample_batch(own, size, examples)
            return Sums.of(_values(statistic, batch, arguments))
        batch, white = stretched_prompts(task, mixture, own, size, examples)
        weight = weights(mixture, white, (examples,))[:, 0]

        def weighted(leaf: Array) -> Array:
            return leaf * weight.reshape(-1, *[1] * (leaf.ndim - 1))

        values = _values(statistic, batch, arguments)
        return Sums.of(jax.tree.map(weighted, values), mixture.laws)

    shapes = jax.eval_shape(chunk, jnp.asarray(0))
    zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    sums, _ = jax.lax.scan(
        lambda sums, index: (sums + chunk(index), None), zeros, jnp.arange(chunks)
    )
    return sums
