"""Numbers, durations, shares, sizes and counts for people: one rule each."""

import math
from collections.abc import Sequence
from typing import Any

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# Entries of a list that are shown, and shares that are round-off.
_ENTRIES, _NOTHING = 4, 1e-6
# Seconds of a unit, and from how many on the next one is used.
_TIMES = (
    (1, 99.5, "s"),
    (60, 99.5 * 60, "min"),
    (3600, 47.95 * 3600, "h"),
    (86_400, math.inf, "d"),
)
_SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def number(value: Any, digits: int = 6) -> str:
    """A number or an array: `0.133608`, `1.9×10⁻¹¹`, `[1, 2, 3, 4, …]`.

    Words stay words, None is nothing.
    """
    value = value.tolist() if hasattr(value, "tolist") else value
    if value is None:
        return ""
    if isinstance(value, Sequence) and not isinstance(value, str):
        entries = [number(entry, digits) for entry in value[:_ENTRIES]]
        return f"[{', '.join([*entries, '…'] if len(value) > _ENTRIES else entries)}]"
    if isinstance(value, float) and not math.isfinite(value):
        value = str(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return {"nan": "NaN", "inf": "∞", "-inf": "−∞"}.get(str(value), str(value))
    if isinstance(value, int) and abs(value) < 10**9:
        return typeset(str(value))
    return typeset(f"{value:.{digits}g}")


def with_error(value: Any, error: Any, digits: int = 6) -> str:
    """A number and its error bar: `0.1336 ± 0.0012`."""
    return f"{number(value, digits)} ± {number(error, 2)}"


def with_interval(value: Any, lower: Any, upper: Any, digits: int = 4) -> str:
    """A number and its interval: `0.25 [0.2, 0.31]`."""
    return f"{number(value, digits)} {number([lower, upper], digits)}"


def typeset(text: str) -> str:
    """What Python writes for a number, with a minus sign and powers of ten."""
    mantissa, _, exponent = text.partition("e")
    mantissa = mantissa.replace("-", "−")
    if not exponent:
        return mantissa
    power = "10" + str(int(exponent)).translate(_SUPERSCRIPTS)
    return power if mantissa == "1" else f"{mantissa}×{power}"


def share(value: float) -> str:
    """A share of one: `2.3 %`, `100 %`, `12 times`; round-off is 0."""
    size = abs(value)
    if size < _NOTHING:
        return "0"
    if size >= 10:
        return f"{value:,.0f} times".replace("-", "−")
    return typeset(f"{100 * value:.{'0f' if size >= 0.995 else '2g'}}") + " %"


def duration(seconds: float) -> str:
    """A time: `0.4 s`, `75 s`, `3.4 min`, `2.1 h`, `3.0 d`."""
    if 9.95 <= seconds < 99.5:
        return f"{seconds:.0f} s"
    size, unit = next((size, unit) for size, most, unit in _TIMES if seconds < most)
    return f"{seconds / size:.1f} {unit}"


def size(count: int) -> str:
    """A number of bytes: `512 bytes`, `14.2 kB`, `3.1 MB`."""
    for unit, name in _SIZES:
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return counted(count, "byte")


def counted(count: int, noun: str) -> str:
    """So many of something: `1 job`, `1,200 jobs`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def of(part: int, whole: int, noun: str = "") -> str:
    """A part of a whole: `12 of 155`, `12 of 155 items`."""
    return f"{part:,} of {counted(whole, noun) if noun else f'{whole:,}'}"
