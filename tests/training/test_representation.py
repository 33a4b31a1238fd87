"""Training over representations: exact and sampled losses, and where they lead."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from iclab.evaluation import ridge_distance
from iclab.models import Encoder, MultiHeadSoftmax
from iclab.tasks import GaussianCoefficients, Representation
from iclab.theory import learning_rates, representation_infimum, representation_loss
from iclab.training import (
    FixedSet,
    Optimiser,
    OverRepresentation,
    Plan,
    _representation,
    batch_loss,
    descent_path,
    exact_gap,
    exact_loss,
    train,
    train_exact,
    two_rates,
)
from tests.assertions import assert_close, assert_mean_close
from tests.refusals import refused

K, N, M, D, H, TAU = 6, 3, 2, 3, 4, 0.2
TASK = Representation.random(
    jax.random.key(0),
    dictionary_size=K,
    input_dim=D,
    feature_dim=M,
    context_length=N,
    noise_variance=TAU,
)
START = MultiHeadSoftmax.random(
    jax.random.key(1), heads=H, input_dim=D, dictionary_size=K
)
FAR = TASK.with_law(GaussianCoefficients(1.0, 2.0))
MODEL = MultiHeadSoftmax(START.key_query, jax.random.normal(jax.random.key(2), (H, K)))

# Drawn and measured in compiled form: every operation alone would be compiled too.
LABELS, FAR_LABELS = jax.jit(
    lambda key: [task.sample_labels_batch(key, 20_000) for task in (TASK, FAR)]
)(jax.random.key(3))
_distance = jax.jit(lambda model, labels: ridge_distance(model, TASK, labels))


def test_exact_losses_are_those_of_the_theory():
    weights = MODEL.weights(TASK.tokens, N)
    loss = representation_loss(weights, TASK.features, TAU)
    assert_close(exact_loss(TASK)(MODEL), loss)
    infimum = representation_infimum(TASK.features, N, TAU)
    assert_close(exact_gap(TASK)(MODEL), loss - infimum)


def test_batches_estimate_the_exact_loss():
    @jax.jit
    def both(labels):
        one = jax.vmap(lambda row: batch_loss(MODEL, TASK.tokens, row[None], N))
        return one(labels), batch_loss(MODEL, TASK.tokens, labels, N)

    losses, together = map(np.asarray, both(LABELS))
    error = losses.std() / len(losses) ** 0.5
    assert_mean_close(losses.mean(), error, exact_loss(TASK)(MODEL))
    assert_close(together, losses.mean())


def test_two_rates_move_two_parameters():
    loss = exact_loss(TASK)
    result = train_exact(MODEL, TASK, steps=1, optimiser=two_rates(0.1, 0.3))
    gradient = jax.grad(loss)(MODEL)
    assert_close(result.model.key_query, MODEL.key_query - 0.1 * gradient.key_query)
    assert_close(result.model.value, MODEL.value - 0.3 * gradient.value)
    assert_close(result.losses, [loss(MODEL)])


def test_the_rates_of_the_theorem_are_safe():
    rates = learning_rates(START.key_query, TASK.tokens, TASK.features, N, TAU)
    gap = exact_gap(TASK)

    @jax.jit
    def run(start, key_query, value):
        optimiser = two_rates(key_query, value)
        return descent_path(gap, start, steps=200, optimiser=optimiser).losses

    gaps = np.asarray(run(START, rates.key_query, rates.value))
    bound = gaps[0] * np.asarray(rates.factor) ** np.arange(201)
    assert np.all(gaps <= bound * (1 + 1e-12))
    assert np.all(np.diff(gaps) < 0)


def test_training_ends_at_ridge_regression():
    # Many more heads than shown tokens: attention is then well conditioned.
    start = MultiHeadSoftmax.random(
        jax.random.key(1), heads=16, input_dim=D, dictionary_size=K, scale=2.0
    )
    optimiser = optax.adam(optax.cosine_decay_schedule(0.1, 1500))
    result = train_exact(start, TASK, steps=1500, optimiser=optimiser)
    for labels in (LABELS, FAR_LABELS):
        square, relative = _distance(result.model, labels)
        assert np.sqrt(np.mean(np.asarray(relative) ** 2)) < 1e-3
        before, one = _distance(start, labels)
        assert_close(one, np.ones(len(labels)))
        assert np.mean(square) < 1e-6 * np.mean(before)


@eqx.filter_jit
def _encoder():
    key = jax.random.key(5, impl="rbg")
    return Encoder.random(key, input_dim=D, layers=1, heads=2, width=8, hidden=8)


# What a gradient keeps of a task: attention, and rows between maps of width 8.
A_TASK = K * (2 * K + 8 * 8 + 2 * 8)


@pytest.mark.parametrize(
    ("most", "parts"), [(12 * A_TASK, 1), (4 * A_TASK, 3), (1, 12)]
)
def test_large_batches_are_taken_in_parts(monkeypatch, most, parts):
    encoder, tokens, labels = _encoder(), TASK.tokens, LABELS[:12]

    def computed():
        # Functions of their own each time: equal ones share what was compiled first.
        loss = lambda model, rest: batch_loss(model, *rest, context_length=N)  # noqa: E731
        every = eqx.filter_value_and_grad(lambda given: loss(*given))
        return (
            eqx.filter_jit(every)((encoder, (tokens, labels))),
            eqx.filter_jit(eqx.filter_value_and_grad(loss))(encoder, (tokens, labels)),
            eqx.filter_jit(loss)(encoder, (tokens, labels)),
        )

    at_once = computed()
    monkeypatch.setattr(_representation, "_KEPT_AT_ONCE", most)
    assert _representation._parts(encoder, 12, K) == parts
    in_parts = computed()
    for one, other in zip(*map(jax.tree.leaves, (in_parts, at_once)), strict=True):
        assert one.dtype == other.dtype
        assert_close(one, other, rtol=1e-4, atol=1e-6)  # float32


@functools.cache
def _fixed_set():
    key = jax.random.key(7, impl="rbg")
    return FixedSet(OverRepresentation(TASK), 40, key=key)


@pytest.mark.parametrize(
    ("make", "precision"), [(lambda: START, "float64"), (_encoder, "float32")]
)
def test_sampled_training_lowers_the_loss(make, precision):
    plan = Plan(60, 16, Optimiser(learning_rate=0.02), precision=precision)
    result = train(_fixed_set(), make(), plan, show_progress=False)
    assert result.losses[-10:].mean() < 0.8 * result.losses[:10].mean()


def test_samples_are_those_of_the_task():
    problem = OverRepresentation(TASK)
    stage = problem.curriculum.stage(jnp.asarray(0), K)

    @jax.jit
    def pairs(key):
        labels = problem.sample(key, stage)
        loss = problem.loss(MODEL, labels[None], stage)
        expected = batch_loss(MODEL, TASK.tokens, labels[None], N)
        return (labels, TASK.sample_labels(key)), (loss, expected)

    for found, expected in pairs(jax.random.key(8, impl="rbg")):
        assert_close(found, expected)


@pytest.mark.usefixtures("unchecked")
def test_mistakes_are_named():
    message = (
        "exact_gap: `task` must be one whose `law` has mean 0 and variance 1"
        " (Assumption 1), got mean 1 and E λ² = 5"
    )
    with refused(message):
        exact_gap(FAR)
    with refused("two_rates: `value` must be ≥ 0 and finite, got -1.0"):
        two_rates(0.1, -1.0)
    wrong = MultiHeadSoftmax(jnp.ones((H, D + 1, D + 1)), jnp.ones((H, K)))
    message = (
        "MultiHeadSoftmax: `tokens` must be a 6×4 matrix like its `key_query`, got"
        " shape (6, 3)"
    )
    with refused(message):
        train(OverRepresentation(TASK), wrong, Plan(1, 2), show_progress=False)
