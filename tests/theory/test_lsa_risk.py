"""Exact risks against sums over Gauss–Hermite nodes, simulation and the ledger."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from iclab.evaluation import sampled_risk
from iclab.models import LinearSelfAttention
from iclab.tasks import LinearRegression, QueryShift
from iclab.theory import (
    best_linear_risk,
    linear_label_covariance,
    lsa_optimum,
    lsa_risk,
    lsa_risk_bound,
    nonlinear_risk,
    optimal_preconditioner,
    sample_complexity,
)
from tests.assertions import assert_close, assert_mean_close
from tests.gaussian_grid import Prompts, gaussian_grid
from tests.refusals import refused

LAMBDA = np.array([[1.0, 0.3], [0.3, 0.5]])
QUERY = np.array([[0.4, -0.2], [-0.2, 2.0]])
OMEGA = np.array([[2.0, 0.5], [0.5, 0.7]])
WEIGHT = np.array([0.8, -1.5])
P = np.array([[0.9, 0.1], [-0.4, 0.6]])
FEW = settings(max_examples=10, deadline=None, derandomize=True, database=None)


@pytest.mark.parametrize("examples", [1, 2])
@pytest.mark.parametrize(
    "shift",
    [
        {},
        {"query_covariance": QUERY},
        {"weight_covariance": OMEGA},
        {"weight": WEIGHT, "query_covariance": QUERY},
    ],
    ids=lambda shift: "+".join(shift) or "none",
)
def test_risk_is_a_sum_over_prompts(examples, shift):
    # Degree 4 in every input, 2 in the query and the weight: three nodes are exact.
    prompts = Prompts(LAMBDA, examples, nodes=3, **shift)
    step = np.einsum("pn,pnd->pd", prompts.labels, prompts.X) / examples
    prediction = np.einsum("pi,ij,pj->p", prompts.query, P, step)
    expected = prompts.mean((prediction - prompts.target) ** 2)
    arrays = {name: jnp.asarray(value) for name, value in shift.items()}
    risk = lsa_risk(jnp.asarray(P), jnp.asarray(LAMBDA), examples, **arrays)
    assert_close(risk, expected)


def test_noise_is_on_the_examples_only():
    prompts = Prompts(
        LAMBDA, 2, weight=WEIGHT, query_covariance=QUERY, noise=True, nodes=3
    )
    labels = prompts.labels + 0.7 * prompts.noise
    step = np.einsum("pn,pnd->pd", labels, prompts.X) / 2
    prediction = np.einsum("pi,ij,pj->p", prompts.query, P, step)
    expected = prompts.mean((prediction - prompts.target) ** 2)
    risk = lsa_risk(
        jnp.asarray(P),
        jnp.asarray(LAMBDA),
        2,
        weight=jnp.asarray(WEIGHT),
        query_covariance=jnp.asarray(QUERY),
        noise_variance=0.49,
    )
    assert_close(risk, expected)


@pytest.mark.parametrize(("d", "N", "value"), [(5, 20, 15 / 13), (20, 40, 420 / 61)])
def test_ledger_values(d, N, value):
    preconditioner = optimal_preconditioner(jnp.eye(d), N)
    assert_close(lsa_risk(preconditioner, jnp.eye(d), N), value)


def test_zero_preconditioner_predicts_zero():
    Lambda = jnp.asarray(LAMBDA)
    assert_close(lsa_risk(jnp.zeros((2, 2)), Lambda, 3), np.trace(LAMBDA))


def test_risk_vanishes_with_infinitely_many_examples():
    inverse = jnp.linalg.inv(jnp.asarray(LAMBDA))
    risk = lsa_risk(inverse, jnp.asarray(LAMBDA), 10**12, noise_variance=1.0)
    assert_close(risk, 0.0, atol=1e-11)  # of order 1/M


def test_trained_preconditioner_is_the_best_for_its_own_length():
    Lambda = jnp.asarray(LAMBDA)
    best = optimal_preconditioner(Lambda, 6)
    assert_close(jax.grad(lsa_risk)(best, Lambda, 6), np.zeros((2, 2)))


@FEW
@given(st.integers(0, 10_000))
def test_rotations_leave_the_risk(seed):
    R, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(2, 2)))

    def turn(matrix):
        turned = R @ matrix @ R.T
        return jnp.asarray(turned)

    expected = lsa_risk(
        jnp.asarray(P), jnp.asarray(LAMBDA), 3, query_covariance=jnp.asarray(QUERY)
    )
    turned = lsa_risk(turn(P), turn(LAMBDA), 3, query_covariance=turn(QUERY))
    assert_close(turned, expected)


@pytest.mark.everything
def test_million_prompts_agree():
    """Shifted covariance, shifted query, noise, three examples: 10⁶ prompts."""
    training = jnp.array([[1.0, 0.3, 0.0], [0.3, 0.5, -0.1], [0.0, -0.1, 0.2]])
    test = jnp.diag(jnp.array([0.3, 1.0, 0.6]))
    query = jnp.array([[0.5, 0.2, 0.0], [0.2, 1.0, 0.0], [0.0, 0.0, 0.8]])
    weight_covariance = jnp.diag(jnp.array([2.0, 1.0, 0.5]))
    model = LinearSelfAttention(*lsa_optimum(training, 20))
    task = LinearRegression(test, weight_covariance=weight_covariance, noise_std=0.5)
    exact = lsa_risk(
        model.preconditioner,
        test,
        3,
        query_covariance=query,
        weight_covariance=weight_covariance,
        noise_variance=0.25,
    )
    simulated = sampled_risk(
        {"lsa": model},
        QueryShift(task, query),
        examples=3,
        prompts=1_000_000,
        key=jax.random.key(0),
    )
    mean, error = simulated["lsa"]
    assert_mean_close(mean, error, exact, z=3.0)
    assert float(error) < 0.01 * float(exact)
    # The interval is narrow enough to notice that the query was shifted.
    unshifted = lsa_risk(
        model.preconditioner,
        test,
        3,
        weight_covariance=weight_covariance,
        noise_variance=0.25,
    )
    assert abs(float(mean - unshifted)) > 10 * float(error)


def test_best_linear_risk_is_that_of_regression_on_the_nodes():
    # y = x₁² + x₁x₂ − x₂ on the nodes of an exact rule, by weighted least squares.
    points, mass = gaussian_grid(2, 4)
    x = points @ np.linalg.cholesky(LAMBDA).T
    y = x[:, 0] ** 2 + x[:, 0] * x[:, 1] - x[:, 1]
    root = np.sqrt(mass)
    weight, residual, *_ = np.linalg.lstsq(root[:, None] * x, root * y)
    cross, square = (mass * y) @ x, mass @ y**2
    risk = best_linear_risk(jnp.asarray(LAMBDA), jnp.asarray(cross), float(square))
    assert_close(risk, residual[0])
    assert_close(np.linalg.solve(LAMBDA, cross), weight)


@FEW
@given(st.integers(0, 10_000))
def test_linear_labels_have_no_negative_best_risk(seed):
    # What round-off leaves must still be accepted by `nonlinear_risk`.
    rng = np.random.default_rng(seed)
    A, w = rng.normal(size=(3, 3)), jnp.asarray(rng.normal(size=3))
    Lambda = jnp.asarray(A @ A.T + 0.1 * np.eye(3))
    best = best_linear_risk(Lambda, Lambda @ w, w @ Lambda @ w)
    assert 0 <= float(best) <= 1e-10 * float(w @ Lambda @ w)
    risk = nonlinear_risk(w, linear_label_covariance(Lambda, w), best, Lambda, 5, 7)
    assert_close(risk, lsa_risk(optimal_preconditioner(Lambda, 5), Lambda, 7, weight=w))


def test_linear_label_covariance_is_a_sum_over_nodes():
    points, mass = gaussian_grid(3, 3)
    x = points[:, :2] @ np.linalg.cholesky(LAMBDA).T
    v = x * (x @ WEIGHT + 0.6 * points[:, 2])[:, None]
    mean = mass @ v
    expected = np.einsum("p,pi,pj->ij", mass, v, v) - np.outer(mean, mean)
    found = linear_label_covariance(jnp.asarray(LAMBDA), jnp.asarray(WEIGHT), 0.36)
    assert_close(found, expected)


def test_theorem_4_2_with_linear_noisy_labels():
    # Its target is noisy, that of `lsa_risk` is not: the difference is σ².
    Lambda, w = jnp.asarray(LAMBDA), jnp.asarray(WEIGHT)
    Sigma = linear_label_covariance(Lambda, w, 0.3)
    best = best_linear_risk(Lambda, Lambda @ w, w @ Lambda @ w + 0.3)
    assert_close(best, 0.3)
    expected = lsa_risk(
        optimal_preconditioner(Lambda, 4), Lambda, 3, weight=w, noise_variance=0.3
    )
    assert_close(nonlinear_risk(w, Sigma, best, Lambda, 4, 3), expected + 0.3)


def test_theorem_4_2_with_quadratic_labels():
    # y = x₁² + x₁x₂ − x₂; degree 6 in each input, so four nodes are exact.
    def label(x):
        return x[..., 0] ** 2 + x[..., 0] * x[..., 1] - x[..., 1]

    N, M = 5, 2
    prompts = Prompts(LAMBDA, M, weight=np.zeros(2))
    Gamma = (1 + 1 / N) * LAMBDA + np.trace(LAMBDA) / N * np.eye(2)
    step = np.einsum("pn,pnd->pd", label(prompts.X), prompts.X) / M
    prediction = np.sum(prompts.query @ np.linalg.inv(Gamma) * step, axis=1)
    expected = prompts.mean((prediction - label(prompts.query)) ** 2)

    points, mass = gaussian_grid(2, 4)
    x = points @ np.linalg.cholesky(LAMBDA).T
    v = x * label(x)[:, None]
    cross, square = mass @ v, mass @ label(x) ** 2
    Sigma = np.einsum("p,pi,pj->ij", mass, v, v) - np.outer(cross, cross)
    Lambda = jnp.asarray(LAMBDA)
    found = nonlinear_risk(
        jnp.asarray(np.linalg.solve(LAMBDA, cross)),
        jnp.asarray((Sigma + Sigma.T) / 2),
        best_linear_risk(Lambda, jnp.asarray(cross), float(square)),
        Lambda,
        N,
        M,
    )
    assert_close(found, expected)


@FEW
@given(st.integers(0, 10_000), st.integers(1, 50), st.integers(1, 50))
def test_bounds_are_never_below_the_risk(seed, N, M):
    rng = np.random.default_rng(seed)
    eigenvalues = np.exp(rng.normal(size=3))
    R, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    Lambda = jnp.asarray(R @ np.diag(eigenvalues) @ R.T)
    w = jnp.asarray(rng.normal(size=3))
    preconditioner = optimal_preconditioner(Lambda, N)
    assert lsa_risk(preconditioner, Lambda, M) <= lsa_risk_bound(Lambda, N, M)
    fixed = lsa_risk(preconditioner, Lambda, M, weight=w)
    assert fixed <= lsa_risk_bound(Lambda, N, M, w)


def test_bounds_in_one_dimension():
    # d = 1, λ = 1/2, w = 3: ((d+1)/M) w²λ + (1/N²)(w²λ + 2w²λ + w²λ) = 9/M + 18/N².
    half = jnp.array([[0.5]])
    assert_close(lsa_risk_bound(half, 6, 9, jnp.array([3.0])), 9 / 9 + 18 / 36)
    assert_close(lsa_risk_bound(half, 6, 9), 2 * 0.5 / 9 + 4 * 0.5 / 36)


def test_sample_complexity_in_numbers():
    # d = 2, κ = 2, tr = 3/2: M ≥ 6·(3/2)/ε and N ≥ √(2·13·(3/2)/ε).
    covariance = jnp.diag(jnp.array([1.0, 0.5]))
    assert sample_complexity(covariance, 0.1) == (90, math.ceil(math.sqrt(390)))


@FEW
@given(st.integers(0, 10_000), st.floats(0.01, 10))
def test_sample_complexity_suffices(seed, accuracy):
    eigenvalues = np.exp(np.random.default_rng(seed).normal(size=3))
    Lambda = jnp.diag(jnp.asarray(eigenvalues))
    M, N = sample_complexity(Lambda, accuracy)
    assert lsa_risk(optimal_preconditioner(Lambda, N), Lambda, M) <= accuracy


EYE, ONES = jnp.eye(2), jnp.ones(2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: lsa_risk(jnp.ones((2, 3)), EYE, 3),
            "lsa_risk: `preconditioner` must be a square matrix, got shape (2, 3)",
        ),
        (
            lambda: lsa_risk(EYE, jnp.eye(3), 3),
            "lsa_risk: `covariance` must be a 2×2 matrix like `preconditioner`, got"
            " shape (3, 3)",
        ),
        (
            lambda: lsa_risk(EYE, jnp.ones((2, 3)), 3),
            "lsa_risk: `covariance` must be a 2×2 matrix like `preconditioner`, got"
            " shape (2, 3)",
        ),
        (
            lambda: lsa_risk(EYE, jnp.array([[1.0, 1.0], [0.0, 1.0]]), 3),
            "lsa_risk: `covariance` must be symmetric,"
            " got entries that differ from their mirror image by 1",
        ),
        (
            lambda: lsa_risk(EYE, -EYE, 3),
            "lsa_risk: `covariance` must be positive semi-definite,"
            " got smallest eigenvalue -1",
        ),
        (
            lambda: lsa_risk(EYE, jnp.nan * EYE, 3),
            "lsa_risk: `covariance` must be finite, got 4 entries that are not",
        ),
        (
            lambda: lsa_risk(EYE, EYE, 0),
            "lsa_risk: `examples` must be an integer ≥ 1, got 0",
        ),
        (
            lambda: lsa_risk(EYE, EYE, 2.5),  # pyright: ignore[reportArgumentType]
            "lsa_risk: `examples` must be an integer ≥ 1, got 2.5",
        ),
        (
            lambda: lsa_risk(EYE, EYE, 3, query_covariance=-EYE),
            "lsa_risk: `query_covariance` must be positive semi-definite,"
            " got smallest eigenvalue -1",
        ),
        (
            lambda: lsa_risk(EYE, EYE, 3, weight=ONES, weight_covariance=EYE),
            "lsa_risk: give `weight` (fixed) or `weight_covariance` (random), not both",
        ),
        (
            lambda: lsa_risk(EYE, EYE, 3, weight=jnp.ones(3)),
            "lsa_risk: `weight` must be a vector of 2 numbers like `preconditioner`,"
            " got shape (3,)",
        ),
        (
            lambda: lsa_risk(EYE, EYE, 3, weight=jnp.array([1.0, jnp.inf])),
            "lsa_risk: `weight` must be finite, got 1 entries that are not",
        ),
        (
            lambda: lsa_risk(EYE, EYE, 3, weight_covariance=jnp.eye(3)),
            "lsa_risk: `weight_covariance` must be a 2×2 matrix like `preconditioner`,"
            " got shape (3, 3)",
        ),
        (
            lambda: lsa_risk(EYE, EYE, 3, noise_variance=-0.1),
            "lsa_risk: `noise_variance` must be ≥ 0 and finite, got -0.1",
        ),
        (
            lambda: best_linear_risk(EYE, jnp.ones(3), 1.0),
            "best_linear_risk: `cross_moment` must be a vector of 2 numbers"
            " like `covariance`,"
            " got shape (3,)",
        ),
        (
            lambda: best_linear_risk(EYE, ONES, -1.0),
            "best_linear_risk: `label_second_moment` must be ≥ 0 and finite, got -1.0",
        ),
        (
            lambda: best_linear_risk(EYE, ONES, 1.5),
            "best_linear_risk: `label_second_moment` must be"
            " ≥ bᵀΛ⁻¹b = 2 of `cross_moment` b, got 1.5",
        ),
        (
            lambda: nonlinear_risk(ONES, EYE, -1.0, EYE, 5, 5),
            "nonlinear_risk: `best_risk` must be ≥ 0 and finite, got -1.0",
        ),
        (
            lambda: nonlinear_risk(ONES, jnp.eye(3), 1.0, EYE, 5, 5),
            "nonlinear_risk: `label_covariance` must be a 2×2 matrix like"
            " `best_weight`, got shape (3, 3)",
        ),
        (
            lambda: nonlinear_risk(jnp.ones(3), EYE, 1.0, EYE, 5, 5),
            "nonlinear_risk: `label_covariance` must be a 3×3 matrix like"
            " `best_weight`, got shape (2, 2)",
        ),
        (
            lambda: nonlinear_risk(ONES, EYE, 1.0, EYE, 0, 5),
            "nonlinear_risk: `context_length` must be an integer ≥ 1, got 0",
        ),
        (
            lambda: nonlinear_risk(ONES, EYE, 1.0, EYE, 5, 0),
            "nonlinear_risk: `examples` must be an integer ≥ 1, got 0",
        ),
        (
            lambda: linear_label_covariance(EYE, ONES, -1.0),
            "linear_label_covariance: `noise_variance` must be ≥ 0 and finite,"
            " got -1.0",
        ),
        (
            lambda: lsa_risk_bound(EYE, 0, 5),
            "lsa_risk_bound: `context_length` must be an integer ≥ 1, got 0",
        ),
        (
            lambda: lsa_risk_bound(EYE, 5, 0),
            "lsa_risk_bound: `examples` must be an integer ≥ 1, got 0",
        ),
        (
            lambda: lsa_risk_bound(jnp.ones((2, 2)) - EYE, 5, 5),
            "lsa_risk_bound: `covariance` must be positive definite,"
            " got smallest eigenvalue -1",
        ),
        (
            lambda: sample_complexity(EYE, 0.0),
            "sample_complexity: `accuracy` must be > 0 and finite, got 0.0",
        ),
        (
            lambda: sample_complexity(EYE, math.nan),
            "sample_complexity: `accuracy` must be > 0 and finite, got nan",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_input_is_named(call, message):
    with refused(message):
        call()


def test_arrays_of_lengths_are_loops():
    """Every risk at every pair of lengths, as one by one."""
    Lambda = jnp.array([[1.0, 0.3], [0.3, 0.5]])
    P, w = optimal_preconditioner(Lambda, 7), jnp.array([1.0, -0.5])
    N, M = jnp.array([[3], [20]]), jnp.array([2, 9, 50])

    def nonlinear(N, M):
        moments = linear_label_covariance(Lambda, w, 0.1)
        return nonlinear_risk(w, moments, 0.1, Lambda, N, M)

    risks = lsa_risk(P, Lambda, M, noise_variance=0.2)
    tables = nonlinear(N, M), lsa_risk_bound(Lambda, N, M, w)
    for j, m in enumerate(map(int, M)):
        assert_close(risks[j], lsa_risk(P, Lambda, m, noise_variance=0.2))
        for i, n in enumerate(map(int, N[:, 0])):
            assert_close(tables[0][i, j], nonlinear(n, m))
            assert_close(tables[1][i, j], lsa_risk_bound(Lambda, n, m, w))
    lengths: Any = [2, 9, 50]
    assert_close(lsa_risk(P, Lambda, lengths, noise_variance=0.2), risks)
    with refused("lsa_risk: `examples` must be an integer ≥ 1, got 0"):
        lsa_risk(P, Lambda, jnp.array([2, 0]))
