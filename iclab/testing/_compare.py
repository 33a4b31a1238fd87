"""Numbers that should be equal, and the sentence for those that are not."""

from typing import Any, NoReturn

import jax.numpy as jnp
import numpy as np

# Of the size of the numbers. Sums in another order, and least squares on few examples,
# lose some digits of either kind of number.
_TOLERANCES = {"float64": 1e-9, "float32": 1e-3}


def fail(sentence: str) -> NoReturn:
    """Say what is not as it should be."""
    raise AssertionError(sentence)


def floating(value: Any, owner: str, what: str) -> np.ndarray:
    """`value` as an array of finite floating-point numbers."""
    dtype = getattr(value, "dtype", None)
    if dtype is None or not jnp.issubdtype(dtype, jnp.floating):
        found = type(value).__name__ if dtype is None else dtype
        fail(f"{owner}: {what} must be an array of floating-point numbers, got {found}")
    array = np.asarray(value)
    if not np.all(np.isfinite(array)):
        fail(f"{owner}: {what} must be finite, got {_words(array)}")
    return array


def shaped(value: Any, shape: tuple[int, ...], owner: str, what: str) -> np.ndarray:
    """`value` as a finite floating array of this shape."""
    found = getattr(value, "shape", None)
    if found is not None and found != shape:
        fail(f"{owner}: {what} must have shape {shape}, got {found}")
    return floating(value, owner, what)


def agree(
    one: Any, other: Any, owner: str, sentence: str, tolerance: Any = None
) -> None:
    """Fail with `sentence`, filled with both numbers, unless they are equal."""
    one, other = np.asarray(one), np.asarray(other)
    if tolerance is None:
        # The coarser of the two decides; a format that is coarser still, as well.
        tolerance = max(_TOLERANCES.get(str(a.dtype), 2e-2) for a in (one, other))
    size = max(1.0, float(np.max(np.abs(other), initial=0.0)))
    if one.shape != other.shape or not np.all(np.abs(one - other) <= tolerance * size):
        words = _words(one), _words(other)
        apart = ""
        if words[0] == words[1]:  # to the digits that are shown
            apart = f" ({np.max(np.abs(one - other)):.1g} apart; see `tolerance`)"
        fail(f"{owner}: {sentence.format(*words)}{apart}")


def _words(array: np.ndarray) -> str:
    return np.array2string(array, precision=6, threshold=6, separator=", ")
