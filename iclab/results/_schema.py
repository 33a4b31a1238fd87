"""JSON that may hold anything, read as our own classes by the annotations they have.

What is wrong is said in a sentence that names the field, the rule and the value.
"""

import dataclasses
import functools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np

from iclab._files import moment, read_inside, sha256, signed, write_inside
from iclab._reader import Json, Listed, Own, Rule, flat, read, require, short
from iclab.show import CONTROL

_DEEPEST = 8  # axes of an array; claims have at most three
_WORDS = ("nan", "inf", "-inf")
# Names that fields had before 0.2, and how the names of cases began that test a
# statement as printed, before they had a field that says so.
_FORMER = {"said": "paper_statements", "in_view": "post_hoc", "blame": "caveat"}
_AS_PRINTED = "as printed: "


class Wrong(ValueError):
    """A value that is not what it must be, in a sentence."""


def _is_text(text: str) -> bool:
    """Whether a terminal shows a string and obeys nothing in it."""
    try:
        text.encode()  # halves of surrogate pairs cannot be written
    except UnicodeEncodeError:
        return False
    return CONTROL.search(text) is None


def _is_line(text: str) -> bool:
    return _is_text(text) and "\n" not in text and "\t" not in text


def _is_moment(text: str) -> bool:
    try:
        return _is_line(text) and bool(moment(text))
    except (ValueError, OverflowError):
        return False


# A string of several lines, or of one.
Text = Annotated[str, Rule("a string without control characters", _is_text)]
Line = Annotated[str, Rule("one line without control characters", _is_line)]
Moment = Annotated[
    str, Rule("a time like 2025-03-04T05:06:07Z, and not in the future", _is_moment)
]
Digest = Annotated[str, Rule("a checksum", re.compile("[0-9a-f]{64}").fullmatch)]


def _number(value: Any) -> int | float:
    """A number; infinities and NaN are words."""
    if isinstance(value, str) and value in _WORDS:
        return float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError
    float(value)  # no arithmetic can hold more digits
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


def _quoted(value: Any) -> Any:
    """What texts can quote: numbers, words, and lists and objects of them."""
    if isinstance(value, Mapping):
        names = [read(name, Line, "a name") for name in value]
        return dict(zip(names, map(_quoted, value.values()), strict=True))
    if isinstance(value, str):
        return read(value, Line, "a word")
    array = value if value is None else _array(value)
    return array.tolist() if isinstance(array, np.ndarray) else array


# What stands in JSON for what an annotation names.
_AS_JSON: dict[Any, Any] = {
    str: Line,
    float: Annotated[Any, Own("a number", lambda _, value: _number(value))],
    Listed: Annotated[
        Any, Own("a number or an array of numbers", lambda _, value: _array(value))
    ],
    Json: Annotated[
        Mapping[str, Any],
        Own("an object of numbers and words", lambda _, value: _quoted(value)),
    ],
}


def from_json(value: Any, annotation: Any, name: str = "") -> Any:
    """A JSON value as an annotation wants it; a dataclass is an object of its fields.

    Fields that it does not have are left as they are by default, and those that the
    class does not have are not looked at. `name` is where the value stands. `Wrong`
    says what is wrong with it.
    """
    try:
        return _read(value, annotation, name)
    except ValueError as reason:
        raise Wrong(str(reason)) from None


def _read(value: Any, annotation: Any, name: str) -> Any:
    options = flat(annotation)
    if type(None) in options:
        if value is None:
            return None
        (annotation,) = [one for one in options if one is not type(None)]
    origin, inside = get_origin(annotation), get_args(annotation)
    if dataclasses.is_dataclass(annotation):
        return _object(value, annotation, name)
    if origin is tuple:
        require(isinstance(value, list), name, "a list", short(value))
        parts = enumerate(value)
        return tuple(_read(one, inside[0], f"{name}[{place}]") for place, one in parts)
    if origin is Mapping:
        require(isinstance(value, dict), name, "an object", short(value))
        names = [read(key, Line, f"{name}: a name") for key in value]
        return {key: _read(value[key], inside[1], f"{name}.{key}") for key in names}
    return read(value, _AS_JSON.get(annotation, annotation), name)


def _object(value: Any, kind: Any, name: str) -> Any:
    if not isinstance(value, dict):
        where = f"`{name}`" if name else "it"
        raise Wrong(f"{where} must be an object, got {short(value)}")
    value, found = _of_today(value), {}
    hints, inside = _hints(kind), f"{name}." if name else ""
    for field in dataclasses.fields(kind):
        if field.name in value:
            part = f"{inside}{field.name}"
            found[field.name] = _read(value[field.name], hints[field.name], part)
        elif field.default is field.default_factory:  # it has neither
            raise Wrong(f"`{inside}{field.name}` is missing")
    return kind(**found)


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    found = get_type_hints(kind, include_extras=True)
    return found | ({"reason": Text} if "reason" in found else {})  # may have lines


def _of_today(value: dict[str, Any]) -> dict[str, Any]:
    """An object with the names that fields have now, whichever iclab wrote it."""
    former = {new: value[old] for old, new in _FORMER.items() if old in value}
    case = value.get("case")
    if isinstance(case, str) and "printed" not in value:
        printed = case.startswith(_AS_PRINTED)
        value = {**value, "case": case.removeprefix(_AS_PRINTED), "printed": printed}
    return former | value


def write_signed(folder: Path, name: str, value: dict[str, Any]) -> dict[str, Any]:
    """Write a JSON object with its checksum below a folder; returns what is written."""
    whole = signed(json.loads(json.dumps(value, default=dict)))
    write_inside(folder, name, json.dumps(whole, indent=1, ensure_ascii=False) + "\n")
    return whole


def file_sum(folder: Path, name: str) -> str | None:
    """The checksum of a file below a folder; None if it cannot be read."""
    try:
        return sha256(read_inside(folder, name))
    except OSError:
        return None
