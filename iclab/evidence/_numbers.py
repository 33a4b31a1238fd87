"""Numbers of a run in the words about it.

A text names its numbers, and the run that has found them fills them in. What stands in
guillemets is about a run: «a loss of {loss:.4f}» is shown with the number where there
is one and left out where there is none, and of «{share:.0%}¦a small part» what follows
the bar stands there instead. Inside, braces are fields of `str.format`, and doubled
braces are braces.
"""

import math
import re
import string
from collections.abc import Mapping
from typing import Any

from iclab import show
from iclab._reader import checked

_CLAUSE = re.compile(r"«([^«»¦]*)(?:¦([^«»¦]*))?»")


@checked
def filled(text: str, numbers: Mapping[str, Any]) -> str:
    """`text` with the numbers that a run has found, or without their clauses."""
    return _CLAUSE.sub(lambda clause: _filled(clause, numbers), text)


def _filled(clause: re.Match[str], numbers: Mapping[str, Any]) -> str:
    inside, otherwise = clause[1], clause[2] or ""
    known = all(name in numbers for name in _fields(inside))
    return _Pretty().vformat(inside, (), numbers) if known else otherwise


@checked
def names(text: str) -> set[str]:
    """Names of the numbers that a text asks for."""
    return {name for found in _CLAUSE.finditer(text) for name in _fields(found[1])}


@checked
def as_json(value: Any) -> Any:
    """Numbers and arrays as JSON can hold them; infinities and NaN as words."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {str(name): as_json(entry) for name, entry in value.items()}
    import numpy as np  # reading the catalogue does without

    array = np.asarray(value)
    if array.ndim:
        return [as_json(entry) for entry in array]
    one = array.item()
    if isinstance(one, float) and not math.isfinite(one):
        return str(one)
    return one


def _fields(inside: str) -> list[str]:
    return [name for _, name, _, _ in string.Formatter().parse(inside) if name]


class _Pretty(string.Formatter):
    """Formats with a minus sign, and with powers of ten in the place of e-11."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, str):  # infinities and NaN, as JSON holds them
            return show.number(value)
        text = super().format_field(value, format_spec)
        percent = text.endswith("%")
        return show.typeset(text.removesuffix("%")) + " %" * percent
