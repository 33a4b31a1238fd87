"""The verdict: the right name, or the word that says that there is none."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.probe import cell, covered
from benchmarks.probe_zoo import methods
from iclab.algorithms import GradientDescent, PreconditionedGradientDescent, Ridge
from iclab.core import AbstractPredictor, Foreign
from iclab.probes import Family, judge
from iclab.probes._bayes import bayes_predictions
from iclab.probes._kinds import changes, sizes_of
from iclab.probes._spectra import Moments, Sample
from iclab.tasks import LinearRegression
from iclab.training import trained_lsa
from tests.assertions import assert_close
from tests.probes.models import PROMPTS, TASK, D, Mixture, N, NearestNeighbour
from tests.refusals import refused

ZOO = {one.label: (i, one) for i, one in enumerate(methods(5, 10))}
# A method of every branch; the whole zoo is `python -m benchmarks.probe`.
SHOWN = {
    "heavy ball 4": "name",
    "Kaczmarz 1": "name",
    "attention 1 × 0.7": "name",
}


class Waves(AbstractPredictor):
    """A predictor, and waves in the query and the first label."""

    predictor: AbstractPredictor
    size: float

    def __call__(self, prompt):
        wave = jnp.sin(40 * prompt.query[0] + 7 * prompt.labels[0])
        return self.predictor(prompt) + self.size * jnp.sqrt(2.0) * wave


@pytest.mark.parametrize("label", SHOWN)
def test_names(label):
    index, method = ZOO[label]
    found = cell(method, index, 10, 0.5)
    assert found.outcome == SHOWN[label], found.words


# Their own family is nearest, and yet a little too far: records/probe.md.
MISSED = {"Huber 0.3"}


@pytest.mark.everything
@pytest.mark.parametrize("label", ZOO)
def test_no_method_gets_a_wrong_name(label):
    index, method = ZOO[label]
    found = cell(method, index, 10, 0.5).outcome
    assert found != "WRONG"
    assert (found == "missed") <= (label in MISSED)


def test_a_part_that_nothing_explains():
    """Waves that are 1 % of the predictions: closest, never *is*; the name stays."""
    found = judge(Waves(Ridge(0.2 * N), 0.1), PROMPTS, task=TASK)
    assert found.verdict == "closest"
    assert found.name == "ridge"
    assert found.fit is not None
    low, high = found.fit.intervals["tau"]
    middle = (low + high) / 2
    # Twice the interval, so that one seed in ten is no failure.
    assert abs(0.2 - middle) < high - low
    assert found.fit.distance.lower < found.fit.distance.value < 0.05
    assert "order" in found.broken


def test_what_a_test_excludes_is_not_named():
    """Two thirds ridge, one third neighbour: near enough to ridge, of another kind."""
    found = judge(Mixture(Ridge(1.0), NearestNeighbour()), PROMPTS, task=TASK)
    assert found.verdict == "none"
    assert found.fit is None
    assert {"signs", "query sums"} <= set(found.broken)
    ridge = next(f for f in found.fits if f.name == "ridge")
    assert "signs" in (ridge.excluded or ())


def test_rivals_and_own_families_compete_as_equals():
    def halved(X, y, q, *, penalty: Any = (1e-3, 1e2), power: Any = range(1, 3)):
        n, d = X.shape[1:]
        S = np.einsum("bni,bnj->bij", X, X) / n + penalty * np.eye(d)
        c = np.einsum("bni,bn->bi", X, y)[:, :, None] / n
        for _ in range(power):
            c = np.linalg.solve(S, c)
        return np.einsum("bi,bi->b", c[:, :, 0], q) / 2

    true = Foreign(lambda X, y, q: halved(X, y, q, penalty=0.3, power=2))
    found = judge(true, PROMPTS, task=TASK, families=[halved])
    assert (found.verdict, found.name) == ("is", "halved")
    assert found.fit is not None
    assert found.fit.parameters["power"] == 2
    assert_close(found.fit.parameters["penalty"], 0.3, rtol=1e-5)
    rival = judge(true, PROMPTS, task=TASK, against={"mine": true})
    assert (rival.verdict, rival.name) == ("is", "mine")
    alone = judge(true, PROMPTS, task=TASK)
    assert alone.verdict != "is"
    rule = "(low, high), or a range of whole numbers, got 3"
    with refused(f"Family: `penalty` must be {rule}"):
        Family("bad", halved, {"penalty": 3})


def test_a_matrix_of_its_own():
    """Linear attention trained on another covariance takes a preconditioned step."""
    covariance = jnp.diag(jnp.array([0.3, 1.0, 3.0]))
    found = judge(trained_lsa(covariance, N), PROMPTS, task=TASK)
    assert (found.verdict, found.name) == ("is", "gradient descent with a matrix")
    assert found.fit is not None
    p = found.fit.parameters
    matrix = np.array(
        [[p[f"Q{min(i, j)}{max(i, j)}"] for i in (1, 2, 3)] for j in (1, 2, 3)]
    )
    Lambda, trace = covariance, jnp.trace(covariance)
    expected = jnp.linalg.inv((1 + 1 / N) * Lambda + trace / N * jnp.eye(D))
    assert_close(matrix, expected, rtol=1e-6, atol=1e-8)


def test_whitened_inputs():
    """Steps with Λ⁻¹ are plain gradient descent in whitened inputs."""
    covariance = jnp.diag(jnp.array([0.3, 1.0, 3.0]))
    task = LinearRegression(covariance)
    prompts = task.sample_batch(jax.random.key(3), 512, N)
    model = PreconditionedGradientDescent(
        jnp.linalg.inv(covariance), jnp.array([0.2, 0.2])
    )
    found = judge(model, prompts, task=task)
    assert found.fit is not None
    assert (found.name, found.fit.metric) == ("gradient descent", "whitened")
    assert_close(found.fit.parameters["step"], 0.2, rtol=1e-6)


def test_the_bayes_rule_of_noisy_labels():
    task = LinearRegression(jnp.eye(D), noise_std=0.5)
    prompts = task.sample_batch(jax.random.key(4), 512, N)
    found = judge(Ridge(0.25), prompts, task=task)
    assert (found.verdict, found.name) == ("is", "Bayes rule")


def test_bayes_with_a_prior():
    """Against the posterior mean written with n × n matrices."""
    Omega, sigma = np.diag([2.0, 1.0, 0.1]), 0.3
    prior = jnp.asarray(Omega)
    task = LinearRegression(jnp.eye(D), weight_covariance=prior, noise_std=sigma)
    prompts = task.sample_batch(jax.random.key(5), 8, N)
    X, y, q = (np.asarray(a) for a in (prompts.examples, prompts.labels, prompts.query))
    K = X @ Omega @ X.transpose(0, 2, 1) + sigma**2 * np.eye(N)
    solved = np.linalg.solve(K, y[:, :, None])[:, :, 0]
    expected = np.einsum("pd,pnd,pn->p", q @ Omega, X, solved)
    assert_close(bayes_predictions(task, Moments.of(prompts, N)), expected)
    fixed = LinearRegression(jnp.eye(D), weight=jnp.ones(D))
    assert bayes_predictions(fixed, Moments.of(prompts, N)) is None


def test_changed_prompts_are_of_the_law():
    """Second moments of labels and queries stay, examples keep their labels."""
    sample = Sample.of(PROMPTS, N)
    changed = changes(sample, TASK, jax.random.key(0)).samples
    for one in changed.values():
        if one is not changed["no labels"]:
            assert_close(np.std(one.labels), np.std(sample.labels), rtol=0.1)
        assert_close(np.std(one.query), 1.0, rtol=0.1)
        assert_close(np.std(one.examples), 1.0, rtol=0.1)
    w = np.linalg.pinv(sample.examples) @ sample.labels[:, :, None]
    turned = changed["signs"]
    assert_close((turned.examples @ w)[:, :, 0], turned.labels, atol=1e-9)


def test_one_large_answer_decides_nothing():
    answers = np.random.default_rng(0).normal(size=1000)
    assert_close(sizes_of(answers), np.ones(1000))
    answers[0] = 1e6
    assert abs(sizes_of(answers)[0] * answers[0]) < 10


def test_intervals_cover():
    """90 % intervals, over few repetitions; `benchmarks/probe.py` has 200."""
    found = covered("ridge", {"tau": 0.2}, 10, 30)
    assert min(found.values()) > 0.7


def test_gradient_descent_with_waves_keeps_its_steps():
    found = judge(Waves(GradientDescent(jnp.full(5, 0.2)), 0.03), PROMPTS, task=TASK)
    fit = next(one for one in found.fits if one.name == "gradient descent")
    assert 3 <= fit.parameters["steps"] <= 8
