"""Infinitely long prompts: ledger values, and limits of the finite theory."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.theory import (
    lsa_limit_factor,
    lsa_limit_risk,
    lsa_optimum_random_covariance,
    lsa_risk,
)
from tests.assertions import assert_close
from tests.refusals import refused

EXPONENTIAL = jnp.array([[1.0], [2.0], [6.0]])
IDENTITY = jnp.ones((3, 1))


def test_exponential_covariances_give_a_third():
    assert_close(
        lsa_limit_factor(jnp.repeat(EXPONENTIAL, 4, axis=1)), np.full(4, 1 / 3)
    )


def test_certain_covariances_are_learned_exactly():
    moments = jnp.array([[1.0, 0.5], [1.0, 0.25], [1.0, 0.125]])
    assert_close(lsa_limit_factor(moments), [1.0, 1.0])
    assert_close(lsa_limit_risk(moments, moments), 0.0)


@pytest.mark.parametrize(
    ("scale", "trained", "identity_trained"),
    [(1.0, 1 / 3, 3.0), (4.0, 76 / 3, 324.0), (9.0, 387.0, 4059.0)],
)
def test_dashed_line_of_figure_1(scale, trained, identity_trained):
    assert_close(lsa_limit_risk(EXPONENTIAL, EXPONENTIAL, scale), trained)
    assert_close(lsa_limit_risk(IDENTITY, EXPONENTIAL, scale), identity_trained)


@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_is_the_limit_of_the_exact_risk(scale):
    # λ ~ Exponential(1) by Gauss–Laguerre: the risk has degree 3 in λ.
    W_KQ, W_PV = lsa_optimum_random_covariance(jnp.tile(EXPONENTIAL, 2), 10**12)
    P = W_PV[2, 2] * W_KQ[:2, :2]
    nodes, mass = np.polynomial.laguerre.laggauss(3)
    risk = jax.vmap(lambda x: lsa_risk(P, jnp.diag(scale * x), 10**12))
    pairs = jnp.asarray(np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2))
    mean = np.outer(mass, mass).ravel() @ np.asarray(risk(pairs))
    limit = lsa_limit_risk(jnp.tile(EXPONENTIAL, 2), jnp.tile(EXPONENTIAL, 2), scale)
    assert_close(limit, mean, rtol=1e-9)  # the error is O(1/N)


def test_nothing_is_lost_at_scale_zero():
    assert_close(lsa_limit_risk(EXPONENTIAL, EXPONENTIAL, 0.0), 0.0)


def test_negative_scales_are_refused():
    with refused("lsa_limit_risk: `scale` must be ≥ 0 and finite, got -1.0"):
        lsa_limit_risk(EXPONENTIAL, EXPONENTIAL, -1.0)
