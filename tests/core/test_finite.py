"""No factorisation loops on what is not finite, and none makes a number of it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.algorithms import Huber, LeastSquares, OrthogonalMatchingPursuit, Ridge
from iclab.core import Prompt, if_finite
from iclab.theory import icl_ridge, optimal_preconditioner
from tests.assertions import assert_close

# LAPACK never comes back from the singular vectors of this one.
LOOPS = jnp.array([[-jnp.inf, -0.13, 0.78], [1.49, -1.26, 1.51], [1.35, 0.78, 0.26]])


@pytest.mark.parametrize("wrap", [jax.jit, lambda function: function])
def test_if_finite(wrap):
    factors = wrap(lambda matrix: if_finite(jnp.linalg.svd, matrix))
    assert all(np.all(np.isnan(factor)) for factor in factors(LOOPS))
    finite = LOOPS.at[0, 0].set(1.0)
    U, s, Vt = factors(finite)
    assert_close((U * s[None]) @ Vt, finite)


@pytest.mark.parametrize("predictor", [LeastSquares(), Ridge(0.5), Huber(0.5)])
def test_predictors_that_never_came_back(predictor):
    prompt = Prompt(jnp.ones((3, 3)), jnp.ones(3), jnp.ones(3))
    prompt = eqx.tree_at(lambda p: p.examples, prompt, LOOPS)
    assert np.isnan(eqx.filter_jit(predictor)(prompt))


def test_theory_inside_jit():
    found, _ = jax.jit(lambda Z: icl_ridge(Z, jnp.ones(3), 0.5))(LOOPS.T)
    assert np.all(np.isnan(found))
    # LU makes numbers of a matrix with an infinity.
    infinite = jnp.diag(jnp.array([1.0, jnp.inf, 2.0]))
    found = jax.jit(lambda Lambda: optimal_preconditioner(Lambda, 5))(infinite)
    assert np.all(np.isnan(found))


def test_sums_that_overflow_are_no_zero():
    X = 1e200 * jnp.array([[1.0, 2.0], [3.0, 4.0]])
    prompt = Prompt(X, jnp.ones(2), jnp.ones(2))
    with pytest.raises(ValueError, match="overflows float64"):
        OrthogonalMatchingPursuit(1)(prompt)
