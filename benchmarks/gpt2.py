"""A training step of GPT-2, against the machine's own matrix product.

Run: python -m benchmarks.gpt2 [tiny small standard]
"""

import resource
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from benchmarks.timing import seconds
from iclab.models import GPT2, GPT2_SIZES
from iclab.tasks import LinearRegression
from iclab.training import InContext

_BATCH, _POINTS, _DIMENSION = 64, 41, 20
_SIDE = 2048


def product_speed() -> float:
    """Floating-point operations a second of a large float32 matrix product."""
    A = jax.random.normal(jax.random.key(0), (_SIDE, _SIDE), jnp.float32)
    product = jax.jit(lambda A: A @ A)
    return 2 * _SIDE**3 / seconds(lambda: product(A))


def operations(layers: int, width: int) -> float:
    """Additions and multiplications of a step: forward, and twice that backward.

    Every weight of a block meets every token, and every token every token, masked or
    not; in the last block only the tokens of inputs ask and are transformed.
    """
    tokens, read = 2 * _POINTS - 1, _POINTS
    keys_and_values = 2 * width**2
    rest = 10 * width**2  # queries, output, both layers of the network
    attention = 2 * width * tokens
    a_block = tokens * (keys_and_values + rest + attention)
    last = tokens * keys_and_values + read * (rest + attention)
    return 3 * 2 * _BATCH * ((layers - 1) * a_block + last)


def step_seconds(size: str) -> float:
    """Time of a step of Adam on fresh prompts."""
    task = LinearRegression(jnp.eye(_DIMENSION))
    problem = InContext(task, _POINTS)
    key = jax.random.key(0)
    model = GPT2.of_size(size, _DIMENSION, _POINTS - 1, key=key)
    optimiser = optax.adam(1e-4)

    @eqx.filter_jit(donate="all")
    def step(model, state, number):
        stage = problem.curriculum.stage(number, _POINTS)
        keys = jax.random.split(jax.random.fold_in(key, number), _BATCH)
        X, y = jax.vmap(lambda one: problem.sample(one, stage))(keys)
        samples = (X.astype(jnp.float32), y.astype(jnp.float32))
        loss, gradient = eqx.filter_value_and_grad(problem.loss)(model, samples, stage)
        updates, state = optimiser.update(gradient, state)
        return eqx.apply_updates(model, updates), state, loss

    state = optimiser.init(eqx.filter(model, eqx.is_array))

    def run():
        nonlocal model, state
        model, state, loss = step(model, state, jnp.asarray(0))
        return loss

    return seconds(run, 5)


def main(sizes: list[str]) -> None:
    """A line a size."""
    title = f"Adam step, batch {_BATCH}, {_POINTS} points, d={_DIMENSION}, float32"
    print(f"{title:<58} {'time':>10} {'GFLOP/s':>9} {'of a product':>13} {'peak':>9}")
    for size in sizes:
        layers, _, width = GPT2_SIZES[size]
        time = step_seconds(size)
        speed, product = operations(layers, width) / time, product_speed()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        name = f"{size}: {layers} layers, width {width}"
        print(
            f"{name:<58} {time:8.3f} s {speed / 1e9:9.1f} {speed / product:12.0%}"
            f" {peak:6.0f} MB",
            flush=True,
        )
    print(f"matrix product of side {_SIDE}: {product_speed() / 1e9:.0f} GFLOP/s")


if __name__ == "__main__":
    main(sys.argv[1:] or list(GPT2_SIZES))
