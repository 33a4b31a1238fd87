"""Read a folder of results: the whole run, or the arrays of one item."""

import csv
import importlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from iclab.papers import UnknownId, select

DEFAULT_FOLDER = "iclab-results"
RESULTS = "results.json"
# The first format had no number; its records did not say their scale.
FORMAT = 2
_SIDES = ("predicted", "measured", "error", "decoy")


class NoResults(LookupError):
    """A folder without results, or results without what was asked for."""


@dataclass(frozen=True)
class Run:
    """What `iclab reproduce` left in a folder, in one run or in several.

    `facts` say how the last run went, and there is a record of every item that any of
    them has finished, with its own scale and seed.
    """

    folder: Path
    facts: Mapping[str, Any]
    records: Mapping[str, Mapping[str, Any]]

    @property
    def scale(self) -> str:
        """How much work the last run gave its items."""
        return str(self.facts.get("scale", "desk"))

    @property
    def seed(self) -> int:
        """Random seed that the last run gave its items."""
        return int(self.facts.get("seed", 0))


def read_run(folder: str | os.PathLike[str]) -> Run:
    """The results that `folder` holds."""
    path = Path(folder) / RESULTS
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        found = facts.pop("format", None)
        ours = found in (None, FORMAT)  # what others hold is theirs to know
        records = {one["id"]: one for one in facts.pop("results")} if ours else {}
    except (FileNotFoundError, NotADirectoryError):
        remedy = f"`iclab reproduce --out {folder}` writes them"
        raise NoResults(f"no results in {folder}: {remedy}") from None
    except OSError as error:
        raise NoResults(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise NoResults(f"{path} is not what `iclab reproduce` writes") from None
    if found != FORMAT:
        raise NoResults(
            f"{path} is of another version of iclab (format {found or 1}, here"
            f" {FORMAT}): move it away, or use another folder"
        )
    return Run(Path(folder), facts, records)


def load(
    id: str, out: str | os.PathLike[str] = DEFAULT_FOLDER, *, frame: bool = False
) -> Any:
    """Arrays of a figure or a claim, from the folder that `iclab reproduce` wrote.

    A figure gives its tables and a claim its cases: a dict, by name, of dicts of NumPy
    arrays. With `frame` all numbers come as one pandas DataFrame in long form, with the
    columns table, column, index and value, as in the CSV file next to the picture.
    """
    entry = next((one for one in select([id]) if one.id == id), None)
    if entry is None:
        raise UnknownId(
            f"{id!r} is a paper: name one of its results, as in `iclab list`"
        )
    run = read_run(out)
    record = run.records.get(id)
    if record is None:
        remedy = f"`iclab reproduce {id} --out {out}` runs it"
        raise NoResults(f"no result of {id} in {out}: {remedy}")
    if "error" in record:
        reason = str(record["error"]).strip().splitlines()[-1]
        raise NoResults(f"{id} stopped with an error in {out}: {reason}")
    tables = _claim(record) if entry.kind == "claim" else _figure(record, run.folder)
    return _frame(tables) if frame else tables


def _claim(record: Mapping[str, Any]) -> dict[str, dict[str, np.ndarray]]:
    return {
        case["case"]: {
            side: _array(case[side]) for side in _SIDES if case[side] is not None
        }
        for case in record["cases"]
    }


def _array(value: Any) -> np.ndarray:
    """Numbers as `results.json` holds them: infinities and NaN are words there."""
    array = np.asarray(value)
    return array.astype(np.float64) if array.dtype.kind in "UO" else array


def _figure(
    record: Mapping[str, Any], folder: Path
) -> dict[str, dict[str, np.ndarray]]:
    (name,) = (name for name in record["files"] if name.endswith(".csv"))
    numbers: dict[str, dict[str, dict[tuple[int, ...], str]]] = {}
    with open(folder / name, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            place = tuple(map(int, row["index"].split()))
            columns = numbers.setdefault(row["table"], {})
            columns.setdefault(row["column"], {})[place] = row["value"]
    return {
        table: {column: _filled(values) for column, values in columns.items()}
        for table, columns in numbers.items()
    }


def _filled(values: Mapping[tuple[int, ...], str]) -> np.ndarray:
    """The array of a column, from its entries and their places."""
    shape = tuple(1 + max(axis) for axis in zip(*values, strict=True))
    array = np.empty(shape, dtype=object)
    for place, word in values.items():
        array[place] = _number(word)
    return np.array(array.tolist())


def _number(word: str) -> bool | int | float | str:
    if word in ("True", "False"):
        return word == "True"
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def _real(value: Any) -> float | str:
    """A number as a float, so that the column of values has one type."""
    return str(value) if isinstance(value, str) else float(value)


def _frame(tables: Mapping[str, Mapping[str, np.ndarray]]) -> Any:
    try:
        pandas = importlib.import_module("pandas")
    except ImportError:
        remedy = "`pip install pandas`, or leave `frame` out"
        raise ImportError(f"load: `frame` needs pandas: {remedy}") from None
    rows = [
        (table, column, " ".join(map(str, place)), _real(value))
        for table, columns in tables.items()
        for column, values in columns.items()
        for place, value in np.ndenumerate(values)
    ]
    return pandas.DataFrame(rows, columns=["table", "column", "index", "value"])
