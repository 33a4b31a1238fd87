"""What a model's answer minds, and what it does not."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from iclab.core import AbstractPredictor, Prompt, checked
from iclab.probes._bootstrap import Interval, bootstrap_weights, ratio
from iclab.probes._filter import context_of
from iclab.probes._predictions import predictions, shortened

# Standard deviations by which the outlier's label moves, and a move to compare with.
_OUTLIER, _NUDGE = 10.0, 0.1


@checked(finite=False)
@dataclass(frozen=True)
class Symmetry:
    """How far a model is from a symmetry.

    `violation` is E(Δŷ)² / E ŷ², 0 for a model that has the symmetry.
    """

    name: str
    meaning: str
    violation: Interval


@checked(finite=False)
@dataclass(frozen=True)
class Influence:
    """What one example with a wrong label does to the prediction.

    `change` is the root of E(Δŷ)² / E ŷ² when a label moves by ten standard deviations
    of the labels; `linearity` is Δŷ over what the answer to a small move promises: 1
    for methods that are linear in the labels, less for those that mistrust an outlier.
    """

    change: Interval
    linearity: Interval


@checked(finite=False)
def symmetries(
    predictor: AbstractPredictor,
    prompts: Prompt,
    *,
    context: int | None = None,
    key: PRNGKeyArray | None = None,
) -> tuple[tuple[Symmetry, ...], Influence]:
    """Hold a model's predictions on `prompts` against those on changed prompts.

    Labels are doubled and added, examples permuted, inputs rotated and doubled; at last
    one label of each prompt becomes an outlier.
    """
    n = context_of(prompts, context)
    if key is None:
        key = jax.random.key(0)
    for_draws, for_changes = jax.random.split(key)
    prompts = shortened(prompts, n)
    weights = bootstrap_weights(for_draws, len(prompts.target))
    changed = _changed(prompts, for_changes)
    answers = {
        name: predictions(predictor, one, [n])[:, 0] for name, one in changed.items()
    }
    plain = answers["plain"]

    def violation(difference: np.ndarray) -> Interval:
        return ratio(difference**2, plain**2, weights)

    added = answers["both"] - plain - answers["others"] + answers["none"]
    found = (
        Symmetry(
            "label scale",
            "doubled labels double the prediction",
            violation(answers["doubled"] - 2 * plain),
        ),
        Symmetry("label sums", "predictions add up as labels do", violation(added)),
        Symmetry("zero labels", "labels of zero give zero", violation(answers["none"])),
        Symmetry(
            "order",
            "the order of the examples does not matter",
            violation(answers["permuted"] - plain),
        ),
        Symmetry(
            "rotation",
            "rotated inputs change nothing",
            violation(answers["rotated"] - plain),
        ),
        Symmetry(
            "input scale",
            "doubled inputs, the query too, change nothing",
            violation(answers["scaled"] - plain),
        ),
    )
    moved = answers["outlier"] - plain
    small = (answers["nudged"] - plain) * (_OUTLIER / _NUDGE)
    change = violation(moved)
    ends = np.sqrt(np.maximum([change.value, change.lower, change.upper], 0))
    linearity = ratio(moved * small, small**2, weights)
    return found, Influence(Interval(*map(float, ends)), linearity)


@eqx.filter_jit
def _changed(prompts: Prompt, key: PRNGKeyArray) -> dict[str, Prompt]:
    spread = jnp.std(prompts.labels)
    keys = jax.random.split(key, len(prompts.target))
    # Labels that other weights would give: those of the next prompt's weights are not
    # known, but any vector of labels will do for sums.
    others = jnp.roll(prompts.labels, 1, axis=0)

    def one(prompt: Prompt, other: Float[Array, " n"], key: PRNGKeyArray):
        for_order, for_turn, for_outlier = jax.random.split(key, 3)
        n, d = prompt.examples.shape
        order = jax.random.permutation(for_order, n)
        R, _ = jnp.linalg.qr(jax.random.normal(for_turn, (d, d)))
        hit = jax.nn.one_hot(jax.random.randint(for_outlier, (), 0, n), n) * spread

        def new(examples=prompt.examples, labels=prompt.labels, query=prompt.query):
            return Prompt(examples, labels, query, prompt.target)

        y = prompt.labels
        return {
            "plain": new(),
            "doubled": new(labels=2 * y),
            "others": new(labels=other),
            "both": new(labels=y + other),
            "none": new(labels=0 * y),
            "permuted": new(prompt.examples[order], y[order]),
            "rotated": new(prompt.examples @ R.T, query=R @ prompt.query),
            "scaled": new(2 * prompt.examples, query=2 * prompt.query),
            "outlier": new(labels=y + _OUTLIER * hit),
            "nudged": new(labels=y + _NUDGE * hit),
        }

    return jax.vmap(one)(prompts, others, keys)
