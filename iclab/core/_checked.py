"""Functions that compute: their arguments are read, and their results are finite."""

import functools
import typing
from collections.abc import Callable
from typing import Any

import jax

from iclab import _reader
from iclab._reader import FunctionT


@typing.overload
def checked(function: FunctionT, *, finite: bool = True) -> FunctionT: ...


@typing.overload
def checked(
    *, finite: bool = True, jit: bool = False, static: str | None = None
) -> Callable[[FunctionT], FunctionT]: ...


def checked(
    function: Any = None,
    *,
    finite: bool = True,
    jit: bool = False,
    static: str | None = None,
) -> Any:
    """Read the arguments by annotation, and promise a `finite` result.

    Overflow is said, with the arguments that it may come from, and never returned. A
    class that is not `finite` may also be made of numbers that are not. With `jit` the
    function is one compiled program, made anew for each value of the argument `static`.
    """
    if function is None:
        return functools.partial(checked, finite=finite, jit=jit, static=static)
    program = jax.jit(function, static_argnames=static) if jit else function
    return _reader.checked(program, finite=finite, notes=True)
