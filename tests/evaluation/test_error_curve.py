"""Error curves: known risks, common prompts, intervals that cover."""

from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from iclab.algorithms import LeastSquares, Zero
from iclab.evaluation import (
    ErrorCurve,
    HeavyTails,
    common_prompts,
    error_curve,
    error_curve_of,
    paired_curves,
    predictions,
    squared_errors,
)
from iclab.models import LinearSelfAttention, LoopedTransformer
from iclab.tasks import LinearRegression
from iclab.theory import looped_loss, lsa_risk
from tests.assertions import assert_close, assert_mean_close
from tests.refusals import refused

D = 3
TASK = LinearRegression(jnp.eye(D))


def _key(seed=0):
    """XLA's own generator, which compiles quickly."""
    return jax.random.key(seed, impl="rbg")


@jax.jit
def _hundred(key):
    """Prompts; compiled once, not operation by operation."""
    return TASK.sample_batch(key, 100, 4)


def _covariance(key):
    return LinearRegression(jax.random.exponential(key) * jnp.eye(D))


def test_known_risks():
    model = LinearSelfAttention.from_blocks(0.5 * jnp.eye(D), 1.0)
    predictors = {"zero": Zero(), "ols": LeastSquares(), "lsa": model}
    curves = error_curve(
        predictors, TASK, [2, 5], groups=20, prompts=100, normalisation=D, key=_key()
    )
    for name, expected in (
        ("zero", [1.0, 1.0]),
        ("ols", [1 - 2 / 3, 0.0]),
        ("lsa", [lsa_risk(0.5 * jnp.eye(D), jnp.eye(D), M) / D for M in (2, 5)]),
    ):
        curve = curves[name]
        assert curve.lengths.tolist() == [2, 5]
        # A 90 % interval is about 2 · 1.645 standard errors wide.
        error = (curve.upper - curve.lower) / 3.29
        assert_mean_close(curve.mean, error + 1e-12, expected)
        assert np.all(curve.lower <= curve.mean)
        assert np.all(curve.mean <= curve.upper)


def test_prompts_are_common_and_prefixes():
    prompts = jax.tree.map(lambda leaf: leaf[:5], _hundred(_key()))
    found = squared_errors(LeastSquares(), prompts, jnp.array([4, 1]))
    predict = jax.jit(lambda prompt, n: LeastSquares()(prompt.prefix(n)))
    for i in range(5):
        prompt = jax.tree.map(lambda leaf, i=i: np.asarray(leaf)[i], prompts)
        for j, n in enumerate((4, 1)):
            error = (predict(prompt, jnp.asarray(n)) - prompt.target) ** 2
            assert_close(found[i, j], error, rtol=1e-8, atol=1e-20)


def test_more_prompts_than_a_chunk():
    prompts = _hundred(_key())
    found = squared_errors(Zero(), prompts, jnp.array([1]))
    assert_close(found[:, 0], prompts.target**2)


def test_intervals_know_groups():
    """Errors of a group share its scale: fewer groups, wider intervals."""
    widths = []
    for groups, prompts in ((64, 64), (8, 512)):
        curve = error_curve(
            {"zero": Zero()}, _covariance, [1], groups=groups, prompts=prompts,
            key=_key(),
        )["zero"]  # fmt: skip
        # E of the scale is 1 and its variance 1: the standard error is about D/√groups.
        error = float(curve.upper[0] - curve.lower[0]) / 3.29
        assert 0.4 < error * np.sqrt(groups) / D < 2.5
        assert_mean_close(curve.mean[0], error, D)
        widths.append(error)
    assert widths[1] > widths[0]


def test_intervals_cover():
    """Nine in ten intervals hold the true mean."""
    hits = 0
    for seed in range(100):
        curve = error_curve(
            {"zero": Zero()}, TASK, [1], groups=20, prompts=20, draws=200,
            key=_key(seed),
        )["zero"]  # fmt: skip
        hits += bool(curve.lower[0] <= D <= curve.upper[0])
    assert 78 <= hits <= 98  # binomial, four standard deviations below


def test_refusals():
    run = lambda lengths, **options: error_curve(  # noqa: E731
        {"zero": Zero()}, TASK, lengths, key=_key(), **options
    )
    with refused("error_curve: `lengths` must be ≥ 1, got 0"):
        run([2, 0])
    with refused(
        "error_curve: `lengths` must be a list of integers, at least one, got float64"
        " of shape (0,)"
    ):
        run([])
    with refused(
        "error_curve: `lengths` must be an integer of at most 16,777,216, got"
        " 1073741824"
    ):
        run([1, 2**30])
    with refused("error_curve: `level` must be between 0 and 1, got 1.5"):
        run([1], level=1.5)
    with refused("error_curve: `groups` must be an integer ≥ 1, got 0"):
        run([1], groups=0)
    with refused("error_curve: `normalisation` must be > 0 and finite, got inf"):
        run([1], normalisation=np.inf)
    bad = LinearSelfAttention.from_blocks(1e300 * jnp.eye(D), 1e300)
    with refused(
        "error_curve: `predictors` must be finite on every prompt, got others from"
        " 'bad'"
    ):
        error_curve({"bad": bad}, TASK, [2, 5], groups=20, prompts=100, key=_key())


def test_predictions_from_elsewhere_give_the_same_curve():
    sizes = {"groups": 8, "prompts": 25}
    options = {"normalisation": 3.0, "level": 0.8, "draws": 50}
    ours = error_curve(
        {"ols": LeastSquares()}, _covariance, [1, 4], key=_key(), **sizes, **options
    )["ols"]
    for_prompts, for_draws = jax.random.split(_key())
    batch = common_prompts(_covariance, 4, key=for_prompts, **sizes)
    answers = np.asarray(predictions(LeastSquares(), batch, [1, 4]))
    elsewhere = error_curve_of(
        {"theirs": answers}, np.asarray(batch.target), [1, 4], groups=8, key=for_draws,
        **options,
    )["theirs"]  # fmt: skip
    for name in ("lengths", "mean", "lower", "upper", "errors"):
        assert_close(getattr(elsewhere, name), getattr(ours, name), rtol=0, atol=0)


def _curve(errors, groups=None, draws=400) -> ErrorCurve:
    zeros = np.zeros(len(errors))
    found = error_curve_of(
        {"a": np.sqrt(errors)}, zeros, [1], groups=groups, draws=draws, key=_key()
    )
    return found["a"]


def test_medians_quantiles_and_trimmed_means():
    errors = np.random.default_rng(0).exponential(size=(1000, 1))
    curve = _curve(errors)
    for probability in (0.0, 0.3, 0.5, 0.95, 1.0):
        found = curve.quantile(probability)
        expected = np.quantile(errors, probability, method="inverted_cdf")
        assert_close(found.value, [expected])
    assert_close(curve.median().value, curve.quantile(0.5).value)
    trimmed = curve.trimmed_mean(0.2)
    assert_close(trimmed.value, [scipy.stats.trim_mean(errors[:, 0], 0.2)])
    assert_close(curve.trimmed_mean(0.0).value, curve.mean)
    assert_close(curve.trimmed_mean(0.0).lower, curve.lower)
    # A median has standard error 1/(2f√n) with density f = 1/2, so 1/√n.
    error = float(curve.median().upper[0] - curve.median().lower[0]) / 3.29
    assert 0.7 < error * np.sqrt(1000) < 1.4
    assert trimmed.lower[0] < trimmed.value[0] < trimmed.upper[0]


def test_quantiles_know_groups():
    """Prompts that copy each other are one prompt."""
    errors = np.random.default_rng(1).exponential(size=(50, 1))
    alone, copied = _curve(errors), _curve(np.repeat(errors, 4, axis=0), groups=50)
    for one, other in (
        (alone.median(), copied.median()),
        (alone.trimmed_mean(), copied.trimmed_mean()),
    ):
        assert_close(one.value, other.value)
        assert_close(one.lower, other.lower)
        assert_close(one.upper, other.upper)


def test_a_mean_that_one_prompt_carries_is_unknown():
    errors = np.ones((200, 1))
    errors[17] = 1e6
    message = "the mean of 'a' is unknown after 1 examples: one of 200 prompts"
    with pytest.warns(HeavyTails, match=message):
        curve = _curve(errors)
    assert np.isnan(curve.mean).all()
    assert_close(curve.median().value, [1.0])
    assert_close(curve.trimmed_mean().value, [1.0])
    _curve(errors[:50])  # of few prompts one may well be much


@pytest.mark.everything
def test_curves_from_a_mixture():
    """Ten loops whose errors a few prompts in ten thousand carry."""
    task, A = LinearRegression(jnp.eye(2)), 0.75 * jnp.eye(2)
    model = {"loops": LoopedTransformer(A, loops=10)}
    lengths = [5, 10]
    curve = error_curve(model, task, lengths, groups=100, key=_key(), mixture=True)
    found = curve["loops"]
    for j, n in enumerate(lengths):
        exact = looped_loss(A, covariance=jnp.eye(2), samples=n, loops=10)
        # Intervals of 90 %; twice as wide, they hold nearly always.
        assert abs(found.mean[j] - exact) < found.upper[j] - found.lower[j]
        assert found.median().value[j] < exact
    with pytest.warns(HeavyTails, match="unknown after 10 examples"):
        plain = error_curve(model, task, [10], groups=100, key=_key())["loops"]
    # Medians are the same ones: weighted here, plain there.
    here, there = found.median(), plain.median()
    wide = (here.upper - here.lower)[1] + (there.upper - there.lower)[0]
    assert abs(here.value[1] - there.value[0]) < wide
    other = paired_curves(
        model["loops"], Zero(), task, [5], groups=100, key=_key(), mixture=True
    )
    assert other.distance.weights is not None


def test_refusals_of_what_was_made_elsewhere():
    run = lambda found, **options: error_curve_of(  # noqa: E731
        {"a": found}, np.zeros(6), [1, 2], key=_key(), **options
    )
    with refused(
        "error_curve_of: `predictions` must be arrays of shape (6, 2), got shape"
        " (6, 3) for 'a'"
    ):
        run(np.zeros((6, 3)))
    with refused(
        "error_curve_of: `groups` must be a divisor of the number of prompts, 6, got 4"
    ):
        run(np.zeros((6, 2)), groups=4)
    curve = run(np.zeros((6, 2)))["a"]
    with refused("ErrorCurve.quantile: `probability` must be between 0 and 1, got 2.0"):
        curve.quantile(2)
    with refused(
        "ErrorCurve.trimmed_mean: `fraction` must be at least 0 and below 1/2, got 0.5"
    ):
        curve.trimmed_mean(0.5)


@pytest.mark.usefixtures("unchecked")
def test_a_function_is_no_predictor():
    with refused(
        "error_curve: `predictors['mine']` must be a predictor (`core.Foreign` makes"
        " one of a function of arrays), got <built-in function abs>"
    ):
        error_curve(cast(Any, {"mine": abs}), TASK, [1], key=_key())
    with refused("error_curve: `predictors` must be a dictionary, got Zero()"):
        error_curve(cast(Any, Zero()), TASK, [1], key=_key())
