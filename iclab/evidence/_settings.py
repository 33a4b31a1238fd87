"""Settings of a figure: what each one means, and its value at every scale.

A figure's settings are a frozen dataclass whose fields are made by `setting`:

    @dataclass(frozen=True)
    class Settings:
        dimension: int = setting("Dimension of the inputs.", 10, smoke=4)
        loops: tuple[int, ...] = setting("Numbers of loops.", (1, 2, 3, 5, 10))
"""

import contextlib
import dataclasses
import functools
from collections.abc import Iterable, Mapping
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from iclab._reader import Rule, checked, read, refuse, require
from iclab.evidence._claim import SCALES, Scale

SettingsT = TypeVar("SettingsT")

_TRUTHS = {"true": True, "yes": True, "false": False, "no": False}
_UNSET: Any = object()


@checked
def setting(
    text: str,
    value: Any,
    *,
    smoke: Any = _UNSET,
    paper: Any = _UNSET,
    least: int = 1,
) -> Any:
    """A field of a figure's settings: what it is, and its value at every scale.

    `value` is that of `desk`, and of the other scales where they say nothing. Whole
    numbers must be at least `least`; other numbers must be positive.
    """
    values = {
        "smoke": value if smoke is _UNSET else smoke,
        "desk": value,
        "paper": value if paper is _UNSET else paper,
    }
    about = {"text": text, "values": values, "least": least}
    return dataclasses.field(default=value, metadata=about)


@checked
class Described(NamedTuple):
    """A setting in words: its name, what it takes, what it is, and its values."""

    name: str
    takes: str
    text: str
    values: Mapping[Scale, Any]


def require_settings(kind: type, name: str) -> None:
    """See that a class is one of settings: its fields are made by `setting`."""
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else None
    right = fields is not None and all("values" in one.metadata for one in fields)
    rule = "a dataclass whose fields are made by `setting`"
    require(right, name, rule, kind.__name__)


def settings_at(kind: type[SettingsT], scale: Scale) -> SettingsT:
    """The settings of a scale."""
    fields = dataclasses.fields(kind)  # pyright: ignore[reportArgumentType]
    return kind(**{field.name: field.metadata["values"][scale] for field in fields})


@checked
def describe_settings(kind: type) -> list[Described]:
    """Every setting in words, in the order of the class."""
    require_settings(kind, "kind")
    hints = get_type_hints(kind)
    return [
        Described(
            field.name,
            _words(hints[field.name], field.metadata["least"]),
            field.metadata["text"],
            {scale: field.metadata["values"][scale] for scale in SCALES},
        )
        for field in dataclasses.fields(kind)
    ]


def change_settings(settings: SettingsT, changes: Mapping[str, Any]) -> SettingsT:
    """The same settings with other values, given as such or as text (`"1,2,3"`).

    A name that is not there and a value of another type are refused.
    """
    kind = type(settings)
    fields = {field.name: field for field in dataclasses.fields(kind)}  # pyright: ignore[reportArgumentType]
    hints = get_type_hints(kind)
    found = {}
    for name, value in changes.items():
        if name not in fields:
            import difflib  # for mistakes only

            close = difflib.get_close_matches(name, fields, n=1, cutoff=0.5)
            known = f"its settings are {', '.join(fields)}"
            hint = f"did you mean {close[0]}?" if close else known
            refuse(f"unknown setting {name!r}: {hint}")
        annotation = _annotation(hints[name], fields[name].metadata["least"])
        found[name] = read(_parsed(value, hints[name]), annotation, name)
    return dataclasses.replace(settings, **found)  # pyright: ignore[reportArgumentType,reportReturnType]


@checked
def setting_text(value: Any) -> str:
    """A value as one would type it; read again, it is the same value."""
    if isinstance(value, (tuple, list)):
        return ",".join(map(setting_text, value))
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, float):
        return str(value)
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def _parsed(value: Any, hint: Any) -> Any:
    """A value, or what its text stands for; 1e4 is a whole number as well."""
    text = isinstance(value, str)
    if get_origin(hint) is tuple:
        parts = value.split(",") if text else value
        whole = not isinstance(parts, Iterable)
        return parts if whole else [_parsed(one, get_args(hint)[0]) for one in parts]
    if text:
        value = value.strip()
        if hint is bool:
            return _TRUTHS.get(value.lower(), value)
        for number in (int, float) if hint in (int, float) else ():
            with contextlib.suppress(ValueError):
                value = number(value)
                break
    whole = hint is int and isinstance(value, float) and value.is_integer()
    return int(value) if whole else value


@functools.cache
def _annotation(hint: Any, least: int) -> Any:
    """The type of a setting with its rule, for the reader."""
    words = _words(hint, least)
    if get_origin(hint) is tuple:
        parts = tuple[_annotation(get_args(hint)[0], least), ...]
        return Annotated[parts, Rule(words, lambda x: 0 < len(x) == len(set(x)))]
    rules = {int: lambda n: n >= least, float: lambda x: x > 0, str: len}
    return Annotated[hint, Rule(words, rules.get(hint, lambda value: True))]


def _words(hint: Any, least: int, *, many: bool = False) -> str:
    """What a type takes, for messages."""
    if get_origin(hint) is Literal:
        *first, last = get_args(hint)
        return f"{', '.join(first)} or {last}" if first else str(last)
    if get_origin(hint) is tuple:
        return f"different {_words(get_args(hint)[0], least, many=True)} (1,2,3)"
    if hint is bool:
        return "true or false"
    s, a = ("s", "") if many else ("", "a ")
    if hint is int:
        return f"{a}whole number{s} ≥ {least}"
    return f"{a}positive number{s}" if hint is float else f"{a}word{s}"
