"""What every predictor promises."""

from typing import Annotated, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from iclab._reader import Rule, checked
from iclab.core import AbstractPredictor, Deep, Positive, Prompt, Seed, Size
from iclab.testing._compare import agree, fail, floating, shaped


@checked
def check_predictor(
    predictor: Any,
    *,
    dimension: Size = 3,
    examples: Annotated[Size, Rule("≥ 2", lambda n: n >= 2)] = 5,
    seed: Seed = 0,
    tolerance: Positive | None = None,
) -> None:
    """See that `predictor` keeps the rules on which everything in iclab counts.

    It answers a prompt with one finite number; `jax.jit` changes nothing and `jax.vmap`
    is a loop; it does not look at the target; and it keeps the **padding rule**. A
    prompt that was cut (`prompt.prefix(k)`) has as many rows as before, and from row
    `prompt.count` on they are zeros. A predictor that divides by the number of rows, or
    counts the padding in any other way, gives a wrong answer there and no error. One
    with a depth (`core.Deep`) ends at its own answer, and its states do not see the
    padding either.

    `dimension` and `examples` are the sizes of the prompts, at least two examples, and
    `tolerance` is relative: by default 1e-9 for float64, 1e-3 for float32.
    """
    owner = type(predictor).__name__
    if not isinstance(predictor, AbstractPredictor):
        remedy = "subclass core.AbstractPredictor, or wrap a function in core.Foreign"
        fail(f"{owner} is no predictor: {remedy}")
    d, n = dimension, examples
    prompts = [_prompt(np.random.default_rng([seed, i]), n, d) for i in range(3)]
    prompt = prompts[0]
    answer = shaped(_first(predictor, prompt, owner), (), owner, "its prediction")

    sentence = "under `jax.jit` it predicts {}, and {} without"
    agree(_predict(predictor, prompt), answer, owner, sentence, tolerance)
    loop = jnp.stack([_predict(predictor, one) for one in prompts])
    batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *prompts)
    sentence = "`jax.vmap` over prompts gives {}, and a loop {}"
    agree(_predict_batch(predictor, batch), loop, owner, sentence, tolerance)
    blind = _predict(predictor, _shorter(prompt, n))
    sentence = (
        "without a target it predicts {}, and with one {}: it looks at the answer"
    )
    agree(blind, answer, owner, sentence, tolerance)
    _check_padding(predictor, prompt, owner, tolerance)
    if isinstance(predictor, Deep):
        _check_depth(predictor, prompt, answer, owner, tolerance)


def _first(predictor: AbstractPredictor, prompt: Prompt, owner: str) -> Any:
    """The answer to a prompt; where there is none, why, and with which sizes."""
    n, d = prompt.examples.shape
    try:
        return predictor(prompt)
    except Exception as error:
        words = " ".join(f"{type(error).__name__}: {error}".split())
        raise AssertionError(
            f"{owner}: a prompt of {n} examples in {d} dimensions, the `examples` and"
            f" `dimension` of check_predictor, stops it with {words}"
        ) from error


def _check_padding(
    predictor: AbstractPredictor, prompt: Prompt, owner: str, tolerance: Any
) -> None:
    """Predictions from prefixes against those of prompts that are shorter."""
    n = prompt.examples.shape[0]
    lengths = sorted({1, 2, n})
    alone = [_predict(predictor, _shorter(prompt, k)) for k in lengths]
    for k, expected in zip(lengths, alone, strict=True):
        sentence = (
            f"from the first {k} of {n} examples it predicts {{}}, and from a prompt of"
            f" these {k} alone {{}}: rows from `prompt.count` on are padding, and"
            " `prompt.count`, not the number of rows, says how many examples there are"
        )
        found = _predict(predictor, prompt.prefix(k))
        agree(found, expected, owner, sentence, tolerance)
    found = _predict_lengths(predictor, prompt, jnp.array(lengths))
    sentence = "`at_lengths` gives {}, and prompts of these lengths {}"
    agree(found, jnp.stack(alone), owner, sentence, tolerance)


def _check_depth(
    predictor: Any, prompt: Prompt, answer: Any, owner: str, tolerance: Any
) -> None:
    by_depth, streams = _look_inside(predictor, prompt)
    states = predictor.depth + 1
    shaped(by_depth, (states,), owner, "`predictions_by_depth`")
    if streams.ndim != 2 or len(streams) != states:
        fail(f"{owner}: `streams` must have {states} rows, got shape {streams.shape}")
    floating(streams, owner, "`streams`")
    sentence = "`predictions_by_depth` ends with {}, and it predicts {}"
    agree(by_depth[-1], answer, owner, sentence, tolerance)
    found = _look_inside(predictor, prompt.prefix(2))
    expected = _look_inside(predictor, _shorter(prompt, 2))
    for name, one, other in zip(
        ("predictions_by_depth", "streams"), found, expected, strict=True
    ):
        sentence = f"`{name}` sees the padding: {{}}, and without it {{}}"
        agree(one, other, owner, sentence, tolerance)


def _prompt(rng: np.random.Generator, n: int, d: int) -> Prompt:
    shapes = ((n, d), (n,), (d,), ())
    X, y, query, target = (jnp.asarray(rng.normal(size=shape)) for shape in shapes)
    return Prompt(X, y, query, target)


def _shorter(prompt: Prompt, k: int) -> Prompt:
    return Prompt(prompt.examples[:k], prompt.labels[:k], prompt.query)


# Compiled once for a kind of predictor, however often it is checked.
@eqx.filter_jit
def _predict(predictor: AbstractPredictor, prompt: Prompt) -> Any:
    return predictor(prompt)


@eqx.filter_jit
def _predict_batch(predictor: AbstractPredictor, prompts: Prompt) -> Any:
    return jax.vmap(predictor)(prompts)


@eqx.filter_jit
def _predict_lengths(predictor: AbstractPredictor, prompt: Prompt, lengths: Any) -> Any:
    return predictor.at_lengths(prompt, lengths)


@eqx.filter_jit
def _look_inside(predictor: Any, prompt: Prompt) -> Any:
    return predictor.predictions_by_depth(prompt), predictor.streams(prompt)
