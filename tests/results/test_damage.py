"""Results damaged in every way that comes to mind: a sentence, never a traceback."""

import copy
import dataclasses
import functools
import importlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from iclab import cli, papers
from iclab._files import signed
from iclab.evidence import Claim, Measured
from iclab.results import read_run
from iclab.runs import here
from tests.report import example

QUICK = "zhang2023/section-5.1-determinant"
main = functools.partial(cli.main, engine=here)  # the work is done in this process
ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1.5, 10**400, float("nan"), float("inf"), "", "word", "\ud800",
    "<script>alert(1)</script>", "2025-13-45", "../../x", [], [1], [[]], [[1, 2], [3]],
    [None], ["nan"], {}, {"a": {}}, [{}],
)  # fmt: skip
TEXTS = (
    b"", b"{", b"[]", b"null", b"{}", b"1", b'"text"', b"\xff\xfe{}", b"\x00" * 100,
    b"[" * 100_000, b'{"format": 2}', b'{"format": 2, "results": {}}',
    b'{"format": true, "results": []}', b'{"format": "2", "results": []}',
    b'{"format": 2, "results": [[], 1, null, "x", {}]}', b'{"format": 9}',
    b'{"format": 2, "results": [' + b"[" * 5000 + b"]" * 5000 + b"]}",
    b'{"format": ' + b"9" * 5000 + b', "results": []}', b"\xef\xbb\xbf{}",
    b'{"results": [1]}',
)  # fmt: skip


def _whole() -> dict[str, Any]:
    facts = {
        "ids": ["zhang2023"], "scale": "smoke", "seed": 3, "seconds": 122.0,
        "started": "2025-03-04T05:06:07Z", "finished": "2025-03-04T05:08:09Z",
        "cluster": False, "processes": 2, "cores": 4, "python": "3.11.9",
        "platform": "Linux x86_64", "versions": {"iclab": "0.1.0", "optax": None},
        "commit": None,
    }  # fmt: skip
    records = example.records()
    records[0]["cases"] = records[0]["cases"][:2]
    return {"format": 2, **facts, "results": records}


def _places(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Everything inside a JSON value, by the way to it."""
    inside = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        inside = enumerate(value[:2])
    for key, one in inside:
        yield (*here, key)
        yield from _places(one, (*here, key))


def _damages() -> list[tuple[str, dict[str, Any]]]:
    """The results with one thing in them wrong, for every thing and many wrongs."""
    found = []
    whole = _whole()
    for place in _places(whole):
        if place == ("format",) or place == ("results",):
            continue
        for odd in (..., *ODD):
            damaged = copy.deepcopy(whole)
            inner = damaged
            for key in place[:-1]:
                inner = inner[key]
            if odd is ...:
                del inner[place[-1]]
            else:
                inner[place[-1]] = odd
            words = "gone" if odd is ... else f"{odd!r:.20}"
            found.append((f"{'.'.join(map(str, place))} = {words}", damaged))
    return found


# Of some two thousand, enough for the reader, and a few for all of each command.
DAMAGES = random.Random(5).sample(_damages(), 150)
SOME = DAMAGES[:5]


def _write(folder: Path, damaged: dict[str, Any]) -> None:
    """Damaged, and signed again: a checksum would find all of it at once."""
    folder.mkdir(exist_ok=True)
    if isinstance(records := damaged.get("results"), list):
        again = [signed(one) if isinstance(one, dict) else one for one in records]
        damaged = {**damaged, "results": again}
    (folder / "results.json").write_text(json.dumps(damaged))


def test_one_bad_record_leaves_the_others(tmp_path):
    ids = [record["id"] for record in example.records()]
    named = 0
    for name, damaged in DAMAGES:
        _write(tmp_path, damaged)
        run = read_run(tmp_path)
        place = name.partition(" = ")[0].split(".")
        touched = ids[int(place[1])] if place[0] == "results" else None
        assert set(ids) - {touched} <= set(run.records), name
        assert all("\n" not in problem for problem in run.problems), name
        if touched not in (None, *run.records) and not name.endswith("gone"):
            assert len(run.problems) == 1, name
        named += bool(run.problems)
    assert named > 100  # most of them are wrong, and said to be


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: repr(text[:24]))
@pytest.mark.parametrize("command", ["report", "show"])
def test_what_is_no_results_file_at_all(tmp_path, capsys, text, command):
    (tmp_path / "results.json").write_bytes(text)
    words = ["report", str(tmp_path)]
    if command == "show":
        words = ["show", example.HOLDS, "--out", str(tmp_path)]
    assert main(words) in (0, 2)
    error = capsys.readouterr().err
    assert all(line.startswith(f"iclab {command}: ") for line in error.splitlines())
    assert (tmp_path / "results.json").read_bytes() == text


def test_reports_of_damaged_results(tmp_path, capsys):
    for name, damaged in SOME:
        _write(tmp_path, damaged)
        assert main(["report", str(tmp_path)]) == 0, name
        run = read_run(tmp_path)
        error = capsys.readouterr().err
        assert error.count("\n") == len(run.problems), name


def test_showing_damaged_results(tmp_path, capsys):
    ids = [record["id"] for record in example.records()]
    for name, damaged in SOME:
        _write(tmp_path, damaged)
        for words in ([*ids[:2]], [*ids, "--json"]):
            assert main(["show", *words, "--out", str(tmp_path)]) == 0, name
    capsys.readouterr()


def test_going_on_in_a_damaged_folder(tmp_path, capsys, monkeypatch, tmp_path_factory):
    monkeypatch.setenv("ICLAB_CACHE", str(tmp_path_factory.mktemp("cache")))
    claim = Claim(
        QUICK,
        lambda scale: {"only": 0},
        lambda case: 1.0,
        lambda case, key, scale: Measured(1.0, 0.1, "because"),
        lambda case: 2.0,
    )
    (entry,) = papers.select([QUICK])
    module = importlib.import_module(papers.module_name(entry))
    monkeypatch.setattr(module, "CLAIM", claim, raising=False)
    run = ("reproduce", QUICK, "--scale", "smoke", "--out", str(tmp_path))
    for name, damaged in SOME[:2]:
        _write(tmp_path, damaged)
        there = set(read_run(tmp_path).records)
        assert main(run) == 0, name
        after = read_run(tmp_path)
        assert set(after.records) == {*there, QUICK}, name
        assert after.problems == (), name
    for text in TEXTS[:3]:
        (tmp_path / "results.json").write_bytes(text)
        assert main(run) == 2
        assert (tmp_path / "results.json").read_bytes() == text
    assert "move it away" in capsys.readouterr().err


SIZE = 10**5


@pytest.mark.parametrize(
    "sides",
    [
        {"predicted": [[1.0]] * SIZE, "measured": [[1.0] * SIZE]},
        {"measured": [1.0] * SIZE, "error": [[0.1]] * SIZE},
        {"measured": [[1.0]] * SIZE, "decoy": [2.0] * SIZE},
    ],
    ids=lambda sides: " and ".join(sides),
)
def test_sides_are_not_stretched_along_each_other(tmp_path, sides):
    whole = _whole()
    case = whole["results"][0]["cases"][0]
    case |= {"predicted": 1.0, "measured": 1.0, "error": 0.1, "decoy": 2.0} | sides
    _write(tmp_path, whole)
    run = read_run(tmp_path)
    assert whole["results"][0]["id"] not in run.records
    assert len(run.records) == len(whole["results"]) - 1
    assert run.problems[0].endswith("has sides of different shapes")


@pytest.mark.parametrize(
    ("predicted", "measured"),
    [([1.0], 1.0), (1.0, [1.0, 1.0]), ([1.0, 1.0], [[1.0, 1.0]] * 3)],
    ids=["to one", "to a row", "to a table"],
)
def test_a_side_is_stretched_to_the_largest(tmp_path, predicted, measured):
    whole = _whole()
    case = whole["results"][0]["cases"][0]
    case |= {"predicted": predicted, "measured": measured, "error": 0.1, "decoy": 2.0}
    case |= {"relation": "=", "verdict": "holds"}
    _write(tmp_path, whole)
    assert not read_run(tmp_path).problems


def test_no_memory_is_damage_like_the_rest(tmp_path, monkeypatch):
    def no_room(*_):
        raise MemoryError

    _write(tmp_path, _whole())
    monkeypatch.setattr("iclab.results._record.case_verdict", no_room)
    problems = read_run(tmp_path).problems
    assert problems
    assert all(one.endswith("is left out: it is too large") for one in problems)


def test_numbers_that_the_texts_cannot_take(tmp_path):
    """A text that asks for a number is told without it."""
    (entry,) = papers.select([example.HOLDS])
    entry = dataclasses.replace(entry, statement="It is small«, {size:d} at most».")
    for number in (1.5, [1], {"a": 1}, "word", None):
        damaged = _whole()
        damaged["results"][0]["numbers"] = {"size": number}
        _write(tmp_path, damaged)
        told = read_run(tmp_path).records[example.HOLDS].with_numbers(entry)
        assert told.statement.startswith("It is small")
