"""Bayes over finitely many tasks: closed forms, limits, and no better rival."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.algorithms import BayesOverTasks, LeastSquares, Ridge
from iclab.core import Prompt
from tests.assertions import assert_close
from tests.refusals import refused

TASKS = jnp.array([[1.0, 0.0], [-0.5, 2.0], [0.3, 0.3]])
PROMPT = Prompt(
    jnp.array([[1.0, 0.5], [0.2, -1.0]]), jnp.array([0.4, 0.1]), jnp.array([2.0, 1.0])
)


def test_posterior_is_bayes_rule():
    prior = jnp.array([0.2, 0.5, 0.3])
    found = BayesOverTasks(TASKS, 0.7, prior).posterior(PROMPT)
    X, y = np.asarray(PROMPT.examples), np.asarray(PROMPT.labels)
    likelihood = np.exp(-((y - np.asarray(TASKS) @ X.T) ** 2).sum(1) / (2 * 0.7))
    joint = np.asarray(prior) * likelihood
    assert_close(found, joint / joint.sum())


def test_two_opposite_tasks_are_a_hyperbolic_tangent():
    # w = ±v: ŷ = tanh(Σ yᵢ⟨v, xᵢ⟩/σ²) ⟨v, x_q⟩.
    v = TASKS[0]
    found = BayesOverTasks(jnp.stack([v, -v]), 0.7)(PROMPT)
    agreement = PROMPT.labels @ (PROMPT.examples @ v)
    assert_close(found, jnp.tanh(agreement / 0.7) * (v @ PROMPT.query))


def test_little_noise_names_the_task_and_much_keeps_the_prior():
    labels = PROMPT.examples @ TASKS[1]
    prompt = Prompt(PROMPT.examples, labels, PROMPT.query)
    assert_close(BayesOverTasks(TASKS, 1e-6).posterior(prompt), [0.0, 1.0, 0.0])
    assert_close(BayesOverTasks(TASKS, 1e12)(prompt), jnp.mean(TASKS @ PROMPT.query))


def test_no_rival_has_a_smaller_risk():
    n, draws = 3, 4000
    rng = np.random.default_rng(0)
    w = np.asarray(TASKS)[rng.integers(3, size=draws)]
    X, query = rng.normal(size=(draws, n, 2)), rng.normal(size=(draws, 2))
    y = np.einsum("bnd,bd->bn", X, w) + rng.normal(size=(draws, n))
    target = (query * w).sum(1)
    prompts = jax.vmap(Prompt)(*map(jnp.asarray, (X, y, query)))

    def errors(predictor):
        return (np.asarray(jax.jit(jax.vmap(predictor))(prompts)) - target) ** 2

    best = errors(BayesOverTasks(TASKS, 1.0))
    for rival in (LeastSquares(), Ridge(1.0), BayesOverTasks(TASKS, 0.2)):
        worse = errors(rival) - best
        assert worse.mean() > 4 * worse.std() / np.sqrt(draws)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: BayesOverTasks(TASKS[0], 1.0),
            "BayesOverTasks: `tasks` must be a T×d matrix, got shape (2,)",
        ),
        (
            lambda: BayesOverTasks(TASKS, 0.0),
            "BayesOverTasks: `noise_variance` must be > 0 and finite, got 0.0",
        ),
        (
            lambda: BayesOverTasks(TASKS, 1.0, jnp.ones(2) / 2),
            "BayesOverTasks: `prior` must be a vector of 3 numbers like `tasks`,"
            " got shape (2,)",
        ),
        (
            lambda: BayesOverTasks(TASKS, 1.0, jnp.ones(3)),
            "BayesOverTasks: `prior` must be ≥ 0 with sum 1, got a smallest one of 1"
            " and a sum of 3",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_mistakes_are_named(call, message):
    with refused(message):
        call()
