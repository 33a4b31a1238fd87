"""Error curves: known risks, common prompts, intervals that cover."""

import jax
import jax.numpy as jnp
import numpy as np

from iclab.algorithms import LeastSquares, Zero
from iclab.evaluation import error_curve, squared_errors
from iclab.models import LinearSelfAttention
from iclab.tasks import LinearRegression
from iclab.theory import lsa_risk
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
    with refused("error_curve: `lengths` must be an integer ≥ 1, got 0"):
        run([2, 0])
    with refused("error_curve: `lengths` must be at least one length, got none"):
        run([])
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
