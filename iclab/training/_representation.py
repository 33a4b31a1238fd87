"""Training over representations: on the exact loss, and on sampled tasks."""

import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from iclab.core import finite_number, positive_integer, require
from iclab.models import Encoder, MultiHeadSoftmax
from iclab.tasks import Representation
from iclab.theory import (
    representation_gap,
    representation_infimum,
    representation_optimum,
)
from iclab.training._descent import TrainingResult, descend, fit_fixed

# Streams of the key of `train_sampled`.
_SAMPLES, _ORDER = range(2)

DictionaryModel = MultiHeadSoftmax | Encoder
Number = float | Float[Array, ""]


def exact_gap(
    task: Representation,
) -> Callable[[MultiHeadSoftmax], Float[Array, ""]]:
    """L(θ) − L* as a function of the model: exact, differentiable, down to 1e-30.

    The task must be noisy (τ > 0) and its λ as in Assumption 1.
    """
    _centred("exact_gap", task)
    N, tau = task.context_length, task.noise_variance
    optimum = representation_optimum(task.features, N, tau)

    def gap(model: MultiHeadSoftmax) -> Float[Array, ""]:
        weights = model.weights(task.tokens, N)
        return representation_gap(weights, optimum, task.features, tau)

    return gap


def exact_loss(
    task: Representation,
) -> Callable[[MultiHeadSoftmax], Float[Array, ""]]:
    """The population loss L(θ) of (9) as a function of the model; see `exact_gap`."""
    gap = exact_gap(task)
    infimum = representation_infimum(
        task.features, task.context_length, task.noise_variance
    )
    return lambda model: gap(model) + infimum


def two_rates(key_query: Number, value: Number) -> optax.GradientTransformation:
    """Gradient descent of a `MultiHeadSoftmax` with rates η_Q and η_w, as in (10).

    After another transformation it scales that one's steps:
    `optax.chain(optax.scale_by_adam(), two_rates(1e-3, 1e-1))`.
    """
    finite_number(key_query, "two_rates", "key_query", at_least=0)
    finite_number(value, "two_rates", "value", at_least=0)

    def scale(updates: PyTree, parameters: PyTree) -> PyTree:
        return eqx.tree_at(
            lambda model: (model.key_query, model.value),
            updates,
            (-key_query * updates.key_query, -value * updates.value),
        )

    return optax.stateless(scale)


def train_exact(
    model: MultiHeadSoftmax,
    task: Representation,
    *,
    steps: int,
    optimiser: optax.GradientTransformation,
    record: Callable[[MultiHeadSoftmax], PyTree] | None = None,
    every: int = 256,
    limit: float = math.inf,
    show_progress: bool | None = None,
) -> TrainingResult[MultiHeadSoftmax]:
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


def batch_loss(
    model: DictionaryModel,
    tokens: Float[Array, "K d"],
    labels: Float[Array, "batch K"],
    context_length: int,
) -> Float[Array, ""]:
    r"""$\frac1{2BK}\sum_{b,k}(\hat y_{b,k}-y_{b,k})^2$: the loss (9) on a batch of
    label vectors, of which the first N = `context_length` labels are shown.
    """
    predict = jax.vmap(lambda shown: model(tokens, shown))
    return jnp.mean((predict(labels[:, :context_length]) - labels) ** 2) / 2


def train_sampled(
    model: DictionaryModel,
    task: Representation,
    *,
    epochs: int,
    optimiser: optax.GradientTransformation,
    key: PRNGKeyArray,
    samples: int = 10_000,
    batch: int = 256,
    record: Callable[[DictionaryModel], PyTree] | None = None,
    every: int = 1,
    limit: float = math.inf,
    show_progress: bool | None = None,
) -> TrainingResult[DictionaryModel]:
    """Train on a fixed set of sampled tasks: 10,000 in batches of 256, as yang2024.

    The labels are drawn once, in the model's precision; the rest as in `fit_fixed`.
    """
    owner = "train_sampled"
    positive_integer(samples, owner, "samples")
    N = task.context_length
    draw = jax.jit(lambda key: task.sample_labels_batch(key, samples))
    labels = draw(jax.random.fold_in(key, _SAMPLES))
    # Shapes that do not belong together are found here, before anything is compiled.
    found = jax.eval_shape(model, task.tokens, labels[0, :N])
    return fit_fixed(
        lambda model, rows: batch_loss(model, task.tokens, rows, N),
        model,
        labels.astype(found.dtype),
        batch=batch,
        epochs=epochs,
        optimiser=optimiser,
        key=jax.random.fold_in(key, _ORDER),
        record=record,
        every=every,
        limit=limit,
        show_progress=show_progress,
    )


def _centred(owner: str, task: Representation) -> None:
    mean, square = task.law.moments()
    rule = "of mean 0 and variance 1 (Assumption 1)"
    found = f"mean {mean:g} and E λ² = {square:g}"
    require((mean, square) == (0.0, 1.0), owner, "law", rule, found)
