"""The spectral filter: known curves, exact polynomials, and bands that cover."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.probe import coverage
from iclab.algorithms import GradientDescent, LeastSquares, Ridge
from iclab.core import Foreign
from iclab.models import LinearTransformer, LoopedTransformer
from iclab.probes import spectral_filter
from iclab.tasks import LinearRegression
from iclab.theory import optimal_preconditioner, optimal_steps, residual_polynomial
from iclab.training import trained_lsa
from tests.assertions import assert_close
from tests.probes.models import PROMPTS, D, Mixture, N, NearestNeighbour
from tests.refusals import refused


def test_ridge():
    found = spectral_filter(Ridge(0.2 * N), PROMPTS)
    lam = found.eigenvalues
    # A spline of ten knots is not λ/(λ + τ), but near it.
    assert_close(found.value, lam / (lam + 0.2), rtol=0, atol=0.01)
    assert found.r2.value > 0.9999
    assert found.coefficients is None


def test_least_squares_is_one_everywhere():
    found = spectral_filter(LeastSquares(), PROMPTS)
    assert_close(found.value, np.ones(len(found.value)), rtol=1e-9)
    assert_close(found.r2.value, 1.0)


def test_linear_attention_has_constant_g():
    found = spectral_filter(trained_lsa(jnp.eye(D), N), PROMPTS)
    g = optimal_preconditioner(jnp.eye(D), N)[0, 0]
    assert_close(found.coefficients, [g])
    assert_close(found.value / found.eigenvalues, np.full(len(found.value), g))


@pytest.mark.parametrize("layers", [2, 3])
def test_the_best_transformer_has_the_theorys_residual(layers):
    steps, _ = optimal_steps(D, N, layers)
    A = -steps[:, None, None] * jnp.eye(D)[None]
    found = spectral_filter(LinearTransformer.sparse(A), PROMPTS)
    residual = residual_polynomial(-steps)
    assert found.coefficients is not None
    assert_close(-found.coefficients, residual[1:], rtol=1e-6)
    expected = 1 - np.polynomial.polynomial.polyval(found.eigenvalues, residual)
    assert_close(found.value, expected, rtol=1e-6)


def test_looped():
    model = LoopedTransformer(0.4 * jnp.eye(D), jnp.zeros(D), loops=3)
    found = spectral_filter(model, PROMPTS)
    assert_close(found.value, 1 - (1 - 0.4 * found.eigenvalues) ** 3, rtol=1e-8)


def test_a_mixture_leaves_what_was_mixed_in():
    """All of the ridge half is explained, so what is left is the neighbour's half."""
    other = NearestNeighbour()
    both = Mixture(Ridge(1.0), other)
    left, power = [], []
    for one in (other, both):
        found = spectral_filter(one, PROMPTS)
        answers = np.asarray(jax.vmap(one)(PROMPTS))
        left.append((1 - found.r2.value) * np.sum(answers**2))
        power.append(found.r2.value)
    assert_close(left[1], left[0] / 4, rtol=1e-3)
    assert power[0] < power[1] < 0.97


def test_bands_cover():
    """90 % bands hold the true filter 85 to 95 times in 100, knots taken together."""
    covered, _ = coverage(D, N, 256, 200, draws=100)
    assert 0.85 <= covered <= 0.95


def test_one_example_and_one_dimension():
    narrow = LinearRegression(jnp.eye(1)).sample_batch(jax.random.key(0), 64, 1)
    found = spectral_filter(GradientDescent(jnp.array([0.3])), narrow)
    assert_close(found.coefficients, [0.3])


def test_functions_of_arrays_have_filters_too():
    def averaging(X, y, q):
        return np.einsum("bnd,bn,bd->b", X, y, q) / X.shape[1]

    found = spectral_filter(Foreign(averaging), PROMPTS, context=4)
    assert_close(found.coefficients, [1.0])


def test_bad_arguments():
    one = jax.tree.map(lambda leaf: leaf[0], PROMPTS)
    rule = "a batch, with a leading axis, got examples of shape (6, 3)"
    with refused(f"spectral_filter: `prompts` must be {rule}"):
        spectral_filter(LeastSquares(), one)
    rule = "at most 6, the prompts' own, got 7"
    with refused(f"spectral_filter: `context` must be {rule}"):
        spectral_filter(LeastSquares(), PROMPTS, context=7)
