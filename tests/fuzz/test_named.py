"""Calls that once hung, aborted the process or answered nonsense with a number."""

# pyright: reportArgumentType=false

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import iclab
from iclab import (
    algorithms,
    core,
    evaluation,
    models,
    papers,
    probes,
    tasks,
    theory,
    training,
)

HUGE = 2**63 - 1
KEY = jax.random.key(0)
ZERO, TASK = algorithms.Zero(), tasks.LinearRegression(jnp.eye(2))
PROMPTS = core.Prompt(jnp.ones((2, 2)), jnp.ones(2), jnp.ones(2))
PROMPTS = jax.tree.map(lambda leaf: jnp.stack([leaf] * 4), PROMPTS)
SOFTMAX = models.MultiHeadSoftmax(jnp.eye(2)[None], jnp.ones((1, 3)))
REPRESENTATION = tasks.Representation(
    jnp.eye(3, 2), jnp.ones((3, 1)), context_length=2, distinct=True
)

pytestmark = pytest.mark.usefixtures("unchecked")


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("dimension", lambda: models.GPT2.of_size("tiny", HUGE, 2, key=KEY)),
        ("max_examples", lambda: models.GPT2.of_size("tiny", 2, HUGE, key=KEY)),
        ("dictionary_size", lambda: models.MultiHeadSoftmax.random(
            KEY, heads=1, input_dim=2, dictionary_size=HUGE)),
        ("input_dim", lambda: models.MultiHeadSoftmax.random(
            KEY, heads=1, input_dim=HUGE, dictionary_size=2)),
        ("width", lambda: models.Encoder.random(
            KEY, input_dim=2, width=HUGE - 7, heads=1)),
        ("loops", lambda: theory.marchenko_pastur_looped_optimum(0.5, 10**18)),
        ("seed", lambda: training.Plan(steps=1, seed=2**63)),
        ("seed", lambda: training.Plan(steps=1, seed=-1)),
        ("matrix", lambda: core.inverse_square_root(np.diag([1.0, 0.0]))),
        ("matrix", lambda: core.inverse_square_root(-np.eye(2))),
        ("matrix", lambda: core.square_root(-np.eye(2))),
        ("count", lambda: core.Prompt(np.eye(2), [1.0, 2.0], [0.0, 1.0], count=0)),
        ("count", lambda: core.Prompt(np.eye(2), [1.0, 2.0], [0.0, 1.0], count=3)),
        ("covariance", lambda: tasks.LinearRegression(np.diag([1.0, -1.0]))),
        ("noise_std", lambda: tasks.LinearRegression(np.eye(2), noise_std=-0.5)),
        ("context_length", lambda: training.batch_loss(
            SOFTMAX, np.eye(3, 2), np.ones((1, 3)), -1)),
        ("context_length", lambda: training.batch_loss(
            SOFTMAX, np.eye(3, 2), np.ones((1, 3)), 4)),
        ("tokens", lambda: models.OnPrompts(SOFTMAX, 1e308)),
        ("draws", lambda: theory.sampled_performance_gap(
            KEY, 4, 1, 20, 2.0, draws=HUGE)),
        ("max_steps", lambda: training.minimise(
            lambda x: jnp.sum(x**2), jnp.ones(1), max_steps=10**18)),
        ("start", lambda: training.minimise(
            lambda x: jnp.sum(x**2), np.full(2, 1e300), max_steps=2)),
        ("context_length", lambda: theory.label_norm_bound(
            1.0, -1, 0.5, failure=0.5, coefficient_norm=1.0)),
        ("matrix", lambda: theory.label_root(np.ones((2, 3)), 1, 1e308)),
        ("changes", lambda: papers.figure_jobs(
            papers.select(["yang2024/figure-5a"])[0], "desk", 3,
            changes={"one": 1})),
        ("constants", lambda: theory.iterations_needed(
            theory.RepresentationConstants(1.0, 1.0, 1.0, 1.0, 1.0, 2, 2, 3, -0.5),
            1.0, 0.5,
            accuracy=0.1, failure=0.1, coefficient_norm=1.0)),
        ("model", lambda: training.train(
            training.Exact(jnp.sum), jnp.array([1.0, jnp.inf]),
            training.Plan(steps=1))),
        ("prediction", lambda: training.squared(1e308, 0.5)),
        ("labels", lambda: evaluation.ridge_distance(
            SOFTMAX, REPRESENTATION, np.ones((1, 1)))),
        ("step", lambda: training.Exact(lambda model: 0.0).batch(
            KEY, 2**63, 1, None)),
        ("draw", lambda: tasks.UnitCoefficients(int)),
        ("limit", lambda: training.descend(
            lambda x: jnp.sum(x**2), jnp.ones(1), steps=9,
            optimiser=optax.sgd(1.5), limit=2)),
        ("settings", lambda: iclab.reproduce(
            "zhang2023/theorem-4.1", settings={"one": 1})),
        ("layers", lambda: models.GPT2(
            2, 2, layers=10**6, heads=1, width=20, key=KEY)),
        ("layers", lambda: models.Encoder.random(
            KEY, input_dim=2, layers=10**7, heads=1, width=20, hidden=20)),
        ("input_dim", lambda: models.MultiHeadSoftmax.random(
            KEY, heads=1, input_dim=10**6, dictionary_size=2)),
        ("prompts", lambda: probes.shifts(ZERO, TASK, context=2, prompts=10**9)),
        ("max_steps", lambda: training.gradient_flow(
            lambda x: jnp.sum(x**2), jnp.ones(1), max_steps=10**18)),
        ("max_steps", lambda: training.looped_gradient_flow(
            np.eye(2), samples=5, loops=1, max_steps=10**18)),
        ("max_steps", lambda: training.lsa_gradient_flow(
            np.eye(2), 5, np.eye(2), 1.0, max_steps=10**18)),
        ("polynomial", lambda: probes.spectral_filter(
            ZERO, PROMPTS, polynomial=10**6)),
        ("knots", lambda: probes.spectral_filter(ZERO, PROMPTS, knots=10**9)),
        ("against", lambda: probes.probe(ZERO, dimension=2, against={"a": 5})),
        ("against", lambda: probes.implied_weights(
            ZERO, PROMPTS, against={"a": 5})),
        ("dimension", lambda: probes.probe(ZERO, dimension=10**9)),
        ("dimension", lambda: theory.looped_optimum(10**18, 20, 4)),
        ("dimension", lambda: theory.looped_expansion(10**18, 2)),
        ("dimension", lambda: theory.optimal_steps(10**18, 20, 4)),
        ("noise_variance", lambda: theory.looped_optimum(
            10**6, 20, 64, noise_variance=0.5)),
        ("noise_variance", lambda: theory.looped_optimum(
            3, 3, 2, noise_variance=10**18)),
        ("feature_dim", lambda: theory.sampled_performance_gap(
            KEY, 10**18, 1, 20, 2.0, draws=2)),
        ("shape", lambda: theory.wishart_samples(KEY, np.eye(2), 5, (10**9,))),
        ("prompts", lambda: evaluation.prompt_average(
            lambda prompt: prompt.target, TASK, examples=2, prompts=1, key=KEY)),
        ("prompts", lambda: evaluation.sampled_risk(
            {"zero": ZERO}, TASK, examples=2, prompts=1, key=KEY)),
        ("prompts", lambda: TASK.sample_batch(KEY, 2**20, 2**20)),
        ("groups", lambda: evaluation.common_prompts(
            lambda key: TASK, 2**20, groups=2**10, prompts=2**10, key=KEY)),
    ],
)  # fmt: skip
def test_refused_by_name(name, call):
    with pytest.raises((ValueError, TypeError), match=rf"`{name}(`|\[)"):
        call()


def test_a_loss_given_a_second_moment_that_is_none():
    eye, A = jnp.eye(2), jnp.zeros((1, 2, 2))
    with pytest.raises(ValueError, match="`sample_covariance`"):
        theory.transformer_loss_given(
            -eye, A, None, covariance=eye, weight_covariance=eye
        )
