"""Fields of a JSON object that may hold anything, read one by one.

What is wrong is said in a sentence that names the field, the rule and the value.
"""

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from iclab._files import moment
from iclab._reader import checked
from iclab.show import CONTROL

T = TypeVar("T")
_REQUIRED: Any = object()
_MOMENT = "a time like 2025-03-04T05:06:07Z, and not in the future"
_SHOWN = 60  # signs of a wrong value that are quoted
_DEEPEST = 8  # axes of an array; claims have at most three
_WORDS = ("nan", "inf", "-inf")
_TEXT = "a text without control characters"

# How a measured value may stand to a prediction.
RELATIONS = ("=", "<=", ">=")


class Wrong(ValueError):
    """A value that is not what it must be, in a sentence."""


@checked
class Fields:
    """A JSON object from a file; `inside` is where it stands in a larger one."""

    def __init__(self, value: Any, inside: str = ""):
        if not isinstance(value, Mapping):
            where = f"`{inside}`" if inside else "it"
            raise Wrong(f"{where} must be an object, got {shown(value)}")
        self._value = value
        self._inside = f"{inside}." if inside else ""

    def __contains__(self, name: str) -> bool:
        return name in self._value

    def text(self, name: str, default: Any = _REQUIRED, *, lines: bool = False) -> Any:
        """A text that can be written, of several `lines` or on one."""
        return self._read(name, default, _TEXT, _lines if lines else one_line)

    def flag(self, name: str, default: Any = _REQUIRED) -> Any:
        """True or false."""
        return self._read(name, default, "true or false", _flag)

    def number(self, name: str, default: Any = _REQUIRED) -> Any:
        """A number; infinities and NaN are words."""
        return self._read(name, default, "a number", _number)

    def seconds(self, name: str, default: Any = _REQUIRED) -> Any:
        """A length of time."""
        return self._read(name, default, "a finite number ≥ 0", _seconds)

    def whole(self, name: str, default: Any = _REQUIRED) -> Any:
        """A whole number that is not negative."""
        return self._read(name, default, "a whole number ≥ 0", _whole)

    def moment(self, name: str, default: Any = _REQUIRED) -> Any:
        """A time as results say it."""
        return self._read(name, default, _MOMENT, _moment)

    def array(self, name: str, default: Any = _REQUIRED) -> Any:
        """A number or an array of numbers."""
        return self._read(name, default, "a number or an array of numbers", _array)

    def one_of(self, name: str, words: Iterable[Any], default: Any = _REQUIRED) -> Any:
        """One of several words."""
        known = tuple(words)
        rule = f"one of {', '.join(map(str, known))}"
        return self._read(name, default, rule, functools.partial(_word, known))

    def matching(self, name: str, rule: str, reader: Callable[[Any], T]) -> T:
        """A value that `reader` takes; `rule` says which those are."""
        return self._read(name, _REQUIRED, rule, reader)

    def each(
        self, name: str, reader: Callable[["Fields"], T], default: Any = _REQUIRED
    ) -> tuple[T, ...]:
        """A list of objects."""
        found: Sequence[Any] = self._read(name, default, "a list of objects", _list)
        return tuple(
            reader(Fields(one, f"{self._inside}{name}[{place}]"))
            for place, one in enumerate(found)
        )

    def texts(self, name: str, default: Any = _REQUIRED) -> Any:
        """A list of texts."""
        return self._read(name, default, f"a list, each {_TEXT}", _texts)

    def mapping(
        self, name: str, rule: str, reader: Callable[[Any], T], default: Any = _REQUIRED
    ) -> Any:
        """An object whose values `reader` takes; `rule` says which those are."""
        read = functools.partial(_mapped, reader)
        return self._read(name, default, f"an object of {rule}", read)

    def _read(
        self, name: str, default: Any, rule: str, reader: Callable[[Any], Any]
    ) -> Any:
        if name not in self._value:
            if default is _REQUIRED:
                raise Wrong(f"`{self._inside}{name}` is missing")
            return default
        value = self._value[name]
        if value is None and default is None:
            return None
        try:
            return reader(value)
        except (ValueError, TypeError, OverflowError, LookupError):
            where = f"{self._inside}{name}"
            raise Wrong(f"`{where}` must be {rule}, got {shown(value)}") from None


def shown(value: Any) -> str:
    """A value in a sentence: short, on one line, and in signs that can be written."""
    try:
        text = " ".join(ascii(value).split())
    except (RecursionError, ValueError):  # too deep, or a number of too many digits
        text = f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def plain(value: Any) -> Any:
    """A JSON value that texts can quote: numbers, words, and arrays of them."""
    if isinstance(value, Mapping):
        return {one_line(name): plain(one) for name, one in value.items()}
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, bool) or value is None:
        return value
    array = _array(value)
    return array.tolist() if isinstance(array, np.ndarray) else array


def _lines(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    value.encode()  # halves of surrogate pairs cannot be written
    if CONTROL.search(value):  # a terminal would obey them
        raise ValueError
    return value


def one_line(value: Any) -> str:
    """A text on one line, without signs that a terminal obeys."""
    if "\n" in _lines(value) or "\t" in value:
        raise ValueError
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _word(known: tuple[Any, ...], value: Any) -> Any:
    if not any(value == one for one in known):
        raise ValueError
    return value


def _mapped(reader: Callable[[Any], T], value: Any) -> dict[str, T]:
    if not isinstance(value, Mapping):
        raise ValueError
    return {one_line(key): reader(one) for key, one in value.items()}


def _number(value: Any) -> int | float:
    if isinstance(value, str) and value in _WORDS:
        return float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError
    float(value)  # a whole number that no other arithmetic can hold
    return value


def _seconds(value: Any) -> int | float:
    found = _number(value)
    if not (math.isfinite(found) and found >= 0):
        raise ValueError
    return found


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError
    float(value)
    return value


def _moment(value: Any) -> str:
    moment(one_line(value))
    return value


def _array(value: Any) -> Any:
    """Numbers as results hold them: an array of one type, or a number by itself."""
    if not isinstance(value, list):
        return value if isinstance(value, bool) else _number(value)
    array = np.array(_entries(value, 1))
    if array.dtype.kind not in "biuf":
        raise TypeError
    return array


def _entries(value: list[Any], depth: int) -> list[Any]:
    if depth > _DEEPEST:
        raise ValueError
    return [
        _entries(one, depth + 1) if isinstance(one, list) else _array(one)
        for one in value
    ]


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    return value


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(one_line(one) for one in _list(value))
