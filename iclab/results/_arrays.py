"""Arrays of a result: from the store, or from the CSV file of an older folder."""

import csv
import importlib
import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from iclab._files import read_inside, refuse_links, sha256
from iclab._reader import checked
from iclab.results._folder import DEFAULT_FOLDER, NoResults, read_run
from iclab.results._keep import checksums
from iclab.results._record import Record
from iclab.runs import EngineProblem, Named, Store

STORE = "store"
_SIDES = ("predicted", "measured", "error", "decoy")

Arrays = dict[str, dict[str, np.ndarray]]


@checked
def load(
    id: str, out: str | os.PathLike[str] = DEFAULT_FOLDER, *, frame: bool = False
) -> Any:
    """Arrays of a figure or a claim, from the folder that `iclab reproduce` wrote.

    A figure gives its tables and a claim its cases: a dict, by name, of dicts of NumPy
    arrays. With `frame` all numbers come as one pandas DataFrame in long form, with the
    columns table, column, index and value, as in the CSV file next to the picture.
    """
    run = read_run(out)
    record = run.records.get(id)
    if record is None:
        named = [one for one in run.problems if f"({id!r})" in one]
        remedy = f"`iclab reproduce {id} --out {out}` runs it"
        reason = named[0] if named else f"no result of {id} in {out}"
        raise NoResults(f"{reason}: {remedy}")
    if record.failed:
        raise NoResults(f"{id} stopped with an error in {out}: {record.reason}")
    tables = _claim(record) if record.kind == "claim" else _figure(record, run.folder)
    return _frame(tables) if frame else tables


def _claim(record: Record) -> Arrays:
    return {
        case.title: {
            side: np.asarray(getattr(case, side))
            for side in _SIDES
            if getattr(case, side) is not None
        }
        for case in record.cases
    }


def _figure(record: Record, folder: Path) -> Arrays:
    if (kept := stored_tables(record, folder)) is not None:
        return kept
    name = record.file("csv")
    if name is not None:
        try:
            data = read_inside(folder, name)
            if sha256(data) == checksums(folder, record).get(name):
                return _tables(data.decode("utf-8"))
        except (OSError, ValueError, LookupError, TypeError):
            pass
    remedy = f"`iclab reproduce {record.id} --out {folder}` makes them again"
    raise NoResults(f"the arrays of {record.id} are not in {folder}: {remedy}")


@checked
def stored_tables(record: Record, folder: Path) -> Arrays | None:
    """Tables as the jobs left them; None if the store does not have all of them."""
    if not record.jobs:
        return None
    try:
        refuse_links(folder, STORE)
        store = Store(folder / STORE, read_only=True)
    except (EngineProblem, OSError):
        return None
    tables: Arrays = {}
    for name, digest in record.jobs.items():
        kept = store.find(Named(digest))
        if kept is None:
            return None
        tables[name] = {
            column: np.asarray(values) for column, values in kept.result.items()
        }
    return tables


def _tables(text: str) -> Arrays:
    """Tables of a CSV file in long form, for folders whose records name no jobs."""
    entries: dict[tuple[str, str], dict[tuple[int, ...], Any]] = {}
    for row in csv.DictReader(io.StringIO(text, newline="")):
        place = tuple(map(int, row["index"].split()))
        column = entries.setdefault((row["table"], row["column"]), {})
        column[place] = _parsed(row["value"])
    tables: Arrays = {}
    for (table, column), values in entries.items():
        shape = tuple(1 + last for last in max(values))
        if list(values) != list(np.ndindex(shape)):
            raise ValueError("entries are missing")
        array = np.array(list(values.values())).reshape(shape)
        tables.setdefault(table, {})[column] = array
    return tables


def _parsed(word: str) -> bool | int | float | str:
    if word in ("True", "False"):
        return word == "True"
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def _frame(tables: Mapping[str, Mapping[str, np.ndarray]]) -> Any:
    try:
        pandas = importlib.import_module("pandas")
    except ImportError:
        remedy = "`pip install pandas`, or leave `frame` out"
        raise ImportError(f"load: `frame` needs pandas: {remedy}") from None
    rows = [
        # Numbers are floats, so that the column of values has one type.
        (
            table,
            column,
            " ".join(map(str, place)),
            str(value) if isinstance(value, str) else float(value),
        )
        for table, columns in tables.items()
        for column, values in columns.items()
        for place, value in np.ndenumerate(values)
    ]
    return pandas.DataFrame(rows, columns=["table", "column", "index", "value"])
