"""Functions that compute: their arguments are read, and their results are finite."""

import functools
import typing
from collections.abc import Callable
from typing import Any

from iclab import _reader
from iclab._reader import FunctionT


@typing.overload
def checked(function: FunctionT, *, finite: bool = True) -> FunctionT: ...


@typing.overload
def checked(*, finite: bool = True) -> Callable[[FunctionT], FunctionT]: ...


def checked(function: Any = None, *, finite: bool = True) -> Any:
    """Read the arguments by annotation, and promise a `finite` result.

    Overflow is said, with the arguments that it may come from, and never returned. A
    class that is not `finite` may also be made of numbers that are not.
    """
    if function is None:
        return functools.partial(checked, finite=finite)
    return _reader.checked(function, finite=finite, notes=True)
