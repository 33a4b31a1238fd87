"""Sampled risks: exact values, common prompts, honest error bars."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.algorithms import Averaging, LeastSquares, Zero
from iclab.core import AbstractPredictor, Mixture
from iclab.evaluation import HeavyTails, prompt_average, sampled_risk
from iclab.models import LinearSelfAttention, LoopedTransformer
from iclab.tasks import LinearRegression
from iclab.theory import looped_loss
from tests.assertions import assert_close, assert_estimated, assert_mean_close
from tests.refusals import refused

COVARIANCE = jnp.diag(jnp.array([1.0, 0.5, 0.2]))
TASK = LinearRegression(COVARIANCE)


def _key(seed):
    """XLA's own generator, which compiles quickly."""
    return jax.random.key(seed, impl="rbg")


# The prompts that 50 of a key are; compiled once, not operation by operation.
_fifty = jax.jit(lambda key: TASK.sample_batch(jax.random.fold_in(key, 0), 50, 4))


def _risks(predictors, prompts, seed=0, examples=4):
    return sampled_risk(
        predictors, TASK, examples=examples, prompts=prompts, key=_key(seed)
    )


def test_known_risks_lie_in_their_intervals():
    risks = _risks({"zero": Zero(), "ls": LeastSquares()}, 2**14 + 1)
    mean, error = risks["zero"]
    assert_mean_close(mean, error, 1.7)
    # E(wᵀx)⁴ = 3((tr Λ)² + 2 tr Λ²) gives the exact spread of the zero predictor.
    spread = np.sqrt(3 * (1.7**2 + 2 * 1.29) - 1.7**2)
    # Two whole chunks were drawn; a standard deviation of such tails is good to 10 %.
    assert_close(error, spread / np.sqrt(2 * 2**14), rtol=0.1)
    # Four noiseless examples determine three weights, up to conditioning.
    assert_close(risks["ls"].mean, 0.0, atol=1e-9)


def test_all_predictors_see_the_same_prompts():
    risks = _risks({"a": Zero(), "b": Zero(), "c": Averaging()}, 50)
    assert_close([*risks["a"]], [*risks["b"]], rtol=0, atol=0)
    batch = _fifty(_key(0))
    predictions = jax.jit(jax.vmap(Averaging()))(batch)
    errors = (np.asarray(predictions) - np.asarray(batch.target)) ** 2
    assert_close([*risks["c"]], [errors.mean(), errors.std(ddof=1) / np.sqrt(50)])


def test_keys_decide():
    predictors = {"a": Zero(), "b": Zero(), "c": Averaging()}
    first, again = (_risks(predictors, 50)["c"] for _ in range(2))
    assert_close([*first], [*again], rtol=0, atol=0)
    assert first.mean != _risks(predictors, 50, seed=1)["c"].mean


def test_mean_and_error_are_those_of_the_prompts():
    estimate = prompt_average(
        lambda prompt: {"target": prompt.target, "x": prompt.query},
        TASK,
        examples=4,
        prompts=50,
        key=_key(3),
    )
    assert estimate.draws == 50
    batch = _fifty(_key(3))
    target, query = np.asarray(batch.target), np.asarray(batch.query)
    assert_close(estimate.mean["target"], target.mean())
    assert_close(estimate.mean["x"], query.mean(axis=0))
    error = target.std(ddof=1) / np.sqrt(50)
    assert_close(estimate.standard_error["target"], error)
    assert estimate.standard_error["x"].shape == (3,)


def test_one_prompt_has_no_error_bar():
    with refused(
        "sampled_risk: `prompts` must be an integer from 2 to 10,000,000,000, got 1"
    ):
        _risks({"zero": Zero()}, 1)


class Eruption(AbstractPredictor):
    """Right but for the rare prompt, of which it makes too much."""

    def __call__(self, prompt):
        return jnp.exp(7 * prompt.query[0] ** 2)


def test_a_mean_of_one_prompt_is_unknown():
    with pytest.warns(HeavyTails, match="the mean of 'wild' is unknown: one of 1,000"):
        found = _risks({"wild": Eruption(), "zero": Zero()}, 1000)
    assert np.isnan(found["wild"].mean)
    assert found["wild"].largest_share > 0.05
    assert np.isfinite(found["zero"].mean)


@pytest.mark.everything
def test_rare_prompts_are_made_frequent():
    """Ten loops with a step at which a few prompts in ten thousand carry the loss."""
    task, setting = LinearRegression(jnp.eye(2)), {"examples": 5, "prompts": 20_000}
    model = {"loops": LoopedTransformer(0.75 * jnp.eye(2), loops=10)}
    exact = float(
        looped_loss(0.75 * jnp.eye(2), covariance=jnp.eye(2), samples=5, loops=10)
    )
    plain = sampled_risk(model, task, **setting, key=_key(0), mixture=False)["loops"]
    assert abs(float(plain.mean) - exact) > 5 * float(plain.standard_error)
    for mixture in (None, True, Mixture([1.0, 3.0])):
        found = sampled_risk(model, task, **setting, key=_key(0), mixture=mixture)
        assert_estimated(found["loops"], exact)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: _risks({"mine": abs}, 9),
            "sampled_risk: `predictors['mine']` must be a predictor (`core.Foreign`"
            " makes one of a function of arrays), got <built-in function abs>",
        ),
        (
            lambda: _risks({"zero": Zero()}, 0),
            "sampled_risk: `prompts` must be an integer ≥ 1, got 0",
        ),
        (
            lambda: _risks({"zero": Zero()}, 10, examples=0),
            "sampled_risk: `examples` must be an integer ≥ 1, got 0",
        ),
        (
            lambda: _risks({"zero": Zero()}, 2.5),
            "sampled_risk: `prompts` must be an integer ≥ 1, got 2.5",
        ),
        (
            lambda: _risks(
                {"lsa": LinearSelfAttention.from_blocks(jnp.eye(2), 1.0)}, 9
            ),
            "LinearSelfAttention: `prompt` must be of dimension 2, the predictor's own,"
            " got dimension 3",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_mistakes_are_named(call, message):
    with refused(message):
        call()


def test_what_makes_many_numbers_is_averaged_in_parts(monkeypatch, getkey):
    task, key = LinearRegression(jnp.eye(2)), getkey()

    def average():
        statistic = lambda prompt: jnp.sum(  # noqa: E731  new, so compiled anew
            jnp.tanh(prompt.examples @ prompt.examples.T)
        )
        return prompt_average(statistic, task, examples=6, prompts=50, key=key)

    whole = average()
    monkeypatch.setattr("iclab.evaluation._risk._AT_ONCE", 7 * 36)
    assert_close(average().mean, whole.mean, rtol=1e-12)
