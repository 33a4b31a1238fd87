"""Settings of a figure: what each one means, and its value at every scale.

A figure's settings are a frozen dataclass whose fields are made by `setting`:

    @dataclass(frozen=True)
    class Settings:
        dimension: int = setting("Dimension of the inputs.", 10, smoke=4)
        loops: tuple[int, ...] = setting("Numbers of loops.", (1, 2, 3, 5, 10))

A setting may name values of others, such as a protocol of training does:

        protocol: Literal["text", "code"] = setting(
            "Whose choices.", "text", names={"code": {"loops": (2, 3)}}
        )
"""

import contextlib
import dataclasses
import functools
import types
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
    names: Mapping[str, Mapping[str, Any]] = {},
) -> Any:
    """A field of a figure's settings: what it is, and its value at every scale.

    `value` is that of `desk`, and of the other scales where they say nothing. Whole
    numbers must be at least `least`; other numbers must be positive, or with `least=0`
    not negative. `names` are values of other settings that go with one of this, and
    give way to what is asked for.
    """
    others: dict[Scale, Any] = {"smoke": smoke, "paper": paper}
    given = {scale: one for scale, one in others.items() if one is not _UNSET}
    values = {scale: given.get(scale, value) for scale in SCALES}
    about = {"text": text, "values": values, "least": least, "names": names}
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


def settings_at(
    kind: type[SettingsT], scale: Scale, changes: Mapping[str, Any] = {}
) -> SettingsT:
    """The settings of a scale, with what a change of one names for others."""
    fields = dataclasses.fields(kind)  # pyright: ignore[reportArgumentType]
    found = {field.name: field.metadata["values"][scale] for field in fields}
    for field in fields:
        asked = str(changes.get(field.name, found[field.name])).strip()
        found |= field.metadata["names"].get(asked, {})
    return kind(**found)


def naming(kind: type) -> set[str]:
    """Settings that name values of others."""
    fields = dataclasses.fields(kind)
    return {field.name for field in fields if field.metadata["names"]}


@checked
def describe_settings(kind: type) -> list[Described]:
    """Every setting in words, in the order of the class."""
    require_settings(kind, "kind")
    hints = get_type_hints(kind)
    settings = {scale: settings_at(kind, scale) for scale in SCALES}
    return [
        Described(
            field.name,
            _words(hints[field.name], field.metadata["least"]),
            field.metadata["text"],
            {scale: getattr(settings[scale], field.name) for scale in SCALES},
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
    if value is None:
        return "none"
    if not isinstance(value, float):
        return str(value)
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def _parsed(value: Any, hint: Any) -> Any:
    """A value, or what its text stands for; 1e4 is a whole number as well."""
    text = isinstance(value, str)
    if (given := _unless_none(hint)) is not None:
        none = value is None or (text and value.strip().lower() == "none")
        return None if none else _parsed(value, given)
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
    rules = {
        int: lambda n: n >= least,
        float: lambda x: x > 0 or x == least == 0,
        str: len,
    }
    if (given := _unless_none(hint)) is not None:
        return Annotated[hint, Rule(words, lambda x: x is None or rules[given](x))]
    return Annotated[hint, Rule(words, rules.get(hint, lambda value: True))]


def _unless_none(hint: Any) -> Any:
    """The type of a setting that may be none."""
    parts = get_args(hint) if get_origin(hint) is types.UnionType else ()
    return next((one for one in parts if one is not type(None)), None)


def _words(hint: Any, least: int, *, many: bool = False) -> str:
    """What a type takes, for messages."""
    if (given := _unless_none(hint)) is not None:
        return f"{_words(given, least)} or none"
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
    if hint is float:
        return f"{a}number{s} ≥ 0" if least == 0 else f"{a}positive number{s}"
    return f"{a}word{s}"
