"""Layers of linear attention: exact and Gram-space training against token space.

Run: python -m benchmarks.linear_transformer
"""

import itertools
import time

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from benchmarks.timing import heading, seconds, show
from iclab.core import Prompt
from iclab.models import LinearTransformer
from iclab.papers.ahn2023._experiments import losses_given, whitened_draws
from iclab.tasks import LinearRegression
from iclab.theory import (
    linear_transformer_loss,
    optimal_steps,
    sampled_transformer_loss,
    wishart_quadrature,
)
from iclab.training import minimise

_DIMENSION, _SAMPLES, _LAYERS, _PROMPTS = 5, 20, 3, 20_000
_IDENTITY = jnp.eye(_DIMENSION)

Layers = Float[Array, "k d d"]


def exact(A: Layers) -> Float[Array, ""]:
    """The population loss; its cost does not depend on n."""
    return linear_transformer_loss(A, covariance=_IDENTITY, samples=_SAMPLES)


def token_space(A: Layers, prompts: Prompt) -> Float[Array, ""]:
    """The loss on a batch of prompts, by the forward pass as written."""
    model = LinearTransformer.sparse(A)
    return jnp.mean((jax.vmap(model.in_token_space)(prompts) - prompts.target) ** 2)


def gram_space(A: Layers, S: Float[Array, "b d d"]) -> Float[Array, ""]:
    """The loss on a batch of sample covariances, w and the query integrated out."""
    return jnp.mean(losses_given((A,), S))


def redrawn(A: Layers, key: Array) -> Float[Array, ""]:
    """The same, with new sample covariances at every call."""
    setting = {"covariance": _IDENTITY, "samples": _SAMPLES, "draws": _PROMPTS}
    return sampled_transformer_loss(A, None, **setting, key=key, mixture=False).mean


def prompts_of(count: int, examples: int) -> Prompt:
    """Prompts with Σ = I and w ~ N(0, I)."""
    task = LinearRegression(_IDENTITY)
    return task.sample_batch(jax.random.key(examples), count, examples)


def start() -> Layers:
    """Small random layers."""
    shape = (_LAYERS, _DIMENSION, _DIMENSION)
    return 1e-4 * jax.random.normal(jax.random.key(0), shape)


def loss_and_gradient() -> None:
    """Loss with gradient of three layers: exact, in Gram space, in token space."""
    A, key = start() - 0.5 * _IDENTITY, jax.random.key(1)
    S = whitened_draws(key, _SAMPLES, _PROMPTS)
    token = jax.jit(jax.value_and_grad(token_space))
    prompts = prompts_of(_PROMPTS, _SAMPLES)
    theirs = seconds(lambda: token(A, prompts), 3)
    # 2,001² numbers a prompt and layer: four prompts, and the time scaled to the batch.
    few, long = 4, 2_000
    few_prompts = prompts_of(few, long)
    theirs_long = _PROMPTS / few * seconds(lambda: token(A, few_prompts), 3)
    ours = {}
    for name, loss, *arguments in (
        ("exact", exact),
        (f"Gram space, {_PROMPTS:,} draws", gram_space, S),
        (f"Gram space, {_PROMPTS:,} draws, redrawn", redrawn, key),
    ):
        function = jax.jit(jax.value_and_grad(loss))
        ours[name] = seconds(lambda f=function, a=arguments: f(A, *a))
    for n, token_time in ((_SAMPLES, theirs), (long, theirs_long)):
        title = f"loss + gradient, three layers, d={_DIMENSION}, n={n}"
        heading(title, "ours", f"{_PROMPTS:,} prompts")
        for name, time_ in ours.items():
            show(name, time_, token_time)


def time_to_optimum() -> None:
    """From a random start to a gradient below 1e-8, or straight to the optimum."""
    A = start()
    train = jax.jit(lambda A: minimise(exact, A, tolerance=1e-8, memory=100))
    result = train(A)
    steps = int(result.step)
    assert bool(result.converged), "L-BFGS did not reach a gradient norm of 1e-8"
    # Ten steps on the token batch; as many as the exact loss took are extrapolated.
    few = 10
    prompts = prompts_of(_PROMPTS, _SAMPLES)
    train_on_tokens = jax.jit(
        lambda A, prompts: minimise(
            lambda A: token_space(A, prompts), A, max_steps=few, memory=100
        )
    )
    theirs = steps / few * seconds(lambda: train_on_tokens(A, prompts), 1)
    heading(f"three-layer optimum, {steps} L-BFGS steps", "ours", "token batch")
    show("L-BFGS on the exact loss", seconds(lambda: train(A), 3), theirs)
    # Results are kept, so every call asks for another n.
    samples = itertools.count(_SAMPLES)
    closed = seconds(lambda: optimal_steps(_DIMENSION, next(samples), _LAYERS))
    show("closed form", closed, theirs)


def quadrature() -> None:
    """Gauss rules of the mean Wishart spectrum, each worked out for the first time."""
    print(f"\n{'wishart_quadrature':<58} {'time':>13}")
    wishart_quadrature(2, 3, 5)  # imports and first use
    for d, n, degree in ((5, 20, 31), (50, 500, 63)):
        begin = time.perf_counter()
        wishart_quadrature(d, n, degree)
        elapsed = time.perf_counter() - begin
        print(f"{f'd={d}, n={n}, degree {degree}':<58} {elapsed * 1e3:10.1f} ms")


if __name__ == "__main__":
    quadrature()
    loss_and_gradient()
    time_to_optimum()
