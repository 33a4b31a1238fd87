"""Training with finite steps: on an exact loss, or on sampled prompts."""

from collections.abc import Callable
from typing import Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from iclab.core import AbstractPredictor, positive_integer, require
from iclab.tasks import AbstractTask
from iclab.training._progress import progress

ParametersT = TypeVar("ParametersT", bound=PyTree)
PredictorT = TypeVar("PredictorT", bound=AbstractPredictor)

# Steps in one compiled call. Between calls the progress bar moves and a loss that is
# not a number is noticed.
_CHUNK = 256


class TrainingResult(eqx.Module, Generic[ParametersT]):
    """What training ended with, and the loss before every step."""

    final: ParametersT
    losses: Float[Array, " steps"]


def descend(
    loss: Callable[[ParametersT], Float[Array, ""]],
    start: ParametersT,
    *,
    steps: int,
    optimiser: optax.GradientTransformation,
    show_progress: bool | None = None,
) -> TrainingResult[ParametersT]:
    """Minimise `loss` from `start` with an optax optimiser; `optax.sgd` is plain GD.

    A loss that becomes NaN or infinite stops with the step at which it did.
    `show_progress` defaults to whether standard error is a terminal.
    """
    return _train(
        lambda parameters, step: loss(parameters),
        start,
        steps=steps,
        optimiser=optimiser,
        owner="descend",
        show_progress=show_progress,
    )


def fit(
    predictor: PredictorT,
    task: AbstractTask,
    *,
    examples: int,
    batch: int,
    steps: int,
    optimiser: optax.GradientTransformation,
    key: PRNGKeyArray,
    show_progress: bool | None = None,
) -> TrainingResult[PredictorT]:
    """Train a predictor on prompts of `examples` examples, `batch` fresh ones a step.

    The loss is the mean squared error on the query. Step t draws its prompts from
    `fold_in(key, t)` on the device.
    """
    positive_integer(examples, "fit", "examples")
    positive_integer(batch, "fit", "batch")
    # A mismatch of dimensions is found here, before anything is compiled.
    jax.eval_shape(lambda: predictor(task.sample(key, examples)))

    def loss(predictor: PredictorT, step: Array) -> Float[Array, ""]:
        prompts = task.sample_batch(jax.random.fold_in(key, step), batch, examples)
        return jnp.mean((jax.vmap(predictor)(prompts) - prompts.target) ** 2)

    return _train(
        loss,
        predictor,
        steps=steps,
        optimiser=optimiser,
        owner="fit",
        show_progress=show_progress,
    )


def _train(
    loss: Callable[[ParametersT, Array], Float[Array, ""]],
    start: ParametersT,
    *,
    steps: int,
    optimiser: optax.GradientTransformation,
    owner: str,
    show_progress: bool | None,
) -> TrainingResult[ParametersT]:
    positive_integer(steps, owner, "steps")

    # One compiled shape serves every chunk: steps past the end are not taken.
    @eqx.filter_jit
    def chunk(parameters, state, first):
        def one(carry, step):
            parameters, state = carry
            value, gradient = eqx.filter_value_and_grad(loss)(parameters, step)
            updates, new_state = optimiser.update(gradient, state, parameters)
            moved = eqx.apply_updates(parameters, updates)
            keep = step < steps
            carry = jax.tree.map(
                lambda new, old: (
                    jnp.where(keep, new, old) if eqx.is_array(new) else old
                ),
                (moved, new_state),
                (parameters, state),
            )
            return carry, value

        indices = first + jnp.arange(min(_CHUNK, steps))
        return jax.lax.scan(one, (parameters, state), indices)

    dynamic, static = eqx.partition(start, eqx.is_inexact_array)
    loss_of = loss
    loss = lambda arrays, step: loss_of(eqx.combine(arrays, static), step)  # noqa: E731
    trained = bool(jax.tree.leaves(dynamic))
    rule = "a pytree with arrays of numbers to train"
    require(trained, owner, "start", rule, "none")
    state = optimiser.init(dynamic)
    losses = []
    with progress(owner, steps, show_progress) as advance:
        for first in range(0, steps, _CHUNK):
            (dynamic, state), values = chunk(dynamic, state, first)
            values = values[: steps - first]
            finite = jnp.isfinite(values)
            bad = first + int(jnp.argmin(finite))
            require(
                bool(jnp.all(finite)),
                owner,
                "loss",
                "finite (try a smaller learning rate)",
                f"{float(values[bad - first])} at step {bad}",
            )
            losses.append(values)
            advance(len(values), f"loss {float(values[-1]):.4g}")
    return TrainingResult(eqx.combine(dynamic, static), jnp.concatenate(losses))
