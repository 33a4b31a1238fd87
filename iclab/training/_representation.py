"""Training over representations: on the exact loss, and on sampled tasks."""

import functools
import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from iclab.core import Limit, Natural, NonNegative, checked, require
from iclab.models import Encoder, MultiHeadSoftmax
from iclab.tasks import Representation
from iclab.theory import (
    representation_gap,
    representation_infimum,
    representation_optimum,
)
from iclab.training._curriculum import Curriculum, Stage
from iclab.training._descent import descend
from iclab.training._losses import Loss, squared
from iclab.training._plan import AnyOptimiser
from iclab.training._problem import AbstractProblem
from iclab.training._trained import Trained

DictionaryModel = MultiHeadSoftmax | Encoder

# Numbers that a gradient keeps of the tasks that are computed together.
_KEPT_AT_ONCE = 1 << 26


@checked(finite=False)
def exact_gap(task: Representation) -> Callable[[MultiHeadSoftmax], Float[Array, ""]]:
    """L(θ) − L* as a function of the model: exact, differentiable, down to 1e-30.

    The task must be noisy (τ > 0) and its λ as in Assumption 1.
    """
    mean, square = task.law.moments()
    rule = "one whose `law` has mean 0 and variance 1 (Assumption 1)"
    found = f"mean {mean:g} and E λ² = {square:g}"
    require((mean, square) == (0.0, 1.0), "task", rule, found)
    N, tau = task.context_length, task.noise_variance
    return _Gap(task, representation_optimum(task.features, N, tau))


@checked(finite=False)
def exact_loss(task: Representation) -> Callable[[MultiHeadSoftmax], Float[Array, ""]]:
    """The population loss L(θ) of (9) as a function of the model; see `exact_gap`."""
    gap = exact_gap(task)
    infimum = representation_infimum(
        task.features, task.context_length, task.noise_variance
    )
    return lambda model: gap(model) + infimum


@checked(finite=False)
def two_rates(
    key_query: NonNegative, value: NonNegative
) -> optax.GradientTransformation:
    """Gradient descent of a `MultiHeadSoftmax` with rates η_Q and η_w, as in (10).

    After another transformation it scales that one's steps:
    `optax.chain(optax.scale_by_adam(), two_rates(1e-3, 1e-1))`.
    """

    def scale(updates: PyTree, parameters: PyTree) -> PyTree:
        return eqx.tree_at(
            lambda model: (model.key_query, model.value),
            updates,
            (-key_query * updates.key_query, -value * updates.value),
        )

    return optax.stateless(scale)


@checked(finite=False)
def train_exact(
    model: MultiHeadSoftmax,
    task: Representation,
    *,
    steps: Natural,
    optimiser: AnyOptimiser,
    record: Callable[[MultiHeadSoftmax], PyTree] | None = None,
    every: Natural = 256,
    limit: Limit = math.inf,
    show_progress: bool | None = None,
) -> Trained[MultiHeadSoftmax]:
    """Train on the population loss itself; options as in `descend`."""
    return descend(
        exact_loss(task),
        model,
        steps=steps,
        optimiser=optimiser,
        record=record,
        every=every,
        limit=limit,
        show_progress=show_progress,
    )


@checked(finite=False)
def batch_loss(
    model: DictionaryModel,
    tokens: Float[Array, "K d"],
    labels: Float[Array, "batch K"],
    context_length: int,
    loss: Loss = squared,
) -> Float[Array, ""]:
    r"""$\frac1{2BK}\sum_{b,k}(\hat y_{b,k}-y_{b,k})^2$: the loss (9) on a batch of
    label vectors, of which the first N = `context_length` labels are shown. Another
    `loss` takes the place of the square. Large batches of an `Encoder` are taken in
    parts, one after the other, each with its gradient: their attention would fit
    neither into memory nor into caches. Derivatives are then of reverse mode only.
    """
    K, N = len(tokens), context_length
    rule = f"from 1 to {K}, the number of tokens"
    require(1 <= N <= K, "context_length", rule, N)
    count = _parts(model, len(labels), K)
    mean = functools.partial(_mean_loss, context_length=N, loss=loss)
    if count == 1:
        return mean((model, tokens), labels)
    # Every part has tasks from all over the batch, and so of every device.
    parts = labels.reshape(-1, count, K).swapaxes(0, 1)
    return _mean_of_parts(((model, tokens), parts), mean)


def _mean_loss(
    given: tuple[DictionaryModel, Float[Array, "K d"]],
    labels: Float[Array, "batch K"],
    *,
    context_length: int,
    loss: Loss,
) -> Float[Array, ""]:
    """The loss of tasks that are computed together."""
    model, tokens = given
    predict = jax.vmap(lambda shown: model(tokens, shown))
    return jnp.mean(loss(predict(labels[:, :context_length]), labels)) / 2


@eqx.filter_custom_vjp
def _mean_of_parts(
    arguments: tuple[PyTree, Array], mean: Callable[[PyTree, Array], Array]
) -> Float[Array, ""]:
    """Mean of `mean(shared, part)` over the rows of `parts`, one after the other."""
    shared, parts = arguments
    return jnp.mean(jax.lax.map(lambda part: mean(shared, part), parts))


@_mean_of_parts.def_fwd
def _(perturbed, arguments, mean):
    # The gradient of a part is added up at once: reverse mode would keep what it needs
    # of all parts, or compute each of them twice.
    moving, fixed = eqx.partition(arguments, perturbed)

    def add(total, rows):
        def of_part(moving):
            return mean(*eqx.combine(moving, (fixed[0], rows[1])))

        value, slopes = jax.value_and_grad(of_part)((moving[0], rows[0]))
        return jax.tree.map(jnp.add, total, slopes[0]), (value, slopes[1])

    nothing = jax.tree.map(jnp.zeros_like, moving[0])
    summed, (values, by_row) = jax.lax.scan(add, nothing, (moving[1], fixed[1]))
    return jnp.mean(values), (summed, by_row)


@_mean_of_parts.def_bwd
def _(slopes, slope, perturbed, arguments, mean):
    share = slope / len(arguments[1])
    return jax.tree.map(lambda one: (share * one).astype(one.dtype), slopes)


def _parts(model: DictionaryModel, batch: int, K: int) -> int:
    """The fewest equal parts of a batch of which a gradient keeps little."""
    if not isinstance(model, Encoder):
        return 1
    F, D = model.blocks.network_in.weight.shape[-2:]
    # Of a block: its attention, and for every token the rows between its maps.
    a_task = model.depth * K * (model.heads * K + 8 * D + 2 * F)
    wanted = -(-batch * a_task // _KEPT_AT_ONCE)
    few = range(max(wanted, 1), batch)
    return next((count for count in few if batch % count == 0), max(batch, 1))


@checked
class OverRepresentation(AbstractProblem):
    """`batch_loss` on label vectors of `task`, for `MultiHeadSoftmax` and `Encoder`.

    `FixedSet(OverRepresentation(task), 10_000, key=key)` in batches of 256 is the
    sampled training of yang2024, Section 4.
    """

    task: Representation
    curriculum: Curriculum
    pointwise: Loss

    def __init__(self, task: Representation, *, loss: Loss = squared):
        self.task, self.pointwise = task, loss
        self.curriculum = Curriculum.constant(task.dictionary_size, task.dimension)

    def sample(self, key: PRNGKeyArray, stage: Stage) -> Float[Array, " K"]:
        """Labels of all tokens, in one draw of the task."""
        return self.task.sample_labels(key)

    def loss(
        self, model: DictionaryModel, samples: Float[Array, "batch K"], stage: Stage
    ) -> Float[Array, ""]:
        N, K = self.task.context_length, self.task.dictionary_size
        rule = f"a row of {K} labels a sample, one per token"
        fits = samples.shape[1:] == (K,)
        require(fits, "samples", rule, f"shape {samples.shape}")
        return batch_loss(model, self.task.tokens, samples, N, self.pointwise)


class _Gap(eqx.Module):
    """L − L* as a function of the model. Tasks of one size share compiled programs."""

    task: Representation
    optimum: Float[Array, "N K"]

    def __call__(self, model: MultiHeadSoftmax) -> Float[Array, ""]:
        task = self.task
        weights = model.weights(task.tokens, task.context_length)
        return representation_gap(
            weights, self.optimum, task.features, task.noise_variance
        )
