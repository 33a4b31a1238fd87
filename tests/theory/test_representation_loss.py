"""The population loss over representations: reference values, sampling, autodiff."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from iclab.models import MultiHeadSoftmax
from iclab.tasks import RademacherCoefficients, Representation
from iclab.theory import (
    label_root,
    multi_head_weights,
    representation_gap,
    representation_gradient,
    representation_infimum,
    representation_infimum_printed,
    representation_loss,
    representation_optimum,
    representation_optimum_closed,
    representation_residuals_printed,
    softmax_columns,
)
from tests.assertions import assert_close, assert_mean_close
from tests.refusals import refused

# An instance with known values: d = m = N = 2, K = 4, H = 3.
ANGLES = np.arange(4.0)
COS, SIN = np.cos(ANGLES), np.sin(ANGLES)
TOKENS = jnp.asarray(np.stack([COS, SIN], axis=1))
FEATURES = jnp.asarray(np.stack([COS, COS * SIN], axis=1))
TAU, N, K, M = 0.25, 2, 4, 2
Q = jnp.array([[[h, 0.5], [-0.25, 1 - 0.5 * h]] for h in range(3)])
W = jnp.array([[0.1 * (h + 1) * (-1) ** k * k for k in range(1, 5)] for h in range(3)])


def test_reference_values():
    A = representation_optimum(FEATURES, N, TAU)
    assert_close(A[:, :2], np.eye(2))
    expected = [-0.166779637930, -0.307193543040, -0.551660329511, -0.300761260074]
    # Printed to twelve digits.
    assert_close(A[:, 2:].T.ravel(), expected, rtol=1e-11)
    infimum = representation_infimum(FEATURES, N, TAU)
    assert_close(infimum, 0.17481559466510, rtol=1e-12)
    printed = representation_infimum_printed(FEATURES, N, TAU)
    assert_close(printed, 0.04981559466510, rtol=1e-12)
    assert_close(infimum - printed, M * TAU * (K - N) / (2 * K))
    assert_close(representation_optimum_closed(FEATURES, N, TAU), A)


def test_loss_is_gap_plus_infimum():
    weights = multi_head_weights(Q, W, TOKENS, N)
    A = representation_optimum(FEATURES, N, TAU)
    gap = representation_gap(weights, A, FEATURES, TAU)
    loss = representation_loss(weights, FEATURES, TAU)
    assert_close(loss, gap + representation_infimum(FEATURES, N, TAU))
    root = np.asarray(label_root(FEATURES, N, TAU))
    residuals = root @ np.asarray(weights - A)
    assert_close(gap, np.sum(residuals**2) / (2 * K))
    assert_close(root @ root, FEATURES[:N] @ FEATURES[:N].T + M * TAU * np.eye(N))
    gradient = jax.grad(lambda X: representation_loss(X, FEATURES, TAU))(A)
    assert_close(gradient, np.zeros((N, K)))


def test_loss_is_the_mean_over_tasks(getkey):
    draws, law = 40_000, RademacherCoefficients()
    task = Representation(
        TOKENS, FEATURES, context_length=N, noise_variance=TAU, law=law
    )
    weights = np.asarray(MultiHeadSoftmax(Q, W).weights(TOKENS, N))
    labels = np.asarray(task.sample_labels_batch(getkey(), draws))
    losses = ((labels[:, :N] @ weights - labels) ** 2).mean(axis=1) / 2
    exact = representation_loss(jnp.asarray(weights), FEATURES, TAU)
    assert_mean_close(losses.mean(), losses.std() / draws**0.5, exact)


def test_gradients_are_those_of_autodiff():
    def loss(Q, w):
        weights = multi_head_weights(Q, w, TOKENS, N)
        return representation_loss(weights, FEATURES, TAU)

    expected = jax.jit(jax.grad(loss, (0, 1)))(Q, W)
    found = representation_gradient(Q, W, TOKENS, FEATURES, N, TAU)
    for ours, theirs in zip(found, expected, strict=True):
        assert_close(ours, theirs)
    # As (56) prints it, with z_j: another matrix.
    printed, _ = representation_gradient(Q, W, TOKENS, FEATURES, N, TAU, printed=True)
    assert np.max(np.abs(printed - expected[0])) > 1e-3


def test_softmax_columns_are_probabilities():
    columns = softmax_columns(1e4 * Q, TOKENS, N)
    assert_close(np.asarray(columns).sum(axis=1), np.ones((3, K)))


def test_printed_residuals_are_others():
    weights = multi_head_weights(Q, W, TOKENS, N)
    right = weights - representation_optimum(FEATURES, N, TAU)
    printed = representation_residuals_printed(weights, FEATURES, TAU)
    assert np.max(np.abs(printed - right)) > 0.01


@pytest.mark.parametrize(("N", "m"), [(4, 2), (2, 4), (3, 3)])
@pytest.mark.parametrize("tau", [1.0, 1e-6, 1e-10, 1e-14, 1e-16, 1e-30])
def test_small_noise_costs_no_digits(N, m, tau):
    """Six random features against (34) and Lemma 5 as they stand, at 80 digits."""
    features = np.random.default_rng(N).standard_normal((6, m))
    with mpmath.workdps(80):
        Z_hat, noise = mpmath.matrix(features.T.tolist()), m * mpmath.mpf(tau)
        Z = Z_hat[:, :N]
        targets = Z.T * Z_hat
        for k in range(N):
            targets[k, k] += noise
        gram = Z.T * Z + noise * mpmath.eye(N)
        A = mpmath.inverse(gram) * targets
        explained = targets.T * A
        squares = Z_hat.T * Z_hat
        rest = [squares[k, k] + noise - explained[k, k] for k in range(6)]
        infimum = float(mpmath.fsum(rest) / 12)
    found = representation_optimum(jnp.asarray(features), N, tau)
    # Of the order of the condition number of the features, not of the matrix.
    assert_close(found, np.array(A.tolist(), float), rtol=1e-11)
    assert_close(representation_infimum(jnp.asarray(features), N, tau), infimum, atol=0)
    closed = representation_optimum_closed(jnp.asarray(features), N, tau)
    assert_close(found, closed, rtol=1e-11)


@pytest.mark.parametrize(("N", "m"), [(4, 2), (2, 4), (3, 3)])
def test_no_noise_is_the_limit(N, m):
    features = jnp.asarray(np.random.default_rng(N).standard_normal((6, m)))
    A = representation_optimum(features, N, 0.0)
    assert_close(A, representation_optimum_closed(features, N, 0.0))
    assert_close(A, representation_optimum(features, N, 1e-18), rtol=1e-11)
    assert_close(
        representation_infimum(features, N, 0.0), representation_loss(A, features, 0.0)
    )
    repeated = features.at[1].set(features[0])  # two alike: only their sum is known
    A = representation_optimum(repeated, N, 0.0)
    assert_close(A, representation_optimum(repeated, N, 1e-18), rtol=1e-11)


def test_noiseless_limit():
    # N = m = 2 at τ = 0: labels determine λ, and the loss vanishes.
    A = representation_optimum_closed(FEATURES, N, 0.0)
    assert_close(representation_loss(A, FEATURES, 0.0), 0.0)
    near = representation_optimum(FEATURES, N, 1e-9)
    # The distance to the limit is of the order of τ.
    assert_close(near, A, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: representation_optimum(FEATURES, 5, TAU),
            "representation_optimum: `context_length` must be at most the dictionary's"
            " size 4, got 5",
        ),
        (
            lambda: representation_infimum(FEATURES, N, -1.0),
            "representation_infimum: `noise_variance` must be ≥ 0 and finite, got -1.0",
        ),
        (
            lambda: representation_gradient(Q, W, TOKENS, FEATURES, N, 0.0),
            "representation_gradient: `noise_variance` must be > 0 and finite, got 0.0",
        ),
        (
            lambda: representation_loss(jnp.ones((2, 3)), FEATURES, TAU),
            "representation_loss: `features` must be a 3×m matrix like `weights`,"
            " got shape (4, 2)",
        ),
        (
            lambda: softmax_columns(jnp.ones((1, 3, 3)), TOKENS, N),
            "softmax_columns: `tokens` must be a K×3 matrix like `key_query`,"
            " got shape (4, 2)",
        ),
        (
            lambda: multi_head_weights(Q, W[:2], TOKENS, N),
            "multi_head_weights: `value` must be a 3×K matrix like `key_query`,"
            " got shape (2, 4)",
        ),
        (
            lambda: representation_gradient(Q, W, TOKENS, FEATURES[:3], N, TAU),
            "representation_gradient: `features` must be a 4×m matrix like `value`,"
            " got shape (3, 2)",
        ),
        (
            lambda: representation_residuals_printed(jnp.ones((3, 4)), FEATURES, TAU),
            "representation_residuals_printed: `features` must be of m = N = 3"
            " columns, got 2",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_mistakes_are_named(call, message):
    with refused(message):
        call()
