"""A layer in a loop: exact losses against prompts, many runs together or in turn.

Run: python -m benchmarks.looped_transformer
"""

import itertools
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from benchmarks.timing import heading, seconds, show
from iclab.core import Prompt
from iclab.models import LoopedTransformer
from iclab.tasks import LinearRegression
from iclab.theory import loss_by_test_loops, wishart_quadrature
from iclab.training import fit_loops

_DIMENSION, _SAMPLES, _LOOPS, _PROMPTS = 10, 20, 32, 100_000
_TASK = LinearRegression(jnp.eye(_DIMENSION))
# Small enough for 32 loops.
_STEP = jnp.asarray(0.3)


def exact(step: Float[Array, ""], samples: int) -> Float[Array, ""]:
    """The population loss of A = aI after 32 loops."""
    return loss_by_test_loops(step, _DIMENSION, samples, _LOOPS)[-1]


def sampled(step: Float[Array, ""], prompts: Prompt) -> Float[Array, ""]:
    """The same on prompts, which the model sees in Gram space."""
    model = LoopedTransformer(step * jnp.eye(_DIMENSION), loops=_LOOPS)
    return jnp.mean((jax.vmap(model)(prompts) - prompts.target) ** 2)


def loss_and_gradient() -> None:
    """Loss with derivative in a, from prompts at hand and from fresh ones."""
    ours = jax.jit(jax.value_and_grad(lambda step: exact(step, _SAMPLES)))
    ours_time = seconds(lambda: ours(_STEP))
    kept = jax.jit(jax.value_and_grad(sampled))
    prompts = _TASK.sample_batch(jax.random.key(0), _PROMPTS, _SAMPLES)

    @jax.jit
    def redrawn(step: Float[Array, ""], key: Array) -> tuple[Array, Array]:
        fresh = _TASK.sample_batch(key, _PROMPTS, _SAMPLES)
        return jax.value_and_grad(sampled)(step, fresh)

    title = f"loss + gradient, {_LOOPS} loops, d={_DIMENSION}, n={_SAMPLES}"
    heading(title, "exact", f"{_PROMPTS:,} prompts")
    show("prompts at hand", ours_time, seconds(lambda: kept(_STEP, prompts), 3))
    key = jax.random.key(1)
    show("prompts drawn anew", ours_time, seconds(lambda: redrawn(_STEP, key), 3))


def prompt_length() -> None:
    """What n costs: an evaluation, and the rule of a new n that comes before it."""
    few, many = _SAMPLES, 10**9
    heading(f"exact loss, {_LOOPS} loops, by n", f"n = {few}", f"n = {many:.0e}")
    function = {n: jax.jit(lambda step, n=n: exact(step, n)) for n in (few, many)}

    # A thousand in a row: a single call is too short to compare within a few per cent.
    def thousand(n: int) -> list[Array]:
        return [function[n](_STEP) for _ in range(1_000)]

    # In turns, so that whatever else the computer does meets both alike.
    turns = [
        [seconds(lambda n=n: thousand(n), 1) for n in (few, many)] for _ in range(9)
    ]
    show("a thousand evaluations", *map(min, zip(*turns, strict=True)))
    # Rules are kept, so every call asks for another n.
    times = []
    for start in (few, many):
        samples = itertools.count(start + 1)
        times.append(
            seconds(
                lambda n=samples: wishart_quadrature(_DIMENSION, next(n), 2 * _LOOPS), 5
            )
        )
    show("making the quadrature rule, once for every n", *times)


def many_runs() -> None:
    """Ten seeds of five numbers of loops: one program, or fifty runs of five programs.

    The single runs have no loops that they do not need, the program has ten for all.
    """
    loops, seeds = (1, 2, 3, 5, 10), 10
    optimiser = optax.adam(0.01)

    def run(counts: tuple[int, ...], number: int, key: Array) -> Array | np.ndarray:
        return fit_loops(
            _TASK,
            loops=counts,
            seeds=number,
            examples=_SAMPLES,
            batch=64,
            steps=100,
            optimiser=optimiser,
            key=key,
            every=100,
        ).losses

    def together() -> None:
        jax.block_until_ready(run(loops, seeds, jax.random.key(0)))

    def in_turn() -> None:
        for count in loops:
            for seed in range(seeds):
                jax.block_until_ready(run((count,), 1, jax.random.key(seed)))

    title = f"100 steps of {seeds} seeds × {len(loops)} numbers of loops"
    heading(title, "together", "in turn")
    show("with compilation", _once(together), _once(in_turn))
    show("compiled", seconds(together, 3), seconds(in_turn, 3))


def _once(function: Callable[[], None]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


if __name__ == "__main__":
    loss_and_gradient()
    prompt_length()
    many_runs()
