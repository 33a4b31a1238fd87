"""Loss of looped transformers: rationals, sampling, limits, the printed lemma."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.theory import (
    looped_loss,
    looped_loss_lemma_4_1,
    looped_optimum,
    loss_by_test_loops,
    sampled_looped_loss,
    scalar_transformer_loss,
)
from tests.assertions import assert_close, assert_estimated, assert_mean_close
from tests.refusals import refused, refused_like

SIGMA = jnp.array([[1.0, 0.3], [0.3, 0.5]])
A = jnp.array([[0.5, 0.2], [-0.1, 0.9]])
U = jnp.array([0.7, -0.4])
SETTING = {"covariance": SIGMA, "samples": 6}


@pytest.mark.parametrize(
    ("loops", "loss", "printed"),
    [
        (1, Fraction(103, 100), Fraction(19, 20)),
        (2, Fraction(2731, 3200), Fraction(12919, 16000)),
        (3, Fraction(8954879, 6400000), Fraction(8432663, 6400000)),
    ],
)
def test_rational_values_of_loss_and_lemma(loops, loss, printed):
    setting = {"covariance": jnp.eye(2), "samples": 8, "loops": loops}
    diagonal = jnp.diag(jnp.array([1.0, 0.2]))
    assert_close(looped_loss(diagonal, **setting), float(loss))
    assert_close(looped_loss_lemma_4_1(diagonal, **setting), float(printed))


@pytest.mark.parametrize("loops", [1, 2])
def test_words_agree_with_sampling(getkey, loops):
    found = sampled_looped_loss(
        A, U, **SETTING, loops=loops, key=getkey(), draws=20_000
    )
    assert_mean_close(
        found.mean, found.standard_error, looped_loss(A, U, **SETTING, loops=loops)
    )


@pytest.mark.parametrize("loops", [1, 2, 3])
def test_words_agree_with_quadrature(loops):
    def loss(step):
        inverse = jnp.linalg.inv(SIGMA)
        return looped_loss(step * inverse, U, **SETTING, loops=loops)

    step = jnp.asarray(0.6)
    assert_close(jax.jit(loss)(step), loss(step))  # traced: no longer a known multiple


def test_multiples_do_not_see_the_covariance():
    loss = looped_loss(0.6 * jnp.linalg.inv(SIGMA), **SETTING, loops=5)
    assert_close(loss, loss_by_test_loops(0.6, 2, 6, 5)[-1])
    assert_close(loss, scalar_transformer_loss(jnp.full(5, -0.6), None, 2, 6))


def test_losses_by_test_loops_turn_round():
    step, _ = looped_optimum(5, 20, 2)
    losses = np.asarray(loss_by_test_loops(step, 5, 20, 20))
    expected = [0.499007388, 0.2738171474, 0.1773752069, 1.612133652, 24.28558254]
    assert_close(losses[[1, 2, 4, 7, 9]], expected, rtol=1e-9)
    assert np.argmin(losses) == 4
    assert losses[19] > 1e10


def test_sixty_four_loops_are_exact(getkey):
    inverse = 0.2 * jnp.eye(2)
    setting = {"covariance": jnp.eye(2), "samples": 60, "loops": 64}
    # Small eigenvalues carry this loss: stretched prompts do not help.
    drawn = {"key": getkey(), "draws": 20_000}
    found = sampled_looped_loss(inverse, **setting, **drawn, mixture=False)
    assert_estimated(found, looped_loss(inverse, **setting))
    with refused_like("enough for 100 effective draws, got 20,001, of which"):
        sampled_looped_loss(inverse, **setting, **drawn)


def test_refusals():
    with refused("looped_loss: `loops` must be an integer from 1 to 64, got 0"):
        looped_loss(A, **SETTING, loops=0)
    with refused("looped_loss: `loops` must be an integer from 1 to 64, got 65"):
        looped_loss(A, **SETTING, loops=65)
    with refused("looped_loss: `samples` must be an integer ≥ 1, got -3"):
        looped_loss(A, covariance=SIGMA, samples=-3, loops=2)
    with refused(
        "looped_loss: `loops` must be at most 3 to be exact for matrices that are not "
        "multiples of the inverse covariance (sampled_looped_loss has no such limit), "
        "got 4"
    ):
        looped_loss(A, **SETTING, loops=4)
    with refused(
        "looped_loss_lemma_4_1: `A` must be symmetric, got entries that differ from "
        "their mirror image by 0.3"
    ):
        looped_loss_lemma_4_1(A, **SETTING, loops=1)
    with refused(
        "looped_loss_lemma_4_1: `loops` must be an integer from 1 to 3, got 4"
    ):
        looped_loss_lemma_4_1(jnp.eye(2), **SETTING, loops=4)
    rule = "at least 2 for a standard error"
    with refused(f"sampled_looped_loss: `draws` must be {rule}, got 1"):
        sampled_looped_loss(A, **SETTING, loops=9, key=jax.random.key(0), draws=1)


def test_shapes_are_checked(unchecked):
    rule = "`covariance` must be a 3×3 matrix like `A`"
    with refused(f"looped_loss: {rule}, got shape (2, 2)"):
        looped_loss(jnp.eye(3), **SETTING, loops=1)
    with refused(
        "looped_loss: `u` must be a vector of 2 numbers like `A`, got shape (3,)"
    ):
        looped_loss(A, jnp.zeros(3), **SETTING, loops=1)
