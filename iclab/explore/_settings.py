"""Settings of a view: what sliders move, and what a link keeps."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlencode

_SettingsT = TypeVar("_SettingsT", bound="Settings")


def number(default: float, low: float, high: float) -> Any:
    """A field between two numbers; whole if its default is."""
    return dataclasses.field(default=default, metadata={"low": low, "high": high})


def numbers(default: Sequence[float], low: float, high: float, most: int) -> Any:
    """A field of up to `most` numbers between two."""
    limits = {"low": low, "high": high, "most": most}
    return dataclasses.field(default=tuple(default), metadata=limits)


def choice(default: str, among: Sequence[str]) -> Any:
    """A field that is one of several words."""
    return dataclasses.field(default=default, metadata={"among": tuple(among)})


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a view is drawn from. A link may come from anybody: it is read with care."""

    @classmethod
    def from_query(
        cls: type[_SettingsT], query: Mapping[str, Any]
    ) -> tuple[_SettingsT, list[str]]:
        """Settings of a link, and a sentence about everything that was not taken.

        Numbers outside their range are brought to its end; what is no number stays at
        its default.
        """
        found: dict[str, Any] = {}
        complaints: list[str] = []
        for field in dataclasses.fields(cls):
            word = query.get(field.name)
            if isinstance(word, list):
                word = word[-1] if word else None
            if word is None:
                continue
            try:
                found[field.name], said = _read(field, str(word))
            except ValueError:
                said = (
                    f"{field.name}: not understood, so it is {_written(field.default)}"
                )
            complaints += [said] if said else []
        return cls(**found), complaints

    def query(self) -> dict[str, str]:
        """Settings that are not at their default, as a link has them."""
        return {
            field.name: _written(getattr(self, field.name))
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        }

    def link(self, page: str) -> str:
        """Address of a page with these settings, as `iclab explore` takes it."""
        words = urlencode(self.query(), safe=",:")
        return f"{page}?{words}" if words else page

    @classmethod
    def limits(cls, name: str) -> tuple[Any, Any]:
        """Smallest and largest value of a field."""
        (field,) = (one for one in dataclasses.fields(cls) if one.name == name)
        return field.metadata["low"], field.metadata["high"]


def _read(field: dataclasses.Field, word: str) -> tuple[Any, str | None]:
    limits, default = field.metadata, field.default
    if "among" in limits:
        if word in limits["among"]:
            return word, None
        return default, f"{field.name}: {word[:40]!r} is unknown, so it is {default!r}"
    if isinstance(default, bool):
        return word in ("1", "true", "yes"), None
    if isinstance(default, tuple):
        parts = [part for part in word.split(",") if part]
        values, said = [], None
        for part in parts[: limits["most"]]:
            value, moved = _bounded(field.name, float(part), limits, float)
            values, said = [*values, value], said or moved
        if len(parts) > limits["most"]:
            said = f"{field.name}: the first {limits['most']} were taken"
        return tuple(values), said
    kind = type(default)
    if kind is str:
        return word, None
    return _bounded(field.name, float(word), limits, kind)


def _bounded(
    name: str, value: float, limits: Mapping[str, Any], kind: type
) -> tuple[Any, str | None]:
    if not math.isfinite(value):
        raise ValueError
    low, high = limits["low"], limits["high"]
    inside = min(max(value, low), high)
    said = None if inside == value else f"{name}: {value:g} became {inside:g}"
    return kind(round(inside) if kind is int else inside), said


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, tuple):
        return ",".join(f"{one:.4g}" for one in value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)
