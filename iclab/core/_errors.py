"""One way to say what is wrong with an argument: owner, name, rule, value."""

import math
import operator
from typing import Any

import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from iclab._reading import require as require
from iclab.core._rules import LARGEST_SIZE

# Of 8 bytes each: 8 GB.
_MOST_NUMBERS = 10**9


def is_traced(value: object) -> bool:
    """Whether `value` is inside a JAX transformation and has no number to check."""
    return isinstance(value, jax.core.Tracer)


def positive_integer(value: Any, owner: str, name: str) -> Any:
    """`value` as an `int` of at least 1, or a `ValueError`; traced values pass."""
    if is_traced(value):
        return value
    rule = "an integer ≥ 1"
    try:
        integer = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        integer = None
    found = repr(value) if integer is None else integer
    require(integer is not None and integer >= 1, owner, name, rule, found)
    return integer


def array_size(value: Any, owner: str, name: str) -> Any:
    """`value` as the length of an axis: a longer one can end the process."""
    size = positive_integer(value, owner, name)
    rule = f"an integer of at most {LARGEST_SIZE:,}"
    require(is_traced(size) or size <= LARGEST_SIZE, owner, name, rule, size)
    return size


def enough_memory(numbers: int, owner: str, name: str, product: str) -> None:
    """Refuse arrays of so many numbers: a process that asks for them may be ended."""
    rule = f"small enough for {_MOST_NUMBERS:.0e} numbers in memory, {product}"
    require(numbers <= _MOST_NUMBERS, owner, name, rule, f"{numbers:.1e}")


def finite_number(
    value: object, owner: str, name: str, *, at_least: float | int = -math.inf
) -> None:
    """Check that a scalar is finite and not below `at_least`; traced values pass."""
    if is_traced(value):
        return
    rule = "finite" if at_least == -math.inf else f"≥ {at_least:g} and finite"
    try:
        number = float(np.asarray(value).item())
    except OverflowError:
        number = math.inf
    except (TypeError, ValueError):
        number = None
    real = number is not None and not isinstance(value, (str, bytes))
    require(real, owner, name, "a number", repr(value))
    holds = number is not None and math.isfinite(number) and number >= at_least
    require(holds, owner, name, rule, number)


def finite_array(value: Array | np.ndarray, owner: str, name: str) -> None:
    """Check that no entry is NaN or infinite; traced arrays pass."""
    if not is_traced(value):
        # NumPy, because inside a JAX transformation even known numbers would be traced.
        bad = int(np.sum(~np.isfinite(np.asarray(value))))
        require(bad == 0, owner, name, "finite", f"{bad} entries that are not")


def square_matrix(
    value: object, owner: str, name: str, *, dimension: int | None = None
) -> Float[Array, "d d"]:
    """`value` as a floating-point d×d array with d ≥ 1, every entry finite.

    `dimension`, when given, is the d that the rest of the problem has. A traced matrix
    that is not finite becomes NaN.
    """
    try:
        matrix = jnp.asarray(value)
    except (TypeError, ValueError, OverflowError):
        matrix = None
    real = matrix is not None and not jnp.issubdtype(matrix.dtype, jnp.complexfloating)
    require(real, owner, name, "a square matrix", repr(value))
    assert matrix is not None
    if not jnp.issubdtype(matrix.dtype, jnp.floating):
        matrix = matrix.astype(float)
    square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] >= 1
    require(square, owner, name, "a square matrix", f"shape {matrix.shape}")
    if dimension is not None:
        rule = f"a {dimension}×{dimension} matrix"
        same = len(matrix) == dimension
        require(same, owner, name, rule, f"shape {matrix.shape}")
    finite_array(matrix, owner, name)
    if is_traced(matrix):  # all NaN, so that no factorisation makes a number of it
        matrix = jnp.where(jnp.all(jnp.isfinite(matrix)), matrix, jnp.nan)
    return matrix
