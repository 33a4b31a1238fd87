"""Multi-head softmax attention: exact loss against samples, a scan against a loop.

The encoder: gradients part by part against all tasks at once.

Run: python -m benchmarks.representation
"""

import time
from typing import Any

import jax
import jax.numpy as jnp
import optax

from benchmarks.timing import heading, seconds, show
from iclab.models import Encoder, MultiHeadSoftmax
from iclab.tasks import Representation
from iclab.training import batch_loss, descent_path, exact_loss

_SHOWN, _TOKENS, _DIMENSION, _FEATURES, _HEADS = 30, 200, 100, 20, 64
_BATCH, _STEPS = 256, 50
_SIZES = f"N={_SHOWN}, K={_TOKENS}, d={_DIMENSION}, m={_FEATURES}, H={_HEADS}"


def task() -> Representation:
    """The sizes of Figure 2 of yang2024."""
    return Representation.random(
        jax.random.key(0),
        dictionary_size=_TOKENS,
        input_dim=_DIMENSION,
        feature_dim=_FEATURES,
        context_length=_SHOWN,
        noise_variance=0.01,
    )


def model(dtype: type = jnp.float32) -> MultiHeadSoftmax:
    """A start with w ≠ 0, so that every gradient is at work."""
    start = MultiHeadSoftmax.random(
        jax.random.key(1),
        heads=_HEADS,
        input_dim=_DIMENSION,
        dictionary_size=_TOKENS,
        dtype=dtype,
    )
    return MultiHeadSoftmax(start.key_query, start.value + jnp.asarray(0.1, dtype))


def loss_and_gradient() -> None:
    """The exact loss sees all tasks at once, the sampled one 256 of them."""
    problem = task()
    labels = problem.sample_labels_batch(jax.random.key(2), _BATCH)
    exact = jax.jit(jax.value_and_grad(exact_loss(problem)))
    fresh = jax.jit(
        jax.value_and_grad(
            lambda m, key: batch_loss(
                m, problem.tokens, problem.sample_labels_batch(key, _BATCH), _SHOWN
            )
        )
    )
    token_space = jax.jit(
        jax.value_and_grad(
            lambda m, rows: (
                jnp.mean(
                    (
                        jax.vmap(lambda y: m.in_token_space(problem.tokens, y))(
                            rows[:, :_SHOWN]
                        )
                        - rows
                    )
                    ** 2
                )
                / 2
            )
        )
    )
    heading(f"loss + gradient, {_SIZES}", "exact", f"{_BATCH} tasks")
    key = jax.random.key(3)
    for dtype in (jnp.float32, jnp.float64):
        start = model(dtype)
        ours = seconds(lambda s=start: exact(s))
        show(f"{dtype.__name__}", ours, seconds(lambda s=start: fresh(s, key)))
    # The formulas (5)–(7) as written make a K×K output a head: two tasks are enough.
    few, start = 2, model(jnp.float64)
    theirs = _BATCH / few * seconds(lambda: token_space(start, labels[:few]), 3)
    show("float64 against token space, extrapolated from two", ours, theirs)


def memory() -> None:
    """Temporary memory of loss and gradient, as the compiler plans it."""
    exact = jax.jit(jax.value_and_grad(exact_loss(task())))
    plan = exact.lower(model()).compile().memory_analysis()
    if plan is None:
        return
    product = _HEADS * _SHOWN * _TOKENS * _DIMENSION * 4
    print(
        f"\nloss + gradient in float32 needs {plan.temp_size_in_bytes / 1e6:.1f} MB of"
        f" temporaries; one H×N×K×d array would need {product / 1e6:.1f} MB"
    )


def steps_per_second() -> None:
    """Adam on the exact loss, compiled as one scan, against a call for every step."""
    loss, optimiser = exact_loss(task()), optax.adam(1e-4)
    start: Any = model()  # optax knows pytrees by another type
    scan = jax.jit(
        lambda s: descent_path(loss, s, steps=_STEPS, optimiser=optimiser).losses
    )

    @jax.jit
    def step(parameters, state):
        value, gradient = jax.value_and_grad(loss)(parameters)
        updates, state = optimiser.update(gradient, state)
        return optax.apply_updates(parameters, updates), state, value

    def compiled_steps():
        parameters, state, values = start, optimiser.init(start), []
        for _ in range(_STEPS):
            parameters, state, value = step(parameters, state)
            values.append(float(value))
        return values

    gradient = jax.value_and_grad(loss)

    def plain_steps(count):
        parameters, state = start, optimiser.init(start)
        for _ in range(count):
            _, by = gradient(parameters)
            updates, state = optimiser.update(by, state)
            parameters = optax.apply_updates(parameters, updates)
        return parameters

    heading(f"{_STEPS} steps of Adam, {_SIZES}", "scan", "Python loop")
    ours = seconds(lambda: scan(start), 3)
    show("against a loop of compiled steps", ours, seconds(compiled_steps, 3))
    few = 3
    show(
        "against a loop without compilation, extrapolated",
        ours,
        _STEPS / few * seconds(lambda: plain_steps(few), 3),
    )
    print(f"{_STEPS / ours:.0f} steps a second")


def encoder(tasks: int = 16) -> None:
    """Four layers as in Figure 5: what all tasks keep does not fit into caches."""
    problem = task()
    labels = problem.sample_labels_batch(jax.random.key(2), tasks)

    def at_once(model):
        predict = jax.vmap(lambda shown: model(problem.tokens, shown))
        return jnp.mean((predict(labels[:, :_SHOWN]) - labels) ** 2) / 2

    def in_parts(model):
        return batch_loss(model, problem.tokens, labels, _SHOWN)

    ours, theirs = (jax.jit(jax.value_and_grad(one)) for one in (in_parts, at_once))
    heading(f"loss + gradient of an encoder, {tasks} tasks", "in parts", "at once")
    for heads in (1, 8, _HEADS):
        key = jax.random.key(4)
        start = Encoder.random(key, input_dim=_DIMENSION, heads=heads)
        times = (seconds(lambda f=f, s=start: f(s), 3) for f in (ours, theirs))
        show(f"H = {heads}", *times)


if __name__ == "__main__":
    begin = time.perf_counter()
    loss_and_gradient()
    memory()
    steps_per_second()
    encoder()
    print(f"\n{time.perf_counter() - begin:.0f} s in all")
