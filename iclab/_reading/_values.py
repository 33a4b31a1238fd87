"""One value, read by an annotation: as it is wanted, or refused with name and rule."""

import collections.abc
import functools
import math
import operator
import os
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

# Exact formulas take huge numbers of samples; this is beyond all of them.
LARGEST_INTEGER = 10**50

_NO: Any = object()  # what an option answers to a value that is not its own


@dataclass(frozen=True)
class Rule:
    """What holds of a value, in words and as a test; may it be infinite?"""

    words: str
    holds: Callable[[Any], Any]
    infinite: bool = False


Seed = Annotated[int, Rule("an integer from 0 to 2⁶³ − 1", lambda n: 0 <= n < 2**63)]
Whole = Annotated[int, Rule("an integer ≥ 0", lambda n: n >= 0)]
Positive = Annotated[int, Rule("an integer ≥ 1", lambda n: n >= 1)]
Amount = Annotated[float, Rule("≥ 0 and finite", lambda x: 0 <= x < math.inf)]
Seconds = Amount
Numbers = Annotated[
    Any, Rule("a number or an array of numbers", lambda value: _is_numbers(value))
]
# The same as JSON has it, where infinities and NaN are words.
Listed = Annotated[
    Any, Rule("a number or lists of numbers", lambda x: _is_numbers(x, words=True))
]

Json = Annotated[
    Mapping[str, Any], Rule("plain JSON values", lambda value: is_json(value))
]


def require(holds: bool, owner: str, name: str, rule: str, value: object) -> None:
    """Raise ``owner: `name` must be rule, got value`` unless `holds`."""
    if not holds:
        raise ValueError(f"{owner}: `{name}` must be {rule}, got {value}")


@dataclass(frozen=True)
class Argument:
    """An argument on its way in."""

    owner: str
    name: str

    def read(self, value: Any, annotation: Any) -> Any:
        """`value` as the annotation wants it."""
        rules: list[Any] = []
        if get_origin(annotation) is Annotated:
            annotation, *metadata = get_args(annotation)
            rules = [one for one in metadata if self.is_rule(one)]
        options = flat(annotation)
        if value is None and type(None) in options:
            return None
        options = [one for one in options if one is not type(None)]
        if len(options) == 1 and get_origin(options[0]) is Annotated:
            return self.read(value, options[0])
        value = self.typed(value, options, rules)
        return functools.reduce(self.ruled, rules, value)

    def refuse(self, rule: str, value: object) -> typing.NoReturn:
        """Say that this argument is none."""
        require(False, self.owner, self.name, rule, short(value))
        raise AssertionError  # `require` has raised

    def is_rule(self, one: Any) -> bool:
        """Whether this is something to hold a value against."""
        return isinstance(one, Rule)

    def ruled(self, value: Any, rule: Any) -> Any:
        """`value`, if it keeps the rule."""
        if not rule.holds(value):
            self.refuse(rule.words, value)
        return value

    def typed(self, value: Any, options: list[Any], rules: list[Any]) -> Any:
        """`value` as one of the types wants it."""
        if isinstance(value, str) and "\0" in value and "a path" in in_words(options):
            self.refuse(in_words(options), value)
        for one in options:
            found = self._fitted(value, one)
            if found is not _NO:
                return found
        return self.refuse(rules[0].words if rules else in_words(options), value)

    def _fitted(self, value: Any, one: Any) -> Any:
        """`value` as a type wants it, or `_NO`."""
        origin = get_origin(one) or one
        if origin is Literal:
            known = isinstance(value, (str, int)) and value in get_args(one)
            return value if known else _NO
        if origin in _READERS:
            return _READERS[origin](value)
        if origin is tuple:
            return self._tuple(value, get_args(one))
        if origin is collections.abc.Callable:
            return value if callable(value) else _NO
        if origin in (collections.abc.Sequence, list):
            return self._sequence(value, get_args(one))
        if origin in (collections.abc.Iterable, collections.abc.Collection):
            kinds = (str, bytes, collections.abc.Mapping)
            alone = isinstance(value, kinds) or getattr(value, "shape", 1) == ()
            if alone or not isinstance(value, collections.abc.Iterable):
                return _NO
            return tuple(self._inside(value, get_args(one)))
        if origin in (collections.abc.Mapping, dict):
            return self._mapping(value, get_args(one))
        if not isinstance(origin, type) or is_one(value, origin):
            return value  # of the right class, or for the function to judge
        return _NO

    def _tuple(self, value: Any, inside: tuple[Any, ...]) -> Any:
        if not isinstance(value, (tuple, list)):
            return _NO
        if len(inside) == 2 and inside[1] is Ellipsis:
            return tuple(self._inside(value, inside))
        if len(inside) != len(value):
            return _NO if inside else tuple(value)
        return tuple(
            self._part(place, one, kind)
            for place, (one, kind) in enumerate(zip(value, inside, strict=True))
        )

    def _sequence(self, value: Any, inside: tuple[Any, ...]) -> Any:
        if not is_sequence(value):
            return _NO
        if hasattr(value, "shape"):  # nothing but numbers is in an array
            kind = inside[0] if inside else Any
            home = str(getattr(kind, "__module__", ""))
            return _NO if kind is str or home.startswith("iclab.") else value
        parts = list(self._inside(value, inside))
        return value if _same(parts, value) else parts

    def _mapping(self, value: Any, inside: tuple[Any, ...]) -> Any:
        if not isinstance(value, collections.abc.Mapping):
            return _NO
        names, values = inside or (Any, Any)
        for name in value:
            self._part("keys", name, names)
        parts = {name: self._part(name, one, values) for name, one in value.items()}
        return value if _same(parts.values(), value.values()) else parts

    def _inside(self, value: Any, inside: tuple[Any, ...]) -> Iterator[Any]:
        kind = inside[0] if inside else Any
        for place, one in enumerate(value):
            yield self._part(place, one, kind)

    def _part(self, place: object, value: Any, kind: Any) -> Any:
        if kind is Any:
            return value
        kind = Any if isinstance(kind, (str, typing.ForwardRef)) else kind
        named = replace(self, name=f"{self.name}[{short(place)}]")
        return named.read(value, kind)


def _same(parts: Iterable[Any], value: Iterable[Any]) -> bool:
    """Whether everything in it was right as it was."""
    return all(one is other for one, other in zip(parts, value, strict=True))


def is_json(value: Any) -> bool:
    """Whether JSON can hold this; of a mapping, whether it can hold its values."""
    import json  # only who writes needs it

    try:
        json.dumps(dict(value) if isinstance(value, Mapping) else value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _is_numbers(value: Any, *, words: bool = False) -> bool:
    """Whether NumPy makes numbers of this, and of words such as `nan` if they count."""
    import numpy as np  # only who has numbers needs it

    try:
        array = np.asarray(value)
        known = array.dtype.kind not in ("c" if words else "USc")
        if array.dtype.kind == "O":  # integers of many digits
            known = words or all(isinstance(one, int) for one in array.flat)
        return known and np.asarray(array, float).dtype == float
    except (ValueError, TypeError, OverflowError):
        return False


def _integer(value: Any) -> Any:
    try:
        integer = _NO if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return _NO
    return integer if integer is _NO or abs(integer) <= LARGEST_INTEGER else _NO


def _number(value: Any) -> Any:
    if isinstance(value, float):
        return float(value)  # NumPy's are some, too
    if _is_plain_array(value, "iuf"):
        return float(value)
    return _integer(value)


def _truth(value: Any) -> Any:
    if isinstance(value, bool) or _is_plain_array(value, "b"):
        return bool(value)
    return _NO


def _path(value: Any) -> Any:
    if not isinstance(value, (str, os.PathLike)):
        return _NO
    text = os.fspath(value)
    usable = isinstance(text, str) and "\0" not in text
    return Path(text) if usable else _NO


def _path_like(value: Any) -> Any:
    return _NO if isinstance(value, str) or _path(value) is _NO else value


def _is_plain_array(value: Any, kinds: str) -> bool:
    """Whether this is a number of NumPy or JAX without axes, of one of these kinds."""
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    return kind is not None and kind in kinds and getattr(value, "shape", None) == ()


_READERS: dict[Any, Callable[[Any], Any]] = {
    Any: lambda value: value,
    bool: _truth,
    int: _integer,
    float: _number,
    Path: _path,
    os.PathLike: _path_like,
}

_WORDS: dict[Any, str] = {
    bool: "True or False",
    int: "an integer",
    float: "a number",
    str: "a text",
    type: "a class",
    Path: "a path",
    os.PathLike: "a path",
    tuple: "a list",
    list: "a list",
    dict: "a dictionary",
    collections.abc.Callable: "a function",
    collections.abc.Sequence: "a list",
    collections.abc.Iterable: "a list",
    collections.abc.Mapping: "a dictionary",
}


def in_words(options: list[Any]) -> str:
    """What fits one of several types."""
    found = list(dict.fromkeys(map(_named, options)))
    if "a path" in found and "a text" in found:
        found.remove("a text")
    return " or ".join(found)


def _named(annotation: Any) -> str:
    origin = get_origin(annotation) or annotation
    if origin is Literal:
        return " or ".join(map(repr, get_args(annotation)))
    if origin in _WORDS:
        return _WORDS[origin]
    if "_in_words" in getattr(origin, "__dict__", ()):
        return origin._in_words
    name = getattr(origin, "__name__", str(origin)).removeprefix("Abstract")
    return f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}"


def flat(annotation: Any) -> list[Any]:
    """The types of a union, or the one that there is."""
    if get_origin(annotation) in (typing.Union, types.UnionType):
        return [one for part in get_args(annotation) for one in flat(part)]
    return [annotation]


def is_sequence(value: Any) -> bool:
    """Whether there is a first and a last; letters of a word do not count."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return len(value.shape) > 0
    return isinstance(value, collections.abc.Sequence) and not isinstance(
        value, (str, bytes)
    )


def is_one(value: Any, kind: type) -> bool:
    """Whether a value is of a class, or of a protocol that cannot be asked."""
    try:
        return isinstance(value, kind)
    except TypeError:
        return True


def short(value: object) -> str:
    """A value for a message."""
    described = isinstance(value, str) and "shape (" in value
    try:
        text = value if described else repr(value)
    except Exception:  # whatever somebody's object does when it is shown
        text = f"a {type(value).__name__}"
    text = " ".join(str(text).split())
    return text if len(text) <= 80 else f"{text[:77]}…"
