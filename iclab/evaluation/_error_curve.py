"""Errors by context length, with bootstrap intervals, on prompts that all see."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from iclab import show
from iclab.core import (
    AbstractPredictor,
    Lengths,
    Mixture,
    Positive,
    Prompt,
    Rule,
    Share,
    Size,
    checked,
    context_lengths,
    enough_memory,
    read,
    refuse,
    require,
)
from iclab.evaluation._bootstrap import (
    Band,
    Bootstrap,
    warn_of_tails,
    where_carried,
)
from iclab.evaluation._mixture import (
    chosen,
    require_gaussian,
    stretched_prompts,
    weights,
)
from iclab.tasks import AbstractTask

# Prompts at a time: what a CPU's caches hold, and what other devices want.
_ON_CPU, _ELSEWHERE = 16, 256

Numbers = Array | np.ndarray
Task = AbstractTask | Callable[[PRNGKeyArray], AbstractTask]

_Probability = Annotated[float, Rule("between 0 and 1", lambda p: 0 <= p <= 1)]
_Tail = Annotated[float, Rule("at least 0 and below 1/2", lambda p: 0 <= p < 0.5)]


@checked(finite=False)
class ErrorCurve(eqx.Module):
    """Mean squared error at every context length, with an interval around it.

    Where one prompt carries the mean it is unknown, NaN: `median`, `quantile` and
    `trimmed_mean` say what the others do, with intervals from the same draws. `errors`
    are those of all prompts, which count with their `weights` if they come from a
    mixture.
    """

    lengths: Int[Array, " m"]
    mean: Float[Array, " m"]
    lower: Float[Array, " m"]
    upper: Float[Array, " m"]
    errors: Float[Array, "prompts m"]
    bootstrap: Bootstrap = eqx.field(static=True)
    weights: Float[Array, "prompts m"] | None = None

    def __check_init__(self):
        units, draws, level = self.bootstrap[1:]
        known = 0 < level < 1 and draws >= 1 and units >= 1
        rule = "draws of whole units, as `error_curve` makes them"
        fits = known and len(self.errors) % units == 0
        require(fits, "bootstrap", rule, self.bootstrap)

    def median(self) -> Band:
        """The error that half of the prompts do not exceed."""
        return self.quantile(0.5)

    @checked(finite=False)
    def quantile(self, probability: _Probability) -> Band:
        """The error that this part of the prompts does not exceed."""
        return self._between(probability, probability)

    @checked(finite=False)
    def trimmed_mean(self, fraction: _Tail = 0.1) -> Band:
        """Mean without the largest and the smallest errors, this part of all each."""
        return self._between(fraction, 1 - fraction)

    def _between(self, low: float, high: float) -> Band:
        weights = None if self.weights is None else np.asarray(self.weights)
        return self.bootstrap.between(np.asarray(self.errors), low, high, weights)

    def _repr_html_(self) -> str:
        return Curves(error=self)._repr_html_()


@checked(finite=False)
class Curves(dict[str, ErrorCurve]):
    """Error curves by name: a dictionary that notebooks show as table and picture."""

    def __init__(
        self, curves: Mapping[str, ErrorCurve] | None = None, /, **named: ErrorCurve
    ):
        read(named, Mapping[str, ErrorCurve], "curves")
        super().__init__({} if curves is None else curves, **named)

    def _repr_html_(self) -> str:
        if not self:
            return "<p>no curves</p>"
        first = next(iter(self.values()))
        means = [
            [
                show.with_interval(c.mean[j], c.lower[j], c.upper[j])
                for c in self.values()
            ]
            for j in range(len(first.lengths))
        ]
        rows = [[int(n), *row] for n, row in zip(first.lengths, means, strict=True)]
        level = show.share(first.bootstrap.level)
        head = ("examples", *(f"{name} [{level}]" for name in self))
        drawn = {
            name: (curve.mean, curve.lower, curve.upper) for name, curve in self.items()
        }
        positive = all(np.min(np.asarray(c.lower)) > 0 for c in self.values())
        labels = ("examples", "mean squared error")
        picture = show.curves(first.lengths, drawn, labels=labels, log=positive)
        return show.table(head, rows) + picture


@checked(finite=False)
def error_curve(
    predictors: Mapping[str, AbstractPredictor],
    task: Task,
    lengths: Sequence[int],
    *,
    groups: Size = 64,
    prompts: Size = 64,
    normalisation: Positive = 1.0,
    level: Share = 0.9,
    draws: Size = 1000,
    key: PRNGKeyArray,
    mixture: Mixture | bool | None = None,
) -> Curves:
    """Error of every predictor on common prompts, as the context grows.

    There are `groups` × `prompts` prompts. A `task` that is a function of a key draws
    one task a group, say a covariance, for the group's prompts to share. The query and
    the examples of a prompt are the same at every length; a model that can sees all
    lengths in one pass (`at_lengths`).

    Errors are divided by `normalisation`. Intervals hold `level` of `draws` bootstrap
    draws; prompts of one group are not independent, so whole groups are drawn. Where
    one of many prompts makes a twentieth of a mean (of fewer than 2,000, what a hundred
    average ones make), it is unknown: NaN, with a `HeavyTails` warning. Then
    `mixture=True` may help with Gaussian inputs: it draws prompts with large
    eigenvalues often, with a scale chosen by a pilot run, and weighs them; a
    `core.Mixture` names scales. No mixture helps where there is no mean, as for least
    squares with as many examples as dimensions: its median is known. `mixture=False`
    gives plain means whatever carries them.

    `common_prompts` and `error_curve_of` are its halves, for models that predict
    elsewhere.

    ```python
    curves = error_curve({"ridge": Ridge(0.1)}, task, [2, 5, 10], groups=8, key=key)
    curves["ridge"].mean, curves["ridge"].lower, curves["ridge"].upper
    ```

    Source: zhang2023, Appendix E, 64 covariances × 64 prompts, 90 % of 1,000 draws.
    """
    every = list(predictors.values())
    shared = shared_prompts(task, lengths, groups, prompts, key, mixture, every)
    answers = {
        name: predictions(predictor, shared.batch, lengths)
        for name, predictor in predictors.items()
    }
    bootstrap = Bootstrap.of(shared.key, shared.units, draws, level)
    how = (lengths, normalisation, bootstrap, shared.weights, mixture is False)
    return _curves(answers, shared.batch.target, *how)


@checked(finite=False)
def error_curve_of(
    predictions: Mapping[str, Float[Numbers, "prompts m"]],
    targets: Float[Numbers, " prompts"],
    lengths: Sequence[int],
    *,
    groups: Size | None = None,
    normalisation: Positive = 1.0,
    level: Share = 0.9,
    draws: Size = 1000,
    key: PRNGKeyArray,
) -> Curves:
    """Error curves of predictions that were made elsewhere, say in PyTorch.

    Column j of every array of `predictions` was made from the first `lengths[j]`
    examples of prompts whose queries have the labels `targets`: those of
    `common_prompts`, or any. Where prompts come in groups that share something, they
    stand group after group and `groups` is the number of groups. All else is as in
    `error_curve`, which uses `key` for the prompts too.
    """
    answers = np.asarray(targets, dtype=float)
    total = len(answers)
    units = total if groups is None else groups
    rule = f"a divisor of the number of prompts, {total}"
    require(total % units == 0, "groups", rule, units)
    shape = (total, len(context_lengths(lengths)))
    for name, found in predictions.items():
        rule, wrong = f"arrays of shape {shape}", f"shape {found.shape} for {name!r}"
        require(found.shape == shape, "predictions", rule, wrong)
    bootstrap = Bootstrap.of(key, units, draws, level)
    how = (lengths, normalisation, bootstrap, None, False)
    return _curves(predictions, answers, *how)


@checked(finite=False)
def common_prompts(
    task: Task,
    examples: Size,
    *,
    groups: Size = 64,
    prompts: Size = 64,
    key: PRNGKeyArray,
) -> Prompt:
    """`groups` × `prompts` prompts with a leading axis, group after group.

    A `task` that is a function of a key draws one task a group.
    """
    total, n = groups * prompts, examples
    if isinstance(task, AbstractTask):
        return _sample(task, key, total, n)
    enough_memory(total * n, "groups", "groups × prompts × examples")
    return _sample_groups(task, key, groups, prompts, n)


@checked(finite=False)
def predictions(
    predictor: AbstractPredictor, prompts: Prompt, lengths: Lengths
) -> Float[Array, "prompts m"]:
    """What is predicted for every prompt after its first `lengths` examples."""
    found = f"`target` of shape {prompts.target.shape}"
    rule = "many, along a first axis (`jax.vmap`, or a task's `sample_batch`)"
    require(prompts.target.ndim == 1, "prompts", rule, found)
    most = _ON_CPU if jax.default_backend() == "cpu" else _ELSEWHERE
    size = min(most, len(prompts.target))
    return _chunked(predictor, prompts, context_lengths(lengths), size)


@checked(finite=False)
def squared_errors(
    predictor: AbstractPredictor, prompts: Prompt, lengths: Lengths
) -> Float[Array, "prompts m"]:
    """Squared error on the query of every prompt after its first `lengths` examples."""
    return (predictions(predictor, prompts, lengths) - prompts.target[:, None]) ** 2


class Shared(NamedTuple):
    """Common prompts and their weights, a key for the bootstrap, and its units."""

    batch: Prompt
    weights: Float[Array, "prompts m"] | None
    key: PRNGKeyArray
    units: int


def shared_prompts(
    task: Task,
    lengths: Sequence[int],
    groups: int,
    prompts: int,
    key: PRNGKeyArray,
    mixture: Mixture | bool | None,
    predictors: Sequence[AbstractPredictor],
) -> Shared:
    """The prompts that `predictors` see, plain or from a mixture."""
    longest = read(context_lengths(lengths).max(), Size, "lengths")
    for_prompts, for_draws = jax.random.split(key)
    if mixture is None or mixture is False:
        batch = common_prompts(
            task, longest, groups=groups, prompts=prompts, key=for_prompts
        )
        units = groups * prompts if isinstance(task, AbstractTask) else groups
        return Shared(batch, None, for_draws, units)
    if not isinstance(task, AbstractTask):
        refuse("`task` must be a task for a mixture, not a function that draws tasks")
    require_gaussian(task)
    if mixture is True:

        def errors(batch: Prompt) -> Float[Array, "prompts m"]:
            found = [squared_errors(one, batch, lengths) for one in predictors]
            return jnp.max(jnp.stack(found), axis=0)

        mixture = chosen(errors, task, lengths, jax.random.fold_in(key, 2))
    total = groups * prompts
    batch, white = stretched_prompts(task, mixture, for_prompts, total, longest)
    return Shared(batch, weights(mixture, white, tuple(lengths)), for_draws, total)


def _curves(
    predictions: Mapping[str, Float[Numbers, "prompts m"]],
    targets: Float[Numbers, " prompts"],
    lengths: Sequence[int],
    normalisation: Positive,
    bootstrap: Bootstrap,
    weights: Float[Array, "prompts m"] | None,
    plain: bool,
) -> Curves:
    labels = np.asarray(targets)
    curves = Curves()
    how = (labels, lengths, normalisation, bootstrap, weights, plain)
    for name, found in predictions.items():
        errors = (np.asarray(found) - labels[:, None]) ** 2
        curves[name] = curve_of(name, errors, *how)
    return curves


def curve_of(
    name: str,
    errors: Float[np.ndarray, "prompts m"],
    labels: Float[np.ndarray, " prompts"],
    lengths: Sequence[int],
    normalisation: Positive,
    bootstrap: Bootstrap,
    weights: Float[Array, "prompts m"] | None,
    plain: bool,
) -> ErrorCurve:
    """Means of `errors` with intervals, NaN where one prompt carries them.

    Not if they are to be `plain` means.
    """
    errors = errors / normalisation
    finite, rule = np.all(np.isfinite(errors)), "finite on every prompt"
    require(bool(finite), "predictors", rule, f"others from {name!r}")
    values = errors if weights is None else errors * np.asarray(weights)
    band = bootstrap.mean(values)
    # Errors that are rounding errors may have what tails they like.
    rounding = np.finfo(float).eps * np.mean(labels**2) / normalisation
    carried = where_carried(values, float(rounding)) & (not plain)
    if np.any(carried):
        places = [
            f"after {length} examples"
            for length, one in zip(lengths, carried, strict=True)
            if one
        ]
        warn_of_tails(name, places, len(values))
    mean, lower, upper = (
        jnp.where(carried, jnp.nan, one) for one in (band.value, band.lower, band.upper)
    )
    every, at = jnp.asarray(errors), jnp.asarray(np.asarray(lengths))
    return ErrorCurve(at, mean, lower, upper, every, bootstrap, weights)


@eqx.filter_jit
def _chunked(
    predictor: AbstractPredictor, prompts: Prompt, lengths: Int[Array, " m"], size: int
) -> Float[Array, "prompts m"]:
    """Predictions for `size` prompts at a time."""
    total = len(prompts.target)
    # Whole chunks have one shape; what fills the last one up is thrown away.
    chunks = -(-total // size)
    order = np.arange(chunks * size) % total
    split = jax.tree.map(
        lambda leaf: leaf[order].reshape(chunks, size, *leaf.shape[1:]), prompts
    )
    one = lambda prompt: predictor.at_lengths(prompt, lengths)  # noqa: E731
    found = jax.lax.map(jax.vmap(one), split)
    return found.reshape(chunks * size, len(lengths))[:total]


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
        one = task(for_task)
        rule, found = "a function that returns tasks", type(one).__name__
        require(isinstance(one, AbstractTask), "task", rule, found)
        return one.sample_batch(for_prompts, prompts, examples)

    # One group at a time: a dot with two batch axes is more than XLA for CPUs likes.
    found = jax.lax.map(group, jax.random.split(key, groups))
    return jax.tree.map(
        lambda leaf: leaf.reshape(groups * prompts, *leaf.shape[2:]), found
    )
