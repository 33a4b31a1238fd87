"""Bounds of gatmiry2024: values by hand, and refusal where a hypothesis fails."""

import jax.numpy as jnp
import numpy as np
import pytest

from iclab.theory import (
    closeness_bound,
    closeness_bound_lemma_a_9,
    convergence_time,
    dominance_constant,
    dominance_envelope,
    dominance_threshold,
    looped_delta,
    looped_optimum_bounds,
    moment_deviation,
    out_of_distribution_bound,
    spectral_distance,
)
from tests.assertions import assert_close
from tests.refusals import refused

D, N, L = 2, 2**20, 2  # the fewest samples that Theorem 3.2 admits


def test_constants_by_hand():
    assert_close(looped_delta(D, N, L), (32 / 1024) ** 0.25)
    assert_close(looped_optimum_bounds(D, N, L), (1.0, 8 * (64 / 1024) ** 0.25))
    assert_close(moment_deviation(D, N, 3), 24 / 1024)
    assert_close(dominance_threshold(D, N, L), 2 * (4 * looped_delta(D, N, L)) ** 4)
    main = dominance_threshold(D, N, L, form="main")
    assert_close(main, dominance_threshold(D, N, L) / 4**L)
    assert dominance_constant(D, L, corrected=False) == 1 / 16
    assert_close(dominance_constant(100, 2), 0.4)


def test_time_is_when_the_envelope_passes():
    time = convergence_time(0.01, 3, dimension=7)
    kappa = dominance_constant(7, 3)
    ends = [
        float(dominance_envelope(g, time, 3, constant=kappa)) for g in (0.02, 7, 1e9)
    ]
    assert all(end < 0.01 for end in ends)
    assert_close(ends[-1], 0.01, rtol=1e-5)  # from far above it passes just then
    printed = convergence_time(0.01, 2, dimension=7, corrected=False)
    assert_close(printed, 10 * 32 ** (1 / 3))


def test_envelope_solves_its_equation():
    step = 1e-5
    before, after = dominance_envelope(7, jnp.array([3 - step, 3 + step]), 2)
    value = dominance_envelope(7, 3, 2)
    assert_close(value, 4.494088, rtol=1e-6)
    assert_close((after - before) / (2 * step), -(value**1.5) / 16, rtol=1e-8)
    assert_close(dominance_envelope(7, 0, 2), 7.0)
    assert_close(dominance_envelope(7, 3, 2, corrected=False), 0.571403, rtol=1e-5)


def test_closeness_by_hand():
    n = 10**12
    delta = looped_delta(D, n, L)
    loss, distance = closeness_bound(0.5, D, n, L)
    assert_close((loss, distance), (0.5**4 / 2, (4 + 16 * 2**0.25) / 2))
    loss, distance = closeness_bound_lemma_a_9(0.5, D, n, L)
    assert_close(loss, 0.5**4 - (2.5 * delta) ** 4)
    assert_close(distance, 2 + 16 * delta * 2**0.25)


def test_out_of_distribution_bound_by_hand():
    Sigma, n = jnp.diag(jnp.array([1.0, 0.25])), 10**16
    x, w = jnp.array([0.0, 1.0]), jnp.array([1.0, 0.0])
    r = 16 * looped_delta(2, n, 1) * 2**0.5
    setting = {"covariance": Sigma, "margin": 0.2, "samples": n, "loops": 1}
    bound = out_of_distribution_bound(x, w, sample_covariance=0.2 * Sigma, **setting)
    assert_close(bound, (1 + r) ** 2 * (0.8 + r) ** 2 * 4)
    printed = out_of_distribution_bound(
        x, w, sample_covariance=0.2 * Sigma, **setting, corrected=False
    )
    assert_close(printed, bound / 16)
    with refused(
        "out_of_distribution_bound: `sample_covariance` must be between 0.2 and 1.8 "
        "times the covariance, got eigenvalues between 0.1 and 0.1"
    ):
        out_of_distribution_bound(x, w, sample_covariance=0.1 * Sigma, **setting)
    setting["margin"] = 1.0
    rule = "out_of_distribution_bound: `margin` must be between 0 and 1"
    with refused(f"{rule}, got 1.0"):
        out_of_distribution_bound(x, w, sample_covariance=Sigma, **setting)


def test_spectral_distance():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 3))
    B = jnp.asarray(root @ root.T + np.eye(3))
    A = B + 0.1 * jnp.ones((3, 3))
    epsilon = spectral_distance(A, B)
    edges = [(1 + epsilon) * B - A, A - (1 - epsilon) * B]
    smallest = [float(np.linalg.eigvalsh(edge)[0]) for edge in edges]
    assert min(smallest) == pytest.approx(0, abs=1e-10)
    assert max(smallest) > 0
    assert_close(spectral_distance(0.7 * B, B), 0.3)


def test_hypotheses_that_fail_are_named():
    with refused(
        "looped_optimum_bounds: `samples` must be at least (8Ld²4ᴸ)² = 1048576, got "
        "20, 5.24e+04 times too few"
    ):
        looped_optimum_bounds(D, 20, L)
    with refused(
        "moment_deviation: `samples` must be at least 16k²d² = 576, got 300, 1.92 "
        "times too few"
    ):
        moment_deviation(2, 300, 3)
    assert_close(moment_deviation(2, 300, 3, corrected=False), 24 / 300**0.5)
    with refused("closeness_bound: `tolerance` must be above 4δ = 5.35, got 0.1"):
        closeness_bound(0.1, 2, 100, 2)
    rule = "above δ(ε + 2)"
    with refused(
        f"closeness_bound_lemma_a_9: `tolerance` must be {rule}, got 3, too small"
    ):
        closeness_bound_lemma_a_9(3, 2, 100, 2)
    rule = "at least 2, since the exponent L/(L−1) is infinite for one"
    with refused(f"convergence_time: `loops` must be {rule}, got 1"):
        convergence_time(0.1, 1, dimension=3)
    with refused("convergence_time: `tolerance` must be > 0 and finite, got 0.0"):
        convergence_time(0, 2, dimension=3)
    with refused("dominance_envelope: `start` must be > 0 and finite, got 0.0"):
        dominance_envelope(0, 1.0, 2)
    with refused(
        "spectral_distance: `A` must be symmetric, got entries that differ from their "
        "mirror image by 1"
    ):
        spectral_distance(jnp.array([[1.0, 1.0], [0.0, 1.0]]), jnp.eye(2))


def test_shapes_are_checked(unchecked):
    rule = "out_of_distribution_bound: `weights` must be a vector of 3 numbers"
    with refused(f"{rule} like `query`, got shape (2,)"):
        out_of_distribution_bound(
            jnp.ones(3),
            jnp.ones(2),
            covariance=jnp.eye(2),
            sample_covariance=jnp.eye(2),
            margin=0.2,
            samples=10**16,
            loops=1,
        )
