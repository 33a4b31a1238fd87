"""Covariances: what is accepted, what is refused, roots."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings, strategies as st

from iclab.core import (
    covariance_matrix,
    inverse_square_root,
    square_root,
    symmetric_matrix,
)
from tests.assertions import assert_close
from tests.refusals import refused


def _covariance(seed, rank=3):
    A = np.random.default_rng(seed).normal(size=(3, rank))
    return jnp.asarray(A @ A.T)


@settings(max_examples=10, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 10_000))
def test_roots_agree_with_scipy(seed):
    matrix = _covariance(seed) + 0.1 * jnp.eye(3)
    root = scipy.linalg.sqrtm(np.asarray(matrix))
    assert_close(square_root(matrix), root)
    assert_close(inverse_square_root(matrix), np.linalg.inv(root))


def test_root_of_a_singular_matrix():
    matrix = _covariance(0, rank=2)
    root = square_root(matrix)
    assert_close(root @ root, matrix)
    assert np.linalg.matrix_rank(np.asarray(root), tol=1e-6) == 2


@pytest.mark.parametrize(
    "value", [jnp.eye(2), [[2, 1], [1, 2]], np.eye(2), jnp.eye(2, dtype=jnp.float32)]
)
def test_covariances_are_accepted(value):
    assert_close(covariance_matrix(value), np.asarray(value))


@pytest.mark.parametrize(
    "value", [jnp.zeros((2, 2)), jnp.ones((2, 2)), jnp.diag(jnp.array([1.0, 0.0]))]
)
def test_singular_covariances_only_where_admitted(value):
    assert_close(covariance_matrix(value, singular=True), value)
    with pytest.raises(ValueError, match="`covariance` must be positive definite"):
        covariance_matrix(value)


def test_round_off_is_not_asymmetry():
    matrix = jnp.array([[1.0, 0.5], [0.5 + 1e-12, 1.0]])
    assert_close(covariance_matrix(matrix), matrix)


@pytest.mark.parametrize(
    ("value", "options", "message"),
    [
        (jnp.ones((2, 3)), {}, "`A` must be a square matrix, got shape (2, 3)"),
        (jnp.ones(4), {}, "`A` must be a square matrix, got shape (4,)"),
        (
            jnp.array([[1.0, 0.5], [0.25, 1.0]]),
            {},
            "`A` must be symmetric,"
            " got entries that differ from their mirror image by 0.25",
        ),
        (
            jnp.array([[1.0, jnp.nan], [jnp.nan, 1.0]]),
            {},
            "`A` must be finite, got 2 entries that are not",
        ),
        (
            jnp.diag(jnp.array([1.0, jnp.inf])),
            {},
            "`A` must be finite, got 1 entries that are not",
        ),
        (
            jnp.diag(jnp.array([2.0, -0.5])),
            {},
            "`A` must be positive definite, got smallest eigenvalue -0.5",
        ),
        (
            -jnp.eye(2),
            {"singular": True},
            "`A` must be positive semi-definite, got smallest eigenvalue -1",
        ),
        (
            jnp.zeros((2, 2)),
            {},
            "`A` must be positive definite, got smallest eigenvalue 0",
        ),
        (jnp.eye(2), {"dimension": 3}, "`A` must be a 3×3 matrix, got shape (2, 2)"),
    ],
)
def test_what_is_not_a_covariance(value, options, message):
    with refused(message):
        covariance_matrix(value, "A", **options)


def test_symmetric_matrices_may_be_indefinite():
    matrix = jnp.diag(jnp.array([1.0, -1.0]))
    assert_close(symmetric_matrix(matrix, "A"), matrix)


def test_traced_matrices_keep_their_shape_checks():
    accept = jax.jit(lambda matrix: covariance_matrix(matrix))
    assert_close(accept(-jnp.eye(2)), -jnp.eye(2))
    with refused("`covariance` must be a square matrix, got shape (2, 3)"):
        accept(jnp.ones((2, 3)))
