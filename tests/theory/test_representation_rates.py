"""Constants and learning rates of the convergence proof."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.tasks import unit_tokens
from iclab.theory import (
    attention_eigenvalues,
    distinct_coordinate,
    iterations_needed,
    label_norm_bound,
    label_root,
    learning_rates,
    representation_constants,
    representation_optimum,
    smallest_gamma,
    smoothness_constant,
    smoothness_constant_printed,
    smoothness_constant_simple,
    softmax_columns,
    weight_bound,
)
from tests.assertions import assert_close
from tests.refusals import refused

K, N, M, D, H, TAU = 6, 3, 2, 3, 4, 0.2
_KEYS = jax.random.split(jax.random.key(3), 3)
TOKENS = unit_tokens(_KEYS[0], K, D)
FEATURES = jax.random.normal(_KEYS[1], (K, M))
Q = jax.random.normal(_KEYS[2], (H, D, D))


def test_constants_are_norms():
    c = representation_constants(FEATURES, N, TAU)
    Z_hat = np.asarray(FEATURES).T
    Z = Z_hat[:, :N]
    values, vectors = np.linalg.eigh(Z.T @ Z + M * TAU * np.eye(N))
    root = vectors @ np.diag(np.sqrt(values)) @ vectors.T
    A = np.asarray(representation_optimum(FEATURES, N, TAU))
    assert_close(c.root_norm, np.sqrt(values[-1]))
    assert_close(c.largest_column, np.linalg.norm(root, axis=0).max())
    assert_close(c.optimum_norm, np.linalg.norm(A, 2))
    assert_close(c.correlation_norm, np.linalg.norm(Z.T @ Z_hat, 2))
    assert_close(c.initial_gap, np.sum((root @ A) ** 2) / (2 * K))


def test_eigenvalues_are_those_of_every_token():
    found = attention_eigenvalues(Q, TOKENS, FEATURES, N, TAU)
    columns = np.asarray(softmax_columns(Q, TOKENS, N))
    root = np.asarray(label_root(FEATURES, N, TAU))
    for k in range(K):
        B = root @ columns[:, :, k].T
        expected = np.linalg.eigvalsh(B @ B.T)[0]
        # Squaring B costs digits of its smallest singular value.
        assert_close(found[k], expected, rtol=1e-6)
        assert found[k] > 0


def test_few_heads_are_said():
    message = (
        "attention_eigenvalues: `key_query` must be of at least N = 3 heads for"
        " Assumption 2 (or say `few_heads=True`), got 2 heads"
    )
    with refused(message):
        attention_eigenvalues(Q[:2], TOKENS, FEATURES, N, TAU)
    found = attention_eigenvalues(Q[:2], TOKENS, FEATURES, N, TAU, few_heads=True)
    assert_close(found, np.zeros(K))


def test_gamma_makes_the_last_step_of_48_an_equality():
    c, zeta = representation_constants(FEATURES, N, TAU), 0.02
    gamma = float(smallest_gamma(c, zeta, H))
    alpha = float(weight_bound(c, zeta, gamma))
    sigma, gap = zeta * gamma**2 / K, float(c.initial_gap)
    left = float(c.root_norm) * math.sqrt(H) * 16 * math.sqrt(2) * gamma * alpha
    left *= float(c.largest_column) * math.sqrt(gap) / sigma
    assert_close(left, (1 - 1 / math.sqrt(2)) * math.sqrt(zeta))


def test_simple_smoothness_bounds_the_printed_one_where_it_should():
    # (17) is (61) with ‖A‖ and f̄_max replaced by larger numbers, if 2√Kα ≥ 1.
    c, gamma = representation_constants(FEATURES, N, TAU), 30.0
    zeta = 1e-6
    alpha = weight_bound(c, zeta, gamma)
    assert 2 * math.sqrt(K) * alpha > 1
    printed = smoothness_constant_printed(c, H, gamma, alpha)
    simple = smoothness_constant_simple(c, H, gamma, zeta)
    assert printed < simple
    larger = c._replace(
        optimum_norm=1 + c.correlation_norm / (M * TAU), largest_column=c.root_norm
    )
    # With those numbers the two differ by (a + b)² against the a and b that (17) keeps.
    assert_close(smoothness_constant_printed(larger, H, gamma, alpha), simple, rtol=0.5)
    squared = smoothness_constant_simple(c, H, gamma, zeta, squared_norm=True)
    assert (squared > simple) == (c.root_norm > 1)


def test_smoothness_by_hand():
    c = representation_constants(FEATURES, N, TAU)
    gamma, alpha = 3.0, 0.4
    Zb, f, A = (float(x) for x in (c.root_norm, c.largest_column, c.optimum_norm))
    scale = alpha * gamma * H
    first = (2 * gamma * Zb**2 * (2 * scale + A)) ** 2 / K
    first = 2 * (first + gamma**4 / K**2 * H**2 * Zb**4)
    bracket = scale**2 + 4 * N * (scale + A) ** 2
    right = first + 16 * (gamma * f * Zb) ** 2 * max(1 / K, 4 * alpha**2) * bracket
    assert_close(smoothness_constant(c, H, gamma, alpha), math.sqrt(right))
    wrong = first + 8 * gamma * f * Zb * max(1, 4 * K * alpha**2) * bracket
    assert_close(smoothness_constant_printed(c, H, gamma, alpha), math.sqrt(wrong))


def test_rates_fit_together():
    rates = learning_rates(Q, TOKENS, FEATURES, N, TAU)
    c = representation_constants(FEATURES, N, TAU)
    assert_close(
        rates.zeta, jnp.min(attention_eigenvalues(Q, TOKENS, FEATURES, N, TAU))
    )
    assert_close(rates.gamma, smallest_gamma(c, rates.zeta, H))
    assert_close(rates.key_query, 1 / rates.smoothness)
    assert_close(rates.value, rates.gamma**2 * rates.key_query)
    assert_close(rates.factor, 1 - rates.value * rates.zeta / (2 * K))
    assert_close(rates.weight_bound, weight_bound(c, rates.zeta, rates.gamma))
    for name in ("printed", "simple"):
        other = learning_rates(Q, TOKENS, FEATURES, N, TAU, smoothness=name)
        assert other.smoothness != rates.smoothness
        assert 0 < other.factor < 1
    double = learning_rates(Q, TOKENS, FEATURES, N, TAU, gamma=2 * rates.gamma)
    assert double.gamma == 2 * rates.gamma


def test_iterations_by_hand():
    c = representation_constants(FEATURES, N, TAU)
    options = {"failure": 0.1, "coefficient_norm": 2.0}
    log = math.log(10)
    size = 2 * (1.5 + math.sqrt(TAU * (2 * math.sqrt(N * log) + 2 * log + N)))
    assert_close(label_norm_bound(1.5, N, TAU, **options), size)
    found = iterations_needed(c, 1.5, 0.999, accuracy=1e-3, **options)
    target = math.log(size**2 * float(c.initial_gap) / (M * TAU * 1e-3))
    assert_close(found, target / math.log(1 / 0.999))


def test_assumption_3():
    tokens = jnp.array([[0.0, 0.0], [0.0, 3.0], [1.0, 1.0]])
    assert distinct_coordinate(tokens) == (1, 1.0)
    assert distinct_coordinate(tokens[:1]) == (0, math.inf)


def _rates(**options):
    settings = {"key_query": Q, "tokens": TOKENS, "features": FEATURES, **options}
    return learning_rates(context_length=N, noise_variance=TAU, **settings)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: _rates(tokens=2 * TOKENS),
            "learning_rates: `tokens` must be of norm ≤ 1, as the proof assumes,"
            " got norm 2",
        ),
        (
            lambda: _rates(smoothness="loose"),
            "learning_rates: `smoothness` must be 'corrected' or 'printed' or 'simple',"
            " got 'loose'",
        ),
        (
            lambda: distinct_coordinate(
                jnp.array([[1.0, 2.0], [0.0, 0.0], [1.0, 2.0]])
            ),
            "distinct_coordinate: `tokens` must be distinct (Assumption 3),"
            " got tokens 0 and 2 alike",
        ),
        (
            lambda: distinct_coordinate(jnp.array([[0.0, 0], [0, 1], [1, 0]])),
            "distinct_coordinate: `tokens` must be different from each other in one"
            " coordinate (Assumption 3), got a tie in every coordinate",
        ),
        (
            lambda: label_norm_bound(1.0, N, TAU, failure=1.0, coefficient_norm=1.0),
            "label_norm_bound: `failure` must be between 0 and 1, got 1.0",
        ),
        (
            lambda: label_norm_bound(1.0, N, TAU, failure=0.0, coefficient_norm=1.0),
            "label_norm_bound: `failure` must be between 0 and 1, got 0.0",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_mistakes_are_named(call, message):
    with refused(message):
        call()


def test_a_small_gamma_is_refused():
    with pytest.raises(ValueError, match=r"`gamma` must be ≥ .*, the bound \(15\)"):
        _rates(gamma=1.0)
