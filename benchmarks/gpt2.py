"""A training step of GPT-2, against a matrix product and, if it is there, PyTorch.

Run: python -m benchmarks.gpt2 [tiny small standard]
"""

import importlib.util
import resource
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from benchmarks.timing import fastest, seconds
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


class Step:
    """A step of Adam on fresh prompts, by iclab."""

    def __init__(self, size: str):
        self._problem = InContext(LinearRegression(jnp.eye(_DIMENSION)), _POINTS)
        self._key = jax.random.key(0)
        self.model = GPT2.of_size(size, _DIMENSION, _POINTS - 1, key=self._key)
        optimiser = optax.adam(1e-4)
        self._state = optimiser.init(eqx.filter(self.model, eqx.is_array))

        @eqx.filter_jit(donate="all")
        def step(model, state, number):
            samples = self.samples(number)
            loss, gradient = eqx.filter_value_and_grad(self._problem.loss)(
                model, samples, self._stage(number)
            )
            updates, state = optimiser.update(gradient, state)
            return eqx.apply_updates(model, updates), state, loss

        self._step = step

    def __call__(self) -> jax.Array:
        """The loss before the step."""
        self.model, self._state, loss = self._step(
            self.model, self._state, jnp.asarray(0)
        )
        return loss

    def samples(self, number: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Prompts of a step: inputs and labels."""
        keys = jax.random.split(jax.random.fold_in(self._key, number), _BATCH)
        X, y = jax.vmap(lambda one: self._problem.sample(one, self._stage(number)))(
            keys
        )
        return X.astype(jnp.float32), y.astype(jnp.float32)

    def _stage(self, number: jax.Array):
        return self._problem.curriculum.stage(number, _POINTS)


def race(size: str) -> None:
    """The same model, prompts and optimiser in PyTorch, in turns, as ratios."""
    from benchmarks.torch_gpt2 import Race

    step = Step(size)
    samples = jax.jit(step.samples)(jnp.asarray(0))
    rivals = {
        name: Race(step.model, *samples, compiled=compiled)
        for name, compiled in (("eager", False), ("compiled", True))
    }
    losses = {name: one.loss().item() for name, one in rivals.items()}
    ours = float(step())
    worst = max(abs(loss / ours - 1) for loss in losses.values())
    times = fastest({"iclab": step, **{name: r.step for name, r in rivals.items()}})
    for name in rivals:
        ratio = times["iclab"] / times[name]
        print(
            f"{size}: iclab {times['iclab']:.3f} s, PyTorch {name} {times[name]:.3f} s:"
            f" {ratio:.2f} of its time",
            flush=True,
        )
    print(f"{size}: the first losses agree to {worst:.0e}")


def main(sizes: list[str]) -> None:
    """A line a size."""
    title = f"Adam step, batch {_BATCH}, {_POINTS} points, d={_DIMENSION}, float32"
    print(f"{title:<58} {'time':>10} {'GFLOP/s':>9} {'of a product':>13} {'peak':>9}")
    for size in sizes:
        layers, _, width = GPT2_SIZES[size]
        time = seconds(Step(size), 5)
        speed, product = operations(layers, width) / time, product_speed()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        name = f"{size}: {layers} layers, width {width}"
        print(
            f"{name:<58} {time:8.3f} s {speed / 1e9:9.1f} {speed / product:12.0%}"
            f" {peak:6.0f} MB",
            flush=True,
        )
    if importlib.util.find_spec("torch") is None:
        print("PyTorch is not installed here: nothing to compare with")
    else:
        for size in sizes:
            race(size)
    print(f"matrix product of side {_SIDE}: {product_speed() / 1e9:.0f} GFLOP/s")


if __name__ == "__main__":
    main(sys.argv[1:] or list(GPT2_SIZES))
