"""Paired curves: known distances, signs, intervals narrower than those of errors."""

from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from iclab.algorithms import Averaging, Ridge, Zero
from iclab.evaluation import error_curve, paired_curves
from iclab.tasks import LinearRegression
from tests.assertions import assert_close, assert_mean_close

D = 3
TASK = LinearRegression(jnp.eye(D), noise_std=0.5)
SIZES: Any = {"groups": 20, "prompts": 100}
KEY = jax.random.key(0, impl="rbg")


def test_distance_from_zero_is_the_power_of_a_prediction():
    # E(x_qᵀ(1/n)Σyx)² = E‖Sw + (1/n)Σεx‖² = d(1 + (d+1)/n) + σ²d/n.
    found = paired_curves(Averaging(), Zero(), TASK, [2, 8], key=KEY, **SIZES)
    n = np.array([2, 8])
    expected = D * (1 + (D + 1) / n) + 0.25 * D / n
    error = (found.distance.upper - found.distance.lower) / 3.29
    assert_mean_close(found.distance.mean, error, expected)


def test_difference_is_that_of_the_errors_and_is_paired():
    f, g = Ridge(0.75), Ridge(0.7)
    found = paired_curves(f, g, TASK, [2, 8], key=KEY, **SIZES)
    errors = error_curve({"f": f, "g": g}, TASK, [2, 8], key=KEY, **SIZES)
    assert_close(found.difference.mean, errors["f"].mean - errors["g"].mean)
    back = paired_curves(g, f, TASK, [2, 8], key=KEY, **SIZES)
    assert_close(back.difference.mean, -found.difference.mean)
    assert_close(back.distance.mean, found.distance.mean)
    width = found.difference.upper - found.difference.lower
    assert np.all(width < 0.1 * (errors["f"].upper - errors["f"].lower))


def test_a_predictor_is_no_distance_from_itself():
    found = paired_curves(Averaging(), Averaging(), TASK, [2, 8], key=KEY, **SIZES)
    assert_close(found.distance.upper, [0.0, 0.0], rtol=0, atol=0)


@pytest.mark.usefixtures("unchecked")
def test_a_function_is_no_predictor():
    rule = r"a predictor \(`core.Foreign` makes one of a function of arrays\)"
    with pytest.raises(ValueError, match=f"^paired_curves: `second` must be {rule}"):
        paired_curves(Zero(), cast(Any, lambda prompt: 0.0), TASK, [1], key=KEY)
