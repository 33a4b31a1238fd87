"""One layer of softmax attention against compiled PyTorch, on one thread each.

Run: python -m benchmarks.attention, with PyTorch somewhere on PYTHONPATH
"""

import importlib.util
import os
import time
from collections.abc import Callable
from typing import Any

# Before JAX is loaded: PyTorch gets one thread too.
os.environ["XLA_FLAGS"] = (
    "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from iclab._memory import keep_freed_memory
from iclab.core import Prompt
from iclab.models import Attention
from iclab.tasks import LinearRegression

keep_freed_memory()  # as commands do

_DIMENSION, _EXAMPLES, _HEADS, _PROMPTS = 5, 20, 2, 20_000


def loss(model: Attention, prompts: Prompt) -> jax.Array:
    """Mean squared error on the queries."""
    return jnp.mean((jax.vmap(model)(prompts) - prompts.target) ** 2)


def torch_losses(model: Attention, prompts: Prompt) -> dict:
    """The same in PyTorch, compiled: name -> (forward, gradient).

    `merged` multiplies the weights out first and lets the query alone ask, as ours
    does; `as written` has keys and values of its own for every head, and PyTorch's own
    attention; in `all tokens` every token asks, as in a layer that is not the last.
    """
    import torch  # pyright: ignore[reportMissingImports]

    torch.set_num_threads(1)
    tensor = lambda array: torch.from_numpy(np.array(array))  # noqa: E731
    weights = [tensor(one[0]).requires_grad_() for one in jax.tree.leaves(model)]
    parts = (prompts.examples, prompts.labels, prompts.query, prompts.target)
    given = [tensor(part) for part in parts]

    def tokens(X, y, x_q):
        shown = torch.cat([X, y[..., None]], -1)
        return shown, torch.cat([x_q, torch.zeros_like(x_q[:, :1])], -1)[:, None]

    def merged(K, Q, V, P, X, y, x_q, target):
        Z, z = tokens(X, y, x_q)
        queries = torch.einsum("hed,hef,bf->bhd", K, Q, z[:, 0])
        mixed = torch.softmax(queries @ Z.mT, -1) @ Z
        found = torch.einsum("he,hed,bhd->b", P[:, -1], V, mixed)
        return torch.mean((found - target) ** 2)

    def as_written(K, Q, V, P, X, y, x_q, target, all_tokens=False):
        Z, z = tokens(X, y, x_q)
        asking = torch.cat([Z, z], 1) if all_tokens else z
        keys, values = (torch.einsum("hed,btd->bhte", W, Z) for W in (K, V))
        queries = torch.einsum("hed,btd->bhte", Q, asking)
        attend = torch.nn.functional.scaled_dot_product_attention
        mixed = attend(queries, keys, values, scale=1.0)
        found = asking + torch.einsum("hde,bhte->btd", P, mixed)
        return torch.mean((found[:, -1, -1] - target) ** 2)

    def all_tokens(*arguments):
        return as_written(*arguments, all_tokens=True)

    def both(function):
        function = torch.compile(function)

        def forward():
            with torch.no_grad():
                return float(function(*weights, *given))

        def gradient():
            for one in weights:
                one.grad = None
            found = function(*weights, *given)
            found.backward()
            return float(found.detach())

        return forward, gradient

    rivals = {"merged": merged, "as written": as_written, "all tokens": all_tokens}
    return {name: both(function) for name, function in rivals.items()}


def fastest(calls: dict[str, Callable[[], Any]], repeats: int = 9) -> dict[str, float]:
    """Least processor seconds of a call of each, in turns; others may use the core."""
    times = dict.fromkeys(calls, float("inf"))
    for repeat in range(repeats + 1):
        for name, call in calls.items():
            start = time.process_time()
            jax.block_until_ready(call())
            if repeat:  # the first one compiles
                times[name] = min(times[name], time.process_time() - start)
    return times


def race(dtype: type) -> None:
    """Forward pass and gradient in one precision."""
    key = jax.random.key(0)
    model = Attention.random(
        key, dimension=_DIMENSION, heads=_HEADS, scale=0.5, dtype=dtype
    )
    task = LinearRegression(jnp.eye(_DIMENSION))
    prompts = jax.tree.map(
        lambda leaf: leaf.astype(dtype) if eqx.is_inexact_array(leaf) else leaf,
        task.sample_batch(key, _PROMPTS, _EXAMPLES),
    )
    forward = eqx.filter_jit(loss)
    gradient = eqx.filter_jit(eqx.filter_value_and_grad(loss))
    ours = (lambda: forward(model, prompts), lambda: gradient(model, prompts))
    there = importlib.util.find_spec("torch") is not None
    rivals = torch_losses(model, prompts) if there else {}
    rounding = 100 * float(np.finfo(dtype).eps)
    for name, (theirs, _) in rivals.items():
        worst = abs(theirs() / float(ours[0]()) - 1)
        assert worst < rounding, f"{name}: losses differ by {worst:.0e}"
    for place, what in enumerate(("forward", "gradient")):
        calls = {"iclab": ours[place]}
        times = fastest(calls | {name: both[place] for name, both in rivals.items()})
        title = f"{jnp.dtype(dtype).name}, {what}: iclab {times['iclab'] * 1e3:.1f} ms"
        print(title, flush=True)
        for name in rivals:
            ratio = times["iclab"] / times[name]
            print(
                f"    PyTorch, {name}: {times[name] * 1e3:.1f} ms, {ratio:.2f} of it",
                flush=True,
            )


if __name__ == "__main__":
    print(
        f"one softmax layer, {_HEADS} heads, d={_DIMENSION}, n={_EXAMPLES},"
        f" {_PROMPTS:,} prompts"
    )
    for dtype in (jnp.float32, jnp.float64):
        race(dtype)
