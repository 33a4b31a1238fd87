"""Training looped transformers: the exact flow, and many sampled runs at once."""

import functools
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from iclab.core import finite_number, positive_integer, require, symmetric_matrix
from iclab.models import UntiedTransformer
from iclab.tasks import AbstractTask
from iclab.theory import looped_flow, looped_loss
from iclab.training._gradient_flow import FlowResult, gradient_flow, integrate_flow


def looped_gradient_flow(
    start: Float[Array, "d d"],
    *,
    samples: int,
    loops: int,
    tolerance: float = 1e-10,
    max_time: float = 1e9,
    max_steps: int = 2048,
    throw: bool = True,
) -> FlowResult:
    r"""Gradient flow Ȧ = −∇L(A, 0) on the exact loss for inputs of covariance I.

    From a multiple of I, any number of loops up to 64; from another symmetric matrix,
    up to three. The loss does not change when A is rotated, so the flow keeps the
    eigenvectors of `start`, and only its eigenvalues move. `final` and `trajectory` are
    matrices; the other options are those of `gradient_flow`.

    Source: gatmiry2024, Theorem 3.3.
    Assumes: Σ⋆ = I, w ~ N(0, I), u = 0.
    Differs from the paper: nothing.
    """
    owner = "looped_gradient_flow"
    A = np.asarray(symmetric_matrix(start, owner, "start"))
    d = len(A)
    n = positive_integer(samples, owner, "samples")
    L = positive_integer(loops, owner, "loops")
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
        eigenvectors = jnp.eye(d)
        spread = lambda a: jnp.broadcast_to(a[..., None], (*a.shape, d))  # noqa: E731
    else:
        require(
            L <= 3, owner, "loops", "at most 3 unless `start` is a multiple of I", L
        )
        eigenvalues, eigenvectors = np.linalg.eigh(A)
        flow = gradient_flow(
            lambda values: looped_loss(
                jnp.diag(values), covariance=jnp.eye(d), samples=n, loops=L
            ),
            jnp.asarray(eigenvalues),
            **options,
        )
        spread = lambda values: values  # noqa: E731

    def matrices(values: Array) -> Array:
        return jnp.einsum(
            "ij,...j,kj->...ik", eigenvectors, spread(values), eigenvectors
        )

    found = matrices(flow.final), matrices(flow.trajectory)
    return eqx.tree_at(lambda flow: (flow.final, flow.trajectory), flow, found)


class LoopedRuns(eqx.Module):
    """Looped models trained side by side: axes are loop counts, then seeds.

    `A` and `u` hold the weights before training and after every `every` steps;
    `losses` the loss on each step's own prompts.
    """

    loops: Int[Array, " counts"]
    A: Float[Array, "counts seeds records d d"]
    u: Float[Array, "counts seeds records d"]
    losses: Float[Array, "counts seeds steps"]
    every: int = eqx.field(static=True)


def fit_loops(
    task: AbstractTask,
    *,
    loops: Sequence[int],
    seeds: int,
    examples: int,
    batch: int,
    steps: int,
    optimiser: optax.GradientTransformation,
    key: PRNGKeyArray,
    start_scale: float | int = 0.0,
    every: int = 1,
) -> LoopedRuns:
    """Train a looped model for every number of loops and every seed, in one program.

    A starts with entries N(0, `start_scale`²), u at 0. Seed i draws its start and its
    prompts from `fold_in(key, i)`, the same for every number of loops, so that
    differences between loop counts are not differences between prompts. Each step sees
    `batch` fresh prompts of `examples` examples; the loss is the mean squared error on
    the query.
    """
    owner = "fit_loops"
    require(len(loops) > 0, owner, "loops", "at least one number", list(loops))
    counts = jnp.array([positive_integer(count, owner, "loops") for count in loops])
    for name, value in (
        ("seeds", seeds),
        ("examples", examples),
        ("batch", batch),
        ("steps", steps),
        ("every", every),
    ):
        positive_integer(value, owner, name)
    require(steps % every == 0, owner, "every", f"a divisor of steps = {steps}", every)
    finite_number(start_scale, owner, "start_scale", at_least=0)
    runs = _fit_loops(
        task,
        counts,
        key,
        jnp.asarray(float(start_scale)),
        (seeds, max(loops), examples, batch, steps, every),
        optimiser,
    )
    good = jnp.all(jnp.isfinite(runs.losses), axis=(0, 1))
    first = int(jnp.argmin(good))
    rule = "finite (try a smaller learning rate)"
    require(bool(jnp.all(good)), owner, "loss", rule, f"not so at step {first}")
    return runs


@eqx.filter_jit
def _fit_loops(
    task: AbstractTask,
    counts: Int[Array, " counts"],
    key: PRNGKeyArray,
    start_scale: Float[Array, ""],
    sizes: tuple[int, ...],
    optimiser: optax.GradientTransformation,
) -> LoopedRuns:
    seeds, most, examples, batch, steps, every = sizes
    d = task.dimension

    def loss(weights, count, prompts):
        # Weights of zero leave a prompt as it is: layers beyond `count` do nothing.
        active = (jnp.arange(most) < count).astype(float)
        A, u = weights
        model = UntiedTransformer(
            active[:, None, None] * A[None], active[:, None] * u[None]
        )
        return jnp.mean((jax.vmap(model)(prompts) - prompts.target) ** 2)

    def one(count, seed_key):
        start_key, data_key = jax.random.split(seed_key)
        weights = (start_scale * jax.random.normal(start_key, (d, d)), jnp.zeros(d))

        def step(carry, index):
            weights, state = carry
            prompts = task.sample_batch(
                jax.random.fold_in(data_key, index), batch, examples
            )
            value, slope = jax.value_and_grad(loss)(weights, count, prompts)
            updates, state = optimiser.update(slope, state, weights)
            return (optax.apply_updates(weights, updates), state), value

        def block(carry, first):
            carry, values = jax.lax.scan(step, carry, first + jnp.arange(every))
            return carry, (carry[0], values)

        firsts = jnp.arange(0, steps, every)
        start = (weights, optimiser.init(weights))
        _, (records, values) = jax.lax.scan(block, start, firsts)
        A, u = jax.tree.map(
            lambda first, rest: jnp.concatenate([first[None], rest]), weights, records
        )
        return A, u, values.reshape(-1)

    keys = jax.vmap(lambda seed: jax.random.fold_in(key, seed))(jnp.arange(seeds))
    over_seeds = jax.vmap(one, in_axes=(None, 0))
    A, u, losses = jax.vmap(over_seeds, in_axes=(0, None))(counts, keys)
    return LoopedRuns(counts, A, u, losses, every)
