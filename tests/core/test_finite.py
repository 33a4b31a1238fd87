"""No factorisation loops on what is not finite, and none makes a number of it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.algorithms import OrthogonalMatchingPursuit
from iclab.core import Prompt, if_finite
from iclab.theory import icl_ridge, optimal_preconditioner
from tests.assertions import assert_close

# With this one LAPACK's singular values never come.
LOOPS = jnp.arange(12.0).reshape(3, 4).at[0, 1].set(-jnp.inf).at[2, 3].set(-jnp.inf)


@pytest.mark.parametrize("wrap", [jax.jit, lambda function: function])
def test_if_finite(wrap):
    values = wrap(lambda matrix: if_finite(jnp.linalg.svdvals, matrix))
    assert np.all(np.isnan(values(LOOPS)))
    finite = jnp.arange(12.0).reshape(3, 4)
    assert_close(values(finite), jnp.linalg.svdvals(finite))


def test_theory_inside_jit():
    found, _ = jax.jit(lambda Z: icl_ridge(Z, jnp.ones(2), 0.5))(LOOPS)
    assert np.all(np.isnan(found))
    # LU makes numbers of a matrix with an infinity.
    infinite = jnp.diag(jnp.array([1.0, jnp.inf, 2.0]))
    found = jax.jit(lambda Lambda: optimal_preconditioner(Lambda, 5))(infinite)
    assert np.all(np.isnan(found))


def test_sums_that_overflow_are_no_zero():
    X = 1e200 * jnp.array([[1.0, 2.0], [3.0, 4.0]])
    prompt = Prompt(X, jnp.ones(2), jnp.ones(2))
    with pytest.raises(ValueError, match="beyond float64"):
        OrthogonalMatchingPursuit(1)(prompt)
