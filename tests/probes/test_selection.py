"""The families: every algorithm is called by its name."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.probe import Disturbed as Waves, known_models
from iclab.algorithms import GradientDescent, PreconditionedGradientDescent, Ridge
from iclab.probes import fit_families
from iclab.probes._bayes import bayes_predictions
from iclab.probes._selection import step_sizes
from iclab.probes._spectra import Moments
from iclab.probes._words import as_predictor
from iclab.tasks import LinearRegression
from iclab.training import trained_lsa
from tests.assertions import assert_close
from tests.probes.models import PROMPTS, TASK, D, Mixture, N, NearestNeighbour

KNOWN = known_models(D, N)


@pytest.mark.parametrize("model", KNOWN)
def test_names(model):
    """A small part of the table that `benchmarks/probe.py` prints."""
    predictor, name, parameters = KNOWN[model]
    found = fit_families(predictor, PROMPTS, task=TASK)
    assert found.name == name
    assert found.bayes == "least squares"
    if name == "none":
        assert found.fit.distance.lower > 0.1
        return
    assert found.fit.distance.value < 1e-9
    for key, value in parameters.items():
        assert_close(found.fit.parameters[key], value, rtol=1e-6)
    if found.fit.steps is not None and found.fit.steps > 1:
        counted = "iterations" if name == "Newton" else "steps"
        assert found.fit.intervals[counted] == [found.fit.steps] * 2
    # The fitted member is the model again, by the algorithms' own code.
    again = as_predictor(found.fit, N)
    assert again is not None
    expected = jax.vmap(predictor)(PROMPTS)
    assert_close(jax.vmap(again)(PROMPTS), expected, rtol=1e-5, atol=1e-7)
    assert_close(found.fit.predictions, expected, rtol=1e-5, atol=1e-7)


def test_names_of_disturbed_models():
    """With a percent that nothing explains a name is as good as its interval."""
    ridge = fit_families(Waves(Ridge(0.2 * N), 0.1), PROMPTS)
    assert ridge.name == "ridge"
    steps = fit_families(Waves(GradientDescent(jnp.full(5, 0.2)), 0.1), PROMPTS)
    assert steps.name == "gradient descent"
    low, high = steps.fit.intervals["steps"]
    assert low <= 5 <= high
    assert low < high


def test_half_ridge_is_not_ridge():
    mixed = fit_families(Mixture(Ridge(1.0), NearestNeighbour()), PROMPTS)
    assert mixed.name == "none"
    assert 0.05 < mixed.fit.distance.value < 0.5


def test_a_matrix_of_its_own():
    """Linear attention trained on another covariance takes a preconditioned step."""
    covariance = jnp.diag(jnp.array([0.3, 1.0, 3.0]))
    found = fit_families(trained_lsa(covariance, N), PROMPTS)
    assert found.name == "preconditioned gradient descent"
    assert found.fit.parameters["steps"] == 1
    matrix = found.fit.parameters["preconditioner"]
    Lambda, N_, trace = covariance, N, jnp.trace(covariance)
    expected = jnp.linalg.inv((1 + 1 / N_) * Lambda + trace / N_ * jnp.eye(D))
    assert_close(matrix, expected, rtol=1e-6, atol=1e-8)


def test_whitened_inputs():
    """Steps with Λ⁻¹ are plain gradient descent in whitened inputs."""
    covariance = jnp.diag(jnp.array([0.3, 1.0, 3.0]))
    task = LinearRegression(covariance)
    prompts = task.sample_batch(jax.random.key(3), 512, N)
    model = PreconditionedGradientDescent(
        jnp.linalg.inv(covariance), jnp.array([0.2, 0.2])
    )
    found = fit_families(model, prompts, task=task)
    assert (found.name, found.fit.metric) == ("gradient descent", "whitened")
    assert_close(found.fit.parameters["step"], 0.2, rtol=1e-6)


def test_the_bayes_rule_of_noisy_labels():
    task = LinearRegression(jnp.eye(D), noise_std=0.5)
    prompts = task.sample_batch(jax.random.key(4), 512, N)
    found = fit_families(Ridge(0.25), prompts, task=task)
    assert found.name == "Bayes rule"


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


def test_intervals_of_parameters():
    """τ is in its interval, which is as wide as the disturbance is large."""
    wide, narrow = (
        fit_families(Waves(Ridge(0.2 * N), size), PROMPTS) for size in (0.2, 0.02)
    )
    assert wide.name == narrow.name == "ridge"
    spans = []
    for one in (wide, narrow):
        low, high = one.fit.intervals["tau"]
        middle = (low + high) / 2
        # Twice the interval, so that one seed in ten is no failure.
        assert abs(0.2 - middle) < high - low
        spans.append(high - low)
    assert_close(spans[0], 10 * spans[1], rtol=0.3)


def test_step_sizes_of_a_polynomial():
    # 1 − (1 − λ/2)(1 − λ/4) = 3λ/4 − λ²/8, while 1 + λ² has no real roots.
    assert_close(step_sizes(np.array([0.75, -0.125])), [0.25, 0.5])
    assert step_sizes(np.array([0.0, -1.0])) is None
