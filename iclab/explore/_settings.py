"""Settings of a view: what sliders move, and what a link keeps."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, TypeVar, get_args
from urllib.parse import urlencode

from iclab._reader import read, require, short

_SettingsT = TypeVar("_SettingsT", bound="Settings")


class Limits(NamedTuple):
    """Where a number may lie, or every one of at most `most` numbers."""

    low: float
    high: float
    most: int = 1


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a view is drawn from. A link may come from anybody: it is read with care.

    Fields are read by their annotations; numbers have their `Limits` there.
    """

    page: ClassVar[str]

    @classmethod
    def from_query(
        cls: type[_SettingsT], query: Mapping[str, Any]
    ) -> tuple[_SettingsT, list[str]]:
        """Settings of a link, and a sentence about everything that was not taken.

        Numbers outside their range are brought to its end; what is invalid stays at
        its default.
        """
        found: dict[str, Any] = {}
        sentences: list[str] = []
        for field in dataclasses.fields(cls):
            words = query.get(field.name)
            words = words if isinstance(words, list) else [words]
            if words[-1:] in ([], [None]):
                continue
            try:
                value, said = _value(field, str(words[-1]))
                found[field.name] = read(value, field.type, field.name)
            except ValueError as refusal:
                said = [f"{refusal}: {_written(field.default)} is used"]
            sentences += said
        return cls(**found), sentences

    def query(self) -> dict[str, str]:
        """Settings that are not at their default, as a link has them."""
        return {
            field.name: _written(getattr(self, field.name))
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        }

    def link(self) -> str:
        """Address of the page with these settings, as `iclab explore` takes it."""
        words = urlencode(self.query(), safe=",:")
        return f"{self.page}?{words}" if words else self.page

    def code(self) -> str:
        """Lines that give the numbers of this view."""
        raise NotImplementedError

    @classmethod
    def limits(cls, name: str) -> tuple[Any, Any]:
        """Smallest and largest value of a field."""
        (field,) = (one for one in dataclasses.fields(cls) if one.name == name)
        return get_args(field.type)[1][:2]


def _value(field: dataclasses.Field[Any], word: str) -> tuple[Any, list[str]]:
    """A word of a link as number or numbers, and what was changed to fit."""
    limits = next((one for one in get_args(field.type) if type(one) is Limits), None)
    if limits is None:
        return word, []
    several = isinstance(field.default, tuple)
    parts = [part for part in word.split(",") if part] if several else [word]
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        rule = "numbers with commas between them"
        require(not several, field.name, rule, short(word))
        return word, []  # which the reader refuses
    if not all(map(math.isfinite, numbers)):
        return tuple(numbers) if several else numbers[0], []  # refused, too
    low, high, most = limits
    inside = [min(max(one, low), high) for one in numbers[:most]]
    said = [
        f"`{field.name}` must be from {low:g} to {high:g}, got {got:g}: {one:g} is used"
        for got, one in zip(numbers, inside, strict=False)
        if got != one
    ][:1]
    if len(numbers) > most:
        rule = f"`{field.name}` must be at most {most} numbers, got {len(numbers)}"
        said = [f"{rule}: the first {most} are used"]
    if several:
        return tuple(inside), said
    return round(inside[0]) if isinstance(field.default, int) else inside[0], said


def _written(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(f"{one:.4g}" for one in value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)
