"""`check_predictor` and `check_task` refuse what breaks a rule, and say which."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.core import AbstractPredictor
from iclab.tasks import LinearRegression
from iclab.tasks._task import AbstractTask
from iclab.testing import check_predictor, check_task
from iclab.testing._compare import agree


class PerRow(AbstractPredictor):
    """Counts the padding as examples."""

    def __call__(self, prompt):
        return prompt.query @ (prompt.labels @ prompt.examples) / len(prompt.labels)


class Peeks(AbstractPredictor):
    """Looks at the answer."""

    def __call__(self, prompt):
        return jnp.where(jnp.isnan(prompt.target), 0.0, 1.0)


class Vector(AbstractPredictor):
    """Answers with a vector."""

    def __call__(self, prompt):
        return prompt.query


class NotANumber(AbstractPredictor):
    """Divides by zero."""

    def __call__(self, prompt):
        return 0.0 * prompt.query[0] / 0.0


class OfSix(AbstractPredictor):
    """Has weights for six dimensions."""

    weights: jax.Array

    def __call__(self, prompt):
        return prompt.query @ self.weights @ prompt.correlation()


class Deepish(AbstractPredictor):
    """Says that it has a depth, and ends elsewhere."""

    depth: int = 1

    def __call__(self, prompt):
        return 0.0 * prompt.query[0] + 1.0

    def predictions_by_depth(self, prompt):
        return jnp.zeros(2)

    def streams(self, prompt):
        return jnp.zeros((2, 3))


@pytest.mark.parametrize(
    ("predictor", "sentence"),
    [
        (PerRow(), r"^PerRow: from the first 1 of 5 examples it predicts .*, and from a"
                   r" prompt of these 1 alone .*: rows from `prompt.count` on are"
                   " padding, and `prompt.count`, not the number of rows, says how many"
                   " examples there are$"),
        (Peeks(), "^Peeks: without a target it predicts 0.*, and with one 1.*: it looks"
                  " at the answer$"),
        (Vector(), r"^Vector: its prediction must have shape \(\), got \(3,\)$"),
        (NotANumber(), r"^NotANumber: its prediction must be finite, got nan$"),
        (OfSix(jnp.eye(6)), "^OfSix: a prompt of 5 examples in 3 dimensions, the"
                            " `examples` and `dimension` of check_predictor, stops it"
                            " with TypeError: "),
        (Deepish(), "^Deepish: `predictions_by_depth` ends with 0.*, and it predicts"),
        (print, "^builtin_function_or_method is no predictor: subclass"
                " core.AbstractPredictor, or wrap a function in core.Foreign$"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
@pytest.mark.usefixtures("unchecked")
def test_predictors_that_break_a_rule(predictor, sentence):
    with pytest.raises(AssertionError, match=sentence):
        check_predictor(predictor)


def test_numbers_that_look_alike_are_said_to_differ():
    sentence = r"^Mine: 0.5, and 0.5 \(1e-07 apart; see `tolerance`\)$"
    with pytest.raises(AssertionError, match=sentence):
        agree(np.array(0.5), np.array(0.5 + 1e-7), "Mine", "{}, and {}")
    agree(np.array(0.5), np.array(0.5 + 1e-7), "Mine", "{}, and {}", 1e-6)


def test_sizes_of_prompts():
    with pytest.raises(ValueError, match="`examples` must be ≥ 2, got 1"):
        check_predictor(PerRow(), examples=1)


class Task(AbstractTask):
    """A task whose pieces can be broken, one at a time."""

    broken: str = ""
    dimension: int = 2

    def latent(self, key):
        return jax.random.normal(key, (2,))

    def inputs(self, latent, count, key):
        shape = (2,) if self.broken == "inputs" else (count, 2)
        return jax.random.normal(key, shape)

    def labels(self, latent, inputs):
        labels = inputs @ latent
        return labels - labels[0] / 2 if self.broken == "neighbours" else labels

    def noise(self, latent, count, key):
        key = jax.random.key(0) if self.broken == "noise" else key
        shape = (count, 1) if self.broken == "column" else (count,)
        return jax.random.normal(key, shape)

    def target_noise(self, latent, key):
        return jnp.nan if self.broken == "nan" else 0.0


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        ("neighbours", "^Task: inputs one by one have the labels .* together .*: the"
                       " target would not be what an example's label is$"),
        ("inputs", r"^Task: `inputs` \(count, dimension\) must have shape \(4, 2\),"
                   r" got \(2,\)$"),
        ("column", r"^Task: `noise` \(count\) must have shape \(4,\), got"
                   r" \(4, 1\)$"),
        ("noise", "^Task: two keys give the same noise"),
        ("nan", "^Task: `target` of a prompt must be finite, got nan$"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("unchecked")
def test_tasks_that_break_a_rule(broken, sentence):
    with pytest.raises(AssertionError, match=sentence):
        check_task(Task(broken))


@pytest.mark.usefixtures("unchecked")
def test_a_task_of_ones_own():
    check_task(Task())
    check_task(LinearRegression(jnp.eye(2)))  # without noise
    with pytest.raises(AssertionError, match=r"^str is no task: subclass tasks"):
        check_task("linear")
