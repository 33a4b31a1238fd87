"""Training looped transformers: the exact flow, and many sampled runs at once."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Annotated, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from iclab._reader import Rule
from iclab.core import (
    FEWEST_EFFECTIVE,
    Estimate,
    Mixture,
    Natural,
    NonNegative,
    PositiveFloat,
    Prompt,
    Size,
    checked,
    is_traced,
    read,
    refuse,
    require,
    same_dimension,
)
from iclab.models import UntiedTransformer
from iclab.tasks import AbstractTask, LinearRegression
from iclab.theory import (
    LossOnDraws,
    looped_flow,
    looped_loss,
    looped_loss_on_draws,
    transformer_loss_given,
    weighted_covariances,
)
from iclab.training._core import TrainingRun
from iclab.training._gradient_flow import gradient_flow, integrate_flow
from iclab.training._hooks import Recorder
from iclab.training._in_context import InContext
from iclab.training._plan import AnyOptimiser
from iclab.training._problem import Exact
from iclab.training._trained import Trained


@checked(finite=False)
def looped_gradient_flow(
    start: Float[Array, "d d"],
    *,
    samples: Natural,
    loops: Natural,
    key: PRNGKeyArray | None = None,
    draws: Size = 2_000,
    tolerance: PositiveFloat = 1e-10,
    max_time: PositiveFloat = 1e9,
    max_steps: Size = 2048,
    throw: bool = True,
) -> Trained[Float[Array, "d d"]]:
    r"""Gradient flow Ȧ = −∇L(A, 0) on the loss for inputs of covariance I.

    The loss is exact from a multiple of I with up to 64 loops and from any other matrix
    with up to three. Beyond, it is `looped_loss_on_draws`: give a `key`, from which
    `draws` sample covariances are drawn once. The time that a step takes grows like
    `draws` d⁵ then.

    The loss does not change when A is rotated, so the flow keeps the eigenvectors of a
    symmetric `start`, and only its eigenvalues move. `model` and `records` are
    matrices; the other options are those of `gradient_flow`.

    Source: gatmiry2024, Theorem 3.3.
    Assumes: Σ⋆ = I, w ~ N(0, I), u = 0.
    Differs from the paper: A need not be symmetric.
    """
    A, n, L = np.asarray(start), samples, loops
    d = len(A)
    scalar = np.array_equal(A, np.diag(np.diag(A))) and np.ptp(np.diag(A)) == 0
    options = {
        "tolerance": tolerance,
        "max_time": max_time,
        "max_steps": max_steps,
        "throw": throw,
    }
    if scalar:
        flow = integrate_flow(
            functools.partial(looped_flow, dimension=d, samples=n, loops=L),
            jnp.asarray(A[0, 0]),
            **options,
        )
        matrices = lambda a: jnp.einsum("...,ij->...ij", a, jnp.eye(d))  # noqa: E731
    else:
        prompts = {"covariance": jnp.eye(d), "samples": n, "loops": L}
        if L <= 3:
            loss = functools.partial(looped_loss, **prompts)
        else:
            if key is None:
                rule = "at most 3 unless `start` is a multiple of I or a `key` is given"
                refuse(f"`loops` must be {rule}, got {L}")
            loss = looped_loss_on_draws(**prompts, key=key, draws=draws)
        if not np.allclose(A, A.T, rtol=0, atol=1e-12 * np.max(np.abs(A))):
            return gradient_flow(loss, jnp.asarray(A), **options)
        eigenvalues, V = np.linalg.eigh(A)
        flow = gradient_flow(
            lambda values: loss(jnp.diag(values)), jnp.asarray(eigenvalues), **options
        )
        matrices = lambda v: jnp.einsum("ij,...j,kj->...ik", V, v, V)  # noqa: E731
    found = matrices(flow.model), matrices(flow.records)
    return eqx.tree_at(lambda flow: (flow.model, flow.records), flow, found)


@checked
class Loops(eqx.Module):
    """Looped models of the same size: `loops` layers with weights `A` and `u`.

    Axes in front are those of runs. Weights that have an axis of layers are those of
    `UntiedTransformer`; others are the same in every layer. `most` is how many loops
    there may be.
    """

    A: Float[Array, "*runs d d"]
    u: Float[Array, "*runs d"]
    loops: Int[Array, "*counts"]
    most: Size = eqx.field(static=True)

    def __check_init__(self):
        if not is_traced(self.loops):
            loops = np.asarray(self.loops)
            known = bool(np.all((loops >= 0) & (loops <= self.most)))
            rule = f"integers from 0 to `most` = {self.most}"
            require(known, "loops", rule, self.loops)

    def __call__(self, prompt: Prompt) -> Float[Array, ""]:
        one = self.loops.ndim == 0 and self.A.ndim in (2, 3)
        rule = "of one run, without axes in front (`jax.vmap` takes them off)"
        require(one, "loops", rule, f"shape {self.loops.shape}")
        layers = self.most if self.A.ndim == 2 else len(self.A)
        rule = f"weights of {self.most} layers, as many as there may be"
        require(layers == self.most, "A", rule, f"shape {self.A.shape}")
        same_dimension(self.A.shape[-1], prompt)
        # Weights of zero leave a prompt as it is: layers beyond `loops` do nothing.
        active = (jnp.arange(self.most) < self.loops).astype(float)
        A, u = (self.A, self.u) if self.A.ndim == 3 else (self.A[None], self.u[None])
        return UntiedTransformer(active[:, None, None] * A, active[:, None] * u)(prompt)


@checked(finite=False)
def fit_loops(
    task: AbstractTask,
    *,
    loops: Sequence[int],
    seeds: Size,
    examples: Size,
    batch: Size | None = None,
    steps: Natural,
    optimiser: AnyOptimiser,
    key: PRNGKeyArray,
    start_scale: NonNegative = 0.0,
    every: Natural | None = None,
    tied: bool = True,
    redraw_every: Natural = 1,
    draws: Annotated[Size, Rule("at least 2", lambda n: n >= 2)] | None = None,
    mixture: Mixture | bool = True,
) -> Trained[Loops]:
    """Train a looped model for every number of loops and every seed, in one program.

    A starts with entries N(0, `start_scale`²), u at 0. Seed i draws its start and its
    prompts from `fold_in(key, i)`, the same for every number of loops, so that
    differences between loop counts are not differences between prompts. Each step sees
    `batch` prompts of `examples` examples, others after every `redraw_every` steps; the
    loss is the mean squared error on the query. With `tied=False` every layer has
    weights of its own.

    With `draws` in place of `batch` all steps of all runs see the same weighted sample
    covariances, as many and from this `mixture` (see `theory.weighted_covariances`), w,
    noise and query integrated out. `fresh` of the result is the loss with its error on
    other draws, NaN where too few carry it: training looks better on its own.

    Axes of the model's arrays are loop counts, then seeds; `losses` begins with the
    axis of steps, and `records`, the models every `every` steps, with that of records.
    """
    require(len(loops) > 0, "loops", "at least one number", list(loops))
    loops = [read(count, Natural, "loops") for count in loops]
    divides = every is None or steps % every == 0
    require(divides, "every", f"a divisor of steps = {steps}", every)
    if (batch is None) == (draws is None):
        refuse("give `batch` (fresh prompts) or `draws` (a fixed set), one of them")
    runs, most, d = (len(loops), seeds), max(loops), task.dimension
    layers = () if tied else (most,)
    of_seeds = jax.vmap(lambda seed: jax.random.fold_in(key, seed))(jnp.arange(seeds))
    starts, prompts = jax.vmap(jax.random.split, out_axes=1)(of_seeds)
    drawn = jax.vmap(lambda one: jax.random.normal(one, (*layers, d, d)))(starts)
    model = Loops(
        jnp.broadcast_to(start_scale * drawn, (*runs, *layers, d, d)),
        jnp.zeros((*runs, *layers, d)),
        jnp.broadcast_to(jnp.array(loops)[:, None], runs),
        most,
    )
    problem, fresh = InContext(task, examples + 1, positions="final"), None
    if draws is not None:
        loss, fresh = _on_draws(task, most, examples, draws, mixture, key)
        problem = Exact(loss)
    result = TrainingRun(
        "fit_loops",
        problem,
        model,
        optimiser,
        steps=steps,
        batch=batch or 1,
        redraw_every=redraw_every,
        key=prompts,
        runs=runs,
        hooks=[] if every is None else [Recorder(lambda model: model, every)],
    ).run()
    if fresh is None:
        return result
    judge = lambda model: jax.vmap(jax.vmap(fresh.estimate))(model)  # noqa: E731
    found = eqx.filter_jit(judge)(result.model)
    known = jnp.asarray(found.effective) >= FEWEST_EFFECTIVE
    mean, error = (jnp.where(known, one, jnp.nan) for one in found)
    share, effective = found.largest_share, found.effective
    judged = Estimate(mean, error, found.draws, effective, share)
    return dataclasses.replace(result, fresh=judged)


def _on_draws(
    task: AbstractTask,
    loops: int,
    examples: int,
    draws: int,
    mixture: Mixture | bool,
    key: PRNGKeyArray,
) -> list[LossOnDraws]:
    """The loss to train on, and another one to judge by."""
    rule = "a LinearRegression with random weights of mean 0 to draw covariances"
    if not isinstance(task, LinearRegression) or np.any(task.weight_mean):
        refuse(f"`task` must be {rule}, got {type(task).__name__}")
    Sigma = task.covariance
    given = eqx.Partial(
        _error_given,
        covariance=Sigma,
        weight_covariance=task.weight_covariance,
        noise_over_samples=task.noise_std**2 / examples,
    )
    # Far from the keys of seeds.
    keys = jax.random.split(jax.random.fold_in(key, 2**32 - 1))
    law = {"degree": 2 * loops, "mixture": mixture}
    sets = [weighted_covariances(one, Sigma, examples, draws, **law) for one in keys]
    return [LossOnDraws(drawn, given) for drawn in sets]


def _error_given(
    S: Float[Array, "d d"], model: Loops, **prompts: Any
) -> Float[Array, ""]:
    """Loss on prompts with this S. At u = 0, where it starts, u has no gradient."""
    active = (jnp.arange(model.most) < model.loops)[:, None, None]
    return transformer_loss_given(S, jnp.where(active, -model.A, 0), None, **prompts)
