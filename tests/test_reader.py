"""Arguments of folders that load nothing, read by their annotations."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest

from iclab._reader import Natural, Seconds, Seed, checked
from tests.refusals import refused


@checked
def take(
    word: str = "",
    count: Natural = 1,
    number: float = 0.0,
    flag: bool = False,
    path: str | os.PathLike[str] = "",
    folder: Path | None = None,
    words: Sequence[str] = (),
    each: Iterable[int] = (),
    pair: tuple[str, int] = ("", 0),
    table: Mapping[str, float] = {},
    call: Callable[..., Any] = print,
    kind: Literal["a", "b"] = "a",
    seed: Seed = 0,
    seconds: Seconds | None = None,
    later: "Later | None" = None,
    unknown: "NotThere" = None,  # pyright: ignore
) -> dict[str, Any]:
    """What it was given."""
    return dict(locals())


@checked
@dataclass(frozen=True)
class Later:
    """A class with a method."""

    name: str

    def times(self, count: Natural) -> str:
        """The name so many times."""
        return self.name * count

    @classmethod
    def of(cls, letter: str) -> "Later":
        """One of a letter."""
        return cls(letter)


@checked
class Pair(NamedTuple):
    """A named tuple."""

    first: int
    second: str = ""


def test_what_fits_is_taken():
    found = take(
        count=np.int64(3),  # pyright: ignore[reportArgumentType]
        number=np.float32(0.5),  # pyright: ignore[reportArgumentType]
        folder="x",  # pyright: ignore[reportArgumentType]
        each=range(3),
        pair=["a", 1],  # pyright: ignore[reportArgumentType]
        later=Later("x"),
        unknown=object(),
        seconds=1,
    )
    assert (found["count"], found["number"]) == (3, 0.5)
    assert (type(found["count"]), type(found["number"])) == (int, float)
    assert (found["folder"], found["each"]) == (Path("x"), (0, 1, 2))
    assert found["pair"] == ("a", 1)


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("word", 3, "a string, got 3"),
        ("count", 0, "an integer ≥ 1, got 0"),
        ("count", 2.0, "an integer ≥ 1, got 2.0"),
        ("count", True, "an integer ≥ 1, got True"),
        ("number", "x", "a number, got 'x'"),
        ("number", True, "a number, got True"),
        ("number", 1j, "a number, got 1j"),
        ("number", [1.0], "a number, got shape (1,)"),
        ("flag", 1, "True or False, got 1"),
        ("path", 3, "a path, got 3"),
        ("path", "a\0b", "a path, got 'a\\x00b'"),
        ("folder", b"x", "a path, got b'x'"),
        ("words", "text", "a list, got 'text'"),
        ("table", [1], "a dictionary, got [1]"),
        ("call", 3, "a function, got 3"),
        ("kind", "c", "'a' or 'b', got 'c'"),
        ("kind", [], "'a' or 'b', got []"),
        ("seed", 2**63, "an integer from 0 to 2⁶³ − 1, got 9223372036854775808"),
        ("seconds", float("nan"), "≥ 0 and finite, got nan"),
        ("seconds", -1, "≥ 0 and finite, got -1.0"),
        ("later", "x", "a Later, got 'x'"),
        ("pair", ("a",), "a list, got ('a',)"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(name, value, rule):
    with refused(f"take: `{name}` must be {rule}"):
        take(**{name: value})


def test_parts_are_read_too():
    with refused("take: `words[1]` must be a string, got 2"):
        take(words=["a", 2])  # pyright: ignore[reportArgumentType]
    with refused("take: `each[0]` must be an integer, got 'a'"):
        take(each=["a"])  # pyright: ignore[reportArgumentType]
    with refused("take: `pair[1]` must be an integer, got 'b'"):
        take(pair=("a", "b"))  # pyright: ignore[reportArgumentType]
    with refused("take: `table['x']` must be a number, got None"):
        take(table={"x": None})  # pyright: ignore[reportArgumentType]


def test_classes_and_their_methods():
    with refused("Later: `name` must be a string, got 3"):
        Later(3)  # pyright: ignore[reportArgumentType]
    with refused("Later.times: `count` must be an integer ≥ 1, got 0"):
        Later("x").times(0)
    with refused("Later.of: `letter` must be a string, got None"):
        Later.of(None)  # pyright: ignore[reportArgumentType]
    assert (Later("x").times(count=2), Later.of("y")) == ("xx", Later("y"))
    with refused("Pair: `second` must be a string, got 3"):
        Pair(1, 3)  # pyright: ignore[reportArgumentType]
    assert Pair(1)._replace(second="x") == Pair(1, "x")


def test_what_is_missing_or_too_much_is_said():
    with pytest.raises(TypeError, match=r"^Later: missing a required argument: 'name'"):
        Later()  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match=r"^take: got an unexpected keyword argument"):
        take(nothing=1)  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match=r"^take: multiple values for argument 'word'"):
        take("a", word="b")  # pyright: ignore[reportCallIssue]
