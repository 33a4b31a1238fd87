"""Weights of a mixture against other integrals, exact moments and bounds."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy.special import logsumexp

from iclab.core import Mixture
from iclab.core._mixture import log_mean_on_sphere
from tests.assertions import assert_close, assert_mean_close
from tests.refusals import refused, refused_like

DIRECTIONS = jnp.array([[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]])


def _drawn(mixture, n, d, draws=30_000, seed=0):
    """Sample covariances of inputs drawn as the class says, and their weights."""
    for_inputs, for_stretches = jax.random.split(jax.random.key(seed))
    T = mixture.stretches(for_stretches, draws, d)
    x = jax.random.normal(for_inputs, (draws, n, d)) @ T
    S = jnp.einsum("bni,bnj->bij", x, x) / n
    return S, np.asarray(mixture.weights(S, n))


@pytest.mark.parametrize("d", [1, 2, 3, 5, 10, 20])
def test_mean_on_the_sphere_of_a_rank_one_matrix(d):
    """E exp(m u₁²) = ₁F₁(½; d/2; m)."""
    sizes = np.array([-300.0, -5.0, -0.1, 0.0, 0.3, 5.0, 40.0, 1000.0])
    M = np.zeros((len(sizes), d, d))
    M[:, 0, 0] = sizes
    with mpmath.workdps(30):
        half = mpmath.mpf(1) / 2
        exact = [float(mpmath.log(mpmath.hyp1f1(half, d * half, m))) for m in sizes]
    # The contour's own accuracy, which falls with d.
    assert_close(log_mean_on_sphere(jnp.asarray(M)), exact, rtol=1e-10, atol=1e-10)


def test_mean_on_the_circle_by_a_trapezium_rule():
    """For d = 2 the mean is over one angle, and the rule converges at once."""
    M = np.array([[[3.0, 1.0], [1.0, -2.0]], [[9.0, 0.0], [0.0, 9.0]]])
    angle = np.arange(200) * np.pi / 100
    u = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    exact = logsumexp(np.einsum("ji,bik,jk->bj", u, M, u), axis=1) - np.log(200)
    assert_close(log_mean_on_sphere(jnp.asarray(M)), exact)


@pytest.mark.parametrize("d", [3, 6, 12])
def test_mean_on_the_sphere_by_brute_force(d):
    random = np.random.default_rng(d)
    u = random.standard_normal((200_000, d))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    M = random.standard_normal((d, d))
    M = (M + M.T) / 2
    values = np.exp(np.einsum("ji,ik,jk->j", u, M, u))
    found = float(jnp.exp(log_mean_on_sphere(jnp.asarray(M)[None])[0]))
    assert_mean_close(values.mean(), values.std() / np.sqrt(len(u)), found)


@pytest.mark.parametrize("d", [2, 7, 50])
def test_mean_on_the_sphere_of_a_shifted_and_a_turned_matrix(d):
    """Mean of M + cI is eᶜ times that of M, and only eigenvalues matter."""
    random = np.random.default_rng(d)
    X = random.standard_normal((d, d))
    Q, M = np.linalg.qr(X)[0], X @ X.T / d
    matrices = jnp.asarray(np.stack([M, M + 3 * np.eye(d), Q @ M @ Q.T]))
    first, shifted, turned = np.asarray(log_mean_on_sphere(matrices))
    assert_close([shifted - 3, turned], first, atol=1e-9)


@pytest.mark.parametrize(
    ("mixture", "n", "d"),
    [
        (Mixture([1.0, 1.8]), 20, 5),
        (Mixture([1.0, 1.3, 2.0]), 3, 5),  # fewer examples than inputs
        (Mixture([1.0, 2.0]), 4, 1),
        (Mixture([1.0, 2.0], DIRECTIONS), 6, 2),
        (Mixture([1.0]), 6, 2),
        (Mixture([1.0, 1.5], overall=[1.2]), 6, 3),
    ],
)
def test_weighted_means_are_those_of_the_plain_law(mixture, n, d):
    S, weights = _drawn(mixture, n, d)
    assert np.all(weights >= 0)
    assert np.max(weights) <= mixture.laws * (1 + 1e-9)
    S = np.asarray(S)
    trace = np.trace(S, axis1=1, axis2=2)
    square = np.sum(S**2, axis=(1, 2))
    # E tr S = d; E tr S² = d + d(d + 1)/n; E (tr S)² = d² + 2d/n.
    for values, exact in (
        (np.ones(len(S)), 1),
        (trace, d),
        (square, d + d * (d + 1) / n),
        (trace**2, d**2 + 2 * d / n),
        (S[:, 0, -1], float(d == 1)),
    ):
        v = weights * values
        assert_mean_close(v.mean(), v.std() / np.sqrt(len(v)) + 1e-12, exact)


def test_all_directions_are_the_limit_of_many():
    S = _drawn(Mixture([1.0, 1.5]), 8, 3, draws=20)[0]
    u = np.random.default_rng(0).standard_normal((100_000, 3))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    scales = (1.0, 1.5)
    many = Mixture(scales, jnp.asarray(u)).weights(S, 8)
    # A hundred thousand directions: the mean over them is off by a hundredth or less.
    assert_close(many, Mixture(scales).weights(S, 8), rtol=0.02)


def test_weights_compile_and_map():
    mixture = Mixture([1.0, 1.5])
    S, weights = _drawn(mixture, 4, 3, draws=6)
    assert_close(jax.jit(lambda S: mixture.weights(S, 4))(S), weights)
    mapped = jax.vmap(lambda one: mixture.weights(one[None], 4)[0])(S)
    assert_close(mapped, weights)


def test_scales_take_turns_and_directions_are_unit_vectors():
    T = np.asarray(Mixture([2.0, 1.0]).stretches(jax.random.key(0), 5, 4))
    largest = np.linalg.eigvalsh(T)[:, -1]
    assert_close(largest, [1, 2, 1, 2, 1])
    assert_close(np.linalg.det(T), largest)


def test_scale_of_a_degree():
    """s² = 1 + 3p/n, as it is written."""
    found = Mixture.of_degree(20, 20, 5)
    assert_close(found.scales, [1.0, 2.0])
    assert_close(found.overall, [1.6**0.5])
    assert Mixture.of_degree(20, 20, 1).overall == ()
    assert Mixture.of_degree(4, 20, 5).laws == 1


SCALES = "Mixture: `scales` must be numbers from 1 on, 1 among them"


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Mixture([0.5, 1.0]), SCALES),
        (lambda: Mixture([2.0, 3.0]), SCALES),
        (
            lambda: Mixture([1.0], overall=[0.9]),
            "Mixture: `overall` must be numbers above 1, got [0.9]",
        ),
        (lambda: Mixture([]), SCALES),
        (
            lambda: Mixture([1.0, float("inf")]),
            "Mixture: `scales[1]` must be finite, got inf",
        ),
        (
            lambda: Mixture([1.0, 2.0], jnp.zeros((0, 2))),
            "Mixture: `directions` must be a J×d matrix, got shape (0, 2), which is"
            " empty",
        ),
        (
            lambda: Mixture([1.0, 2.0], jnp.array([[1.0, 0.0], [3.0, 4.0]])),
            "Mixture: `directions` must be unit vectors, one a row, got one of"
            " length 5",
        ),
        (
            lambda: Mixture([1.0], DIRECTIONS).stretches(jax.random.key(0), 4, 3),
            "Mixture.stretches: `directions` must be of dimension 3, got 2",
        ),
    ],
)
def test_mistakes_are_named(call, message):
    with refused_like(message) if message == SCALES else refused(message):
        call()
