"""A filter between matrices: what it finds where the matrix is known."""

import jax
import numpy as np
import pytest

from iclab.probes._bootstrap import bootstrap_weights
from iclab.probes._preconditioner import _Problem, fit_preconditioner
from iclab.probes._spectra import Moments
from tests.assertions import assert_close
from tests.probes.models import PROMPTS, D, N, P

WEIGHTS = bootstrap_weights(jax.random.key(0), P, 100)
ROOT = np.array([[1.2, 0.3, 0.0], [0.3, 0.9, -0.2], [0.0, -0.2, 0.6]])


def _ridge_between(root: np.ndarray, moments: Moments, tau: float) -> np.ndarray:
    """x_qᵀ P (PSP + τI)⁻¹ P c."""
    system = root @ moments.gram @ root + tau * np.eye(D)
    solved = np.linalg.solve(system, (moments.correlation @ root)[:, :, None])
    return np.sum((moments.query @ root) * solved[:, :, 0], axis=1)


@pytest.mark.parametrize("examples", [2, N])
def test_the_matrix_of_a_ridge_in_another_metric(examples):
    moments = Moments.of(PROMPTS, examples)
    answers = _ridge_between(ROOT, moments, 0.3)
    found = fit_preconditioner(moments, answers, WEIGHTS)
    assert found is not None
    Q = ROOT @ ROOT
    Q = Q * D / np.trace(Q)
    assert_close(found.matrix, Q, rtol=0, atol=0.01)  # a spline is no ridge
    assert found.r2.value > 0.999
    assert found.earned
    departure = np.linalg.norm(Q - np.eye(D)) / np.sqrt(D)
    assert_close(found.departure.value, departure, rtol=0.01)
    # In the inputs that this matrix whitens it is the identity.
    again = fit_preconditioner(moments, answers, WEIGHTS, whitening=ROOT)
    assert again is not None
    assert again.whitened_departure is not None
    assert again.whitened_departure.value < 0.02


@pytest.mark.parametrize("examples", [2, N])
def test_derivatives(examples):
    """Against central differences, with eigenvalues of zero and without."""
    moments = Moments.of(PROMPTS, examples)
    problem = _Problem(moments, _ridge_between(ROOT, moments, 0.3))
    theta = problem.started(np.eye(D))
    theta = theta + 0.1 * np.random.default_rng(0).normal(size=len(theta))
    _, J = problem._predict(theta)
    for j, move in enumerate(1e-6 * np.eye(len(theta))):
        above, below = (
            problem._predict(theta + move)[0],
            problem._predict(theta - move)[0],
        )
        assert_close(J[:, j], (above - below) / 2e-6, rtol=1e-5, atol=1e-6)


def test_nothing_is_earned_by_what_has_no_matrix():
    moments = Moments.of(PROMPTS, N)
    noise = np.random.default_rng(1).normal(size=P)
    solved = moments.spectra().least_squares()
    for answers in (solved, _ridge_between(np.eye(D), moments, 0.3)):
        found = fit_preconditioner(moments, answers + 0.1 * noise, WEIGHTS)
        assert found is not None
        assert not found.earned
        assert found.gain.value < 0.01


def test_one_dimension_and_zero_have_no_matrix():
    narrow = Moments(np.ones((8, 1, 1)), np.ones((8, 1)), np.ones((8, 1)), 1)
    assert fit_preconditioner(narrow, np.ones(8), np.ones((2, 8))) is None
    assert fit_preconditioner(Moments.of(PROMPTS, N), np.zeros(P), WEIGHTS) is None
