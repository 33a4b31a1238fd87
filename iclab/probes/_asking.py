"""What a model can be asked: its longest prompts, and its habits with batches."""

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import numpy as np

from iclab.core import AbstractPredictor, Foreign, Prompt
from iclab.probes._predictions import predictions

# Prompts for trying, and differences that are round-off.
_TRIED, _ROUND_OFF = 16, 1e-5


@dataclass(frozen=True)
class Asked:
    """A predictor that can be asked, the lengths that it answers, and what was odd."""

    predictor: AbstractPredictor
    shortest: int
    longest: int
    notes: tuple[str, ...]


def prepared(
    predictor: AbstractPredictor, prompts: Prompt, lengths: Sequence[int]
) -> Asked:
    """Try a few prompts of all `lengths`, and find how short and long they may be.

    A function that fails with a batch is asked prompt by prompt. One that answers no
    length is refused with its own words.
    """
    few = jax.tree.map(lambda leaf: leaf[:_TRIED], prompts)
    notes: list[str] = []
    if isinstance(predictor, Foreign):
        predictor = _watched(predictor, few, max(lengths), notes)
    answered = {n: _refusal(predictor, few, n) for n in sorted(set(lengths))}
    fine = [n for n, words in answered.items() if words is None]
    if not fine:
        predictions(predictor, few, [min(lengths)])  # raises
    low, high = fine[0], fine[-1]
    refused = {n: words for n, words in answered.items() if words is not None}
    below = [n for n in refused if n < low]
    above = [n for n in refused if n > high]
    if below:
        low = _edge(predictor, few, bad=max(below), good=low)
        notes.append(f"It needs at least {low} examples: {refused[max(below)]}.")
    if above:
        high = _edge(predictor, few, bad=min(above), good=high)
        notes.append(f"It takes at most {high} examples: {refused[min(above)]}.")
    for n in set(refused) - set(below) - set(above):
        notes.append(f"It does not answer {n} examples: {refused[n]}.")
    if isinstance(predictor, Foreign):
        predictor = _alone(predictor, few, fine, notes)
    return Asked(predictor, low, high, tuple(notes))


def _refusal(predictor: AbstractPredictor, few: Prompt, n: int) -> str | None:
    """Why prompts of n examples are not answered."""
    try:
        predictions(predictor, few, [n])
    except ValueError as error:
        words = str(error).partition("`function` ")[2] or str(error)
        return words.removeprefix("must be ").rstrip(".")
    return None


def _edge(predictor, few: Prompt, *, bad: int, good: int) -> int:
    """The last length that is answered, on the way to one that is not."""
    while abs(bad - good) > 1:
        middle = (bad + good) // 2
        if _refusal(predictor, few, middle) is None:
            good = middle
        else:
            bad = middle
    return good


def _watched(model: Foreign, few: Prompt, n: int, notes: list[str]) -> Foreign:
    """Note a function that changes its input; ask one that fails prompt by prompt."""
    X, y = np.array(few.examples, float)[:, :n], np.array(few.labels, float)[:, :n]
    given = (X, y, np.array(few.query, float))
    copies = [np.array(one) for one in given]
    try:
        answer = np.asarray(model.function(*given))
    except Exception:  # said later, in its own words
        return model
    same = all(np.array_equal(*two) for two in zip(given, copies, strict=True))
    if not same:
        notes.append("It changes the arrays that it is given; it was given copies.")
    if answer.shape != (len(y),) and answer.size < 2 * len(y):
        alone = _one_by_one(model)
        if _refusal(alone, few, n) is None:
            shape = f"shape {answer.shape}"
            notes.append(
                f"It ignores its batch axis ({len(y)} prompts are answered with {shape}"
                "); it was asked one prompt at a time."
            )
            return alone
    return model


def _alone(
    model: Foreign, few: Prompt, fine: Sequence[int], notes: list[str]
) -> Foreign:
    """Note answers that are random, or depend on the rest of the batch."""
    n = fine[-1]
    first, again = (predictions(model, few, [n])[:, 0] for _ in range(2))
    size = max(float(np.sqrt(np.mean(first**2))), 1e-30)
    random = float(np.mean((first - again) ** 2)) / size**2
    if random > _ROUND_OFF**2:
        notes.append(
            f"It is random from call to call: two calls differ by {100 * random:.2g} %"
            " of E ŷ²."
        )
        return model
    alone = _one_by_one(model)
    if _refusal(alone, few, n) is not None:
        return model
    turned = jax.tree.map(lambda leaf: leaf[::-1], few)
    other = predictions(model, turned, [n])[::-1, 0]
    single = predictions(alone, few, [n])[:, 0]
    gap = max(float(np.max(np.abs(one - first))) for one in (other, single))
    if gap <= 10 * _ROUND_OFF * size:
        return model
    constant = np.ptp(first) <= _ROUND_OFF * size
    how = (
        "It ignores its batch axis: one answer for all prompts of a batch"
        if constant
        else "Its answer depends on the place in the batch or on the other prompts"
    )
    notes.append(f"{how}; it was asked one prompt at a time.")
    return alone


def _one_by_one(model: Foreign) -> Foreign:
    def function(X, y, q):
        pairs = zip(X[:, None], y[:, None], q[:, None], strict=True)
        return np.array([np.asarray(model.function(*one)).reshape(()) for one in pairs])

    return Foreign(function)
