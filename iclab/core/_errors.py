"""Checks of values that no annotation of a public function has seen."""

import math
from typing import Annotated, Any

from jaxtyping import Array, Float

from iclab._reader import Natural, Rule, read, require
from iclab.core._rules import Covariance, Number, Size, Symmetric

# Of 8 bytes each: 8 GB.
_MOST_NUMBERS = 10**9


def positive_integer(value: Any, name: str) -> Any:
    """`value` as an `int` of at least 1, or a `ValueError`; traced values pass."""
    return read(value, Natural, name)


def array_size(value: Any, name: str) -> Any:
    """`value` as the length of an axis: a longer one can end the process."""
    return read(value, Size, name)


def enough_memory(numbers: int, name: str, product: str) -> None:
    """Refuse arrays of so many numbers: a process that asks for them may be ended."""
    rule = f"small enough for {_MOST_NUMBERS:.0e} numbers in memory, {product}"
    require(numbers <= _MOST_NUMBERS, name, rule, f"{numbers:.1e}")


def finite_number(
    value: object, name: str, *, at_least: float | int = -math.inf
) -> None:
    """Check that a scalar is finite and not below `at_least`; traced values pass."""
    rule = Rule(f"≥ {at_least:g} and finite", lambda x: x >= at_least)
    read(value, Number if at_least == -math.inf else Annotated[Number, rule], name)


def square_matrix(value: object, name: str) -> Float[Array, "d d"]:
    """`value` as a floating-point d×d array with d ≥ 1, every entry finite."""
    return read(value, Float[Array, "d d"], name)


def symmetric_matrix(value: object, name: str) -> Float[Array, "d d"]:
    """`value` as a finite symmetric d×d array; traced, only its shape is checked."""
    return read(value, Symmetric, name)


def covariance_matrix(value: object, name: str = "covariance") -> Float[Array, "d d"]:
    """`value` as a symmetric positive definite matrix, or a `ValueError`."""
    return read(value, Covariance, name)
