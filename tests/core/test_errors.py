"""One way to say what is wrong."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

from iclab.core import (
    Natural,
    NonNegative,
    Number,
    checked,
    finite_array,
    is_traced,
    read,
    require,
)
from tests.assertions import assert_close
from tests.refusals import refused


def _square(value, name):
    return read(value, Float[Array, "d d"], name)


def test_require_says_name_rule_value():
    @checked
    def ridge(penalty: float) -> None:
        require(penalty >= 0, "penalty", "≥ 0", penalty)

    ridge(1.0)
    owner = ridge.__qualname__
    with refused(f"{owner}: `penalty` must be ≥ 0, got -1.0"):
        ridge(-1.0)
    with refused("`penalty` must be ≥ 0, got -1.0"):
        require(False, "penalty", "≥ 0", -1.0)


def test_errors_from_inside_name_the_function():
    @checked
    def divide(by: int) -> float:
        return 1 / by

    with pytest.raises(ZeroDivisionError) as caught:
        divide(0)
    assert caught.value.__notes__ == [f"in iclab's {divide.__qualname__}"]


@pytest.mark.parametrize("value", [3, np.int32(3), np.array(3), jnp.asarray(3)])
def test_every_kind_of_integer_is_one(value):
    assert read(value, Natural, "n") == 3


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (0, "0"),
        (-4, "-4"),
        (np.int64(0), "0"),
        (jnp.asarray(0), "0"),
        (3.0, "3.0"),
        (2.5, "2.5"),
        ("3", "'3'"),
        (None, "None"),
        (True, "True"),
        (np.float64(2.5), "2.5"),
        (np.array([1, 2]), "array([1, 2])"),
        (jnp.asarray(2.5), "2.5"),
        (jnp.array([1, 2]), "Array([1, 2], dtype=int64)"),
    ],
)
def test_what_is_not_a_positive_integer(value, found):
    with refused(f"`n` must be an integer ≥ 1, got {found}"):
        read(value, Natural, "n")


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (float("nan"), Number, "`s` must be finite, got nan"),
        (float("inf"), Number, "`s` must be finite, got inf"),
        (-1.0, NonNegative, "`s` must be ≥ 0 and finite, got -1.0"),
        (jnp.asarray(-1.0), NonNegative, "`s` must be ≥ 0 and finite, got -1.0"),
        (float("nan"), NonNegative, "`s` must be ≥ 0 and finite, got nan"),
        (float("inf"), NonNegative, "`s` must be ≥ 0 and finite, got inf"),
    ],
)
def test_what_is_not_a_finite_number(value, kind, message):
    with refused(message):
        read(value, kind, "s")


def test_bad_entries_are_counted():
    with refused("`v` must be finite, got 2 entries that are not"):
        finite_array(jnp.array([1.0, jnp.nan, jnp.inf]), "v")


def test_a_square_matrix_is_of_floats():
    matrix = _square([[1, 2], [3, 4]], "A")
    assert matrix.dtype == jnp.float64
    assert_close(matrix, [[1.0, 2.0], [3.0, 4.0]])
    assert _square(jnp.eye(2, dtype=jnp.float32), "A").dtype == jnp.float32


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (jnp.ones((2, 3)), "(2, 3)"),
        (jnp.ones(3), "(3,)"),
        (jnp.ones((0, 0)), "(0, 0), which is empty"),
        (jnp.ones((2, 2, 2)), "(2, 2, 2)"),
        (2.0, "()"),
    ],
)
def test_what_is_not_a__square(value, shape):
    with refused(f"`A` must be a square matrix, got shape {shape}"):
        _square(value, "A")


def test_traced_values_pass():
    @jax.jit
    def passes(n, s, v):
        assert is_traced(n)
        assert read(n, Natural, "n") is n
        read(s, NonNegative, "s")
        finite_array(v, "v")
        return n + s + jnp.sum(_square(v, "v"))

    assert not is_traced(jnp.ones(2))
    assert_close(passes(-1, -2.0, jnp.eye(2)), -1.0)


def test_known_numbers_are_checked_inside_a_transformation():
    def refuses(x):
        finite_array(jnp.asarray(np.array([np.nan])), "v")
        return x

    message = "`v` must be finite, got 1 entries that are not"
    with refused(message):
        jax.grad(refuses)(1.0)
