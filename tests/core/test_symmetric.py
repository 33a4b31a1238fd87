"""Covariances: what is accepted, what is refused, roots."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings, strategies as st

from iclab.core import (
    Covariance,
    SecondMoment,
    Symmetric,
    inverse_square_root,
    read,
    square_root,
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
    assert_close(read(value, Covariance, "A"), np.asarray(value))


@pytest.mark.parametrize(
    "value", [jnp.zeros((2, 2)), jnp.ones((2, 2)), jnp.diag(jnp.array([1.0, 0.0]))]
)
def test_singular_covariances_only_where_admitted(value):
    assert_close(read(value, SecondMoment, "A"), value)
    with pytest.raises(ValueError, match="`A` must be positive definite"):
        read(value, Covariance, "A")


def test_round_off_is_not_asymmetry():
    matrix = jnp.array([[1.0, 0.5], [0.5 + 1e-12, 1.0]])
    assert_close(read(matrix, Covariance, "A"), matrix)


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (jnp.ones((2, 3)), Covariance, "`A` must be a square matrix, got shape (2, 3)"),
        (jnp.ones(4), Covariance, "`A` must be a square matrix, got shape (4,)"),
        (
            jnp.array([[1.0, 0.5], [0.25, 1.0]]),
            Covariance,
            "`A` must be symmetric,"
            " got entries that differ from their mirror image by 0.25",
        ),
        (
            jnp.array([[1.0, jnp.nan], [jnp.nan, 1.0]]),
            Covariance,
            "`A` must be finite, got 2 entries that are not",
        ),
        (
            jnp.diag(jnp.array([1.0, jnp.inf])),
            Covariance,
            "`A` must be finite, got 1 entries that are not",
        ),
        (
            jnp.diag(jnp.array([2.0, -0.5])),
            Covariance,
            "`A` must be positive definite, got smallest eigenvalue -0.5",
        ),
        (
            -jnp.eye(2),
            SecondMoment,
            "`A` must be positive semi-definite, got smallest eigenvalue -1",
        ),
        (
            jnp.zeros((2, 2)),
            Covariance,
            "`A` must be positive definite, got smallest eigenvalue 0",
        ),
    ],
)
def test_what_is_not_a_covariance(value, kind, message):
    with refused(message):
        read(value, kind, "A")


def test_symmetric_matrices_may_be_indefinite():
    matrix = jnp.diag(jnp.array([1.0, -1.0]))
    assert_close(read(matrix, Symmetric, "A"), matrix)


def test_traced_matrices_keep_their_shape_checks():
    accept = jax.jit(lambda matrix: read(matrix, Covariance, "A"))
    assert_close(accept(-jnp.eye(2)), -jnp.eye(2))
    with refused("`A` must be a square matrix, got shape (2, 3)"):
        accept(jnp.ones((2, 3)))
