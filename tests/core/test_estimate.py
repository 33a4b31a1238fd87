"""Estimates from sums, one part of the draws after the other, against NumPy."""

import jax.numpy as jnp
import numpy as np
import pytest

from iclab.core import Estimate, Sums
from tests.assertions import assert_close

VALUES = np.random.default_rng(0).normal([0.3, 5.0], size=(12, 2))


@pytest.mark.parametrize("strata", [1, 2, 3])
def test_one_part_after_the_other_is_all_at_once(strata):
    parts = [Sums.of(jnp.asarray(part), strata) for part in np.split(VALUES, 2)]
    found = (parts[0] + parts[1]).estimate(12)
    at_once = Sums.of(jnp.asarray(VALUES), strata).estimate(12)
    for name in ("mean", "standard_error", "effective", "largest_share"):
        assert_close(getattr(found, name), getattr(at_once, name))


@pytest.mark.parametrize("strata", [1, 2, 3])
def test_against_numpy(strata):
    found = Sums.of(jnp.asarray(VALUES), strata).estimate(12)
    laws = VALUES.reshape(-1, strata, 2)
    each = len(laws)
    # The mean of the means of the laws, each with its own variance.
    error = np.sqrt(np.sum(laws.var(axis=0, ddof=1) / each, axis=0)) / strata
    sizes = np.abs(VALUES)
    assert_close(found.mean, VALUES.mean(axis=0))
    assert_close(found.standard_error, error)
    assert_close(found.effective, sizes.sum(axis=0) ** 2 / (sizes**2).sum(axis=0))
    assert_close(found.largest_share, sizes.max(axis=0) / sizes.sum(axis=0))


def test_what_differs_between_laws_is_no_error():
    values = jnp.tile(jnp.array([0.0, 10.0]), 50)
    assert_close(Sums.of(values, 2).estimate(100).standard_error, 0.0)
    assert float(Sums.of(values).estimate(100).standard_error) > 0.4


def test_who_carries_a_mean():
    """Equal draws count fully, one that dwarfs the others alone, and zeros not."""
    equal, one = jnp.ones(200), jnp.zeros(200).at[7].set(3.0)
    found = Sums.of({"equal": equal, "one": one, "none": 0 * one}).estimate(200)
    assert_close([found.effective[k] for k in ("equal", "one", "none")], [200, 1, 0])
    shares = [found.largest_share[k] for k in ("equal", "one", "none")]
    assert_close(shares, [1 / 200, 1, 0])


def test_unpacks_and_has_parts():
    found = Sums.of({"a": jnp.arange(4.0), "b": jnp.ones(4)}).estimate(4)
    part = found.part(lambda tree: tree["a"])
    mean, error = part
    assert_close([mean, error], [1.5, np.arange(4).std(ddof=1) / 2])
    assert_close(part.effective, 36 / 14)
    bare = Estimate(jnp.ones(2), jnp.zeros(2), 4).part(lambda tree: tree[0])
    assert bare.effective is None
    assert_close(bare.mean, 1.0)


def test_a_notebook_shows_a_table():
    page = Sums.of({"loss": jnp.ones(200)}).estimate(200)._repr_html_()
    assert "effective draws" in page
    assert "standard error of 200 draws" in page
    assert "loss" in page
