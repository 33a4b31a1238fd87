"""What every task promises."""

from typing import Any

import equinox as eqx
import jax
import numpy as np

from iclab._reader import checked
from iclab.core import Natural, Prompt, Seed, Size, read
from iclab.tasks import AbstractTask
from iclab.testing._compare import agree, fail, shaped


@checked
def check_task(task: Any, *, examples: Size = 4, seed: Seed = 0) -> None:
    """See that `task` is a distribution over prompts that the rest can sample.

    Prompts have the right shapes and finite numbers; a key gives the same prompt
    always, compiled or not, alone or in a batch, and another key another one; an
    input's label does not depend on the inputs beside it, so that the target is the
    label of the query; and noise is drawn from a key of its own.
    """
    owner = type(task).__name__
    if not isinstance(task, AbstractTask):
        fail(f"{owner} is no task: subclass tasks.AbstractTask")
    n, d = examples, read(task.dimension, Natural, "dimension")
    keys = jax.random.split(jax.random.key(seed), 3)
    _check_pieces(task, keys[0], n, d, owner)
    prompts = [task.sample(key, n) for key in keys]
    for prompt in prompts:
        _check_shapes(prompt, n, d, owner)
    same = "the same key gives another prompt {}: {{}}, then {{}}"
    _same_prompt(task.sample(keys[0], n), prompts[0], owner, same.format("again"))
    compiled = _sample(task, keys[0], n)
    _same_prompt(compiled, prompts[0], owner, same.format("under `jax.jit`"))
    # `sample_batch` splits its key as above.
    batch = task.sample_batch(jax.random.key(seed), 3, n)
    for index, prompt in enumerate(prompts):
        one = jax.tree.map(lambda leaf, i=index: leaf[i], batch)
        _same_prompt(one, prompt, owner, same.format("in a batch"))
    targets = np.array([float(prompt.target) for prompt in prompts])
    if len(set(targets)) < 3:
        fail(f"{owner}: three keys give the targets {targets.tolist()}")
    _check_labels(task, keys[0], n, owner)


def _check_pieces(task: AbstractTask, key: Any, n: int, d: int, owner: str) -> None:
    """Shapes of what a prompt is made of, before one is made of the other."""
    latent = task.latent(key)
    X = task.inputs(latent, n, key)
    shaped(X, (n, d), owner, "`inputs` (count, dimension)")
    shaped(task.labels(latent, X), (n,), owner, "`labels` (count)")
    shaped(task.noise(latent, n, key), (n,), owner, "`noise` (count)")
    shaped(task.query(latent, X, key), (d,), owner, "`query` (dimension)")


def _check_shapes(prompt: Prompt, n: int, d: int, owner: str) -> None:
    shaped(prompt.examples, (n, d), owner, "`examples` of a prompt")
    shaped(prompt.labels, (n,), owner, "`labels` of a prompt")
    shaped(prompt.query, (d,), owner, "`query` of a prompt")
    shaped(prompt.target, (), owner, "`target` of a prompt")
    if int(prompt.count) != n:
        fail(f"{owner}: `count` of a prompt must be {n}, got {int(prompt.count)}")


def _same_prompt(one: Prompt, other: Prompt, owner: str, sentence: str) -> None:
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        agree(a, b, owner, sentence)


def _check_labels(task: AbstractTask, key: Any, n: int, owner: str) -> None:
    """Labels of inputs one by one, and noise by its key alone."""
    streams = jax.random.split(key, 4)
    latent = task.latent(streams[0])
    X = task.inputs(latent, n, streams[1])
    labels = shaped(task.labels(latent, X), (n,), owner, "`labels`")
    alone = np.array([float(task.labels(latent, X[i : i + 1])[0]) for i in range(n)])
    sentence = (
        "inputs one by one have the labels {}, and together {}: the target would not"
        " be what an example's label is"
    )
    agree(alone, labels, owner, sentence)
    noise = shaped(task.noise(latent, n, streams[2]), (n,), owner, "`noise`")
    again = task.noise(latent, n, streams[2])
    agree(again, noise, owner, "the same key gives the noise {}, then {}")
    other = np.asarray(task.noise(latent, n, streams[3]))
    if np.any(noise) and np.all(noise == other):
        fail(f"{owner}: two keys give the same noise {noise.tolist()}")


@eqx.filter_jit
def _sample(task: AbstractTask, key: Any, examples: int) -> Prompt:
    return task.sample(key, examples)
