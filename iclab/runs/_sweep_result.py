"""What a sweep has found: a table with a row for every point and seed."""

import csv
import html
import io
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iclab import show
from iclab._files import write_whole
from iclab._reader import Seconds, Seed, checked, require

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 20


@checked
@dataclass(frozen=True)
class Point:
    """A point of the grid with a seed: what the function answered, or why not.

    Without a result and an error it was not computed yet.
    """

    point: Mapping[str, Any]
    seed: Seed
    result: Mapping[str, Any] | None
    error: str | None
    seconds: Seconds | None


@checked
@dataclass(frozen=True)
class Sweep:
    """The answers of a function over a grid, from the folder where they are kept."""

    folder: Path
    function: str
    grid: Mapping[str, Sequence[Any]]
    seeds: Sequence[Seed]
    points: tuple[Point, ...]

    def __post_init__(self):
        count = math.prod([len(self.seeds), *map(len, self.grid.values())])
        rule = f"one for every point of the grid and seed, {count}"
        require(len(self.points) == count, "points", rule, len(self.points))

    @property
    def failures(self) -> list[Point]:
        """Points whose last call failed."""
        return [one for one in self.points if one.error is not None]

    @property
    def missing(self) -> list[Point]:
        """Points that were not computed yet."""
        return [one for one in self.points if one.result is None and one.error is None]

    @property
    def columns(self) -> list[str]:
        """Names of what the function returns."""
        found = [name for one in self.points for name in one.result or ()]
        return list(dict.fromkeys(found))

    def arrays(self) -> dict[str, np.ndarray]:
        """What the function returned, by name: the grid's axes first, then the seed.

        Entries of points without an answer are NaN, or None among words.
        """
        shape = (*(len(values) for values in self.grid.values()), len(self.seeds))
        return {name: self._array(name, shape) for name in self.columns}

    def frame(self) -> "pd.DataFrame":
        """A pandas DataFrame: a row for every point and seed, a column for every name.

        Arrays have a column for every entry, `losses[0]`, `losses[1]`, … Points without
        an answer have missing values, and failures their last line under `error`.
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("frame() needs pandas: pip install pandas") from None
        table = self._table()
        return pd.DataFrame(
            {name: pd.Series(values, dtype=_dtype(values)) for name, values in table}
        )

    def save_csv(self, path: str | os.PathLike[str] | None = None) -> Path:
        """Write the table of `frame` as a CSV file, `sweep.csv` in the folder."""
        path = self.folder / "sweep.csv" if path is None else Path(path)
        names, values = zip(*self._table(), strict=True)
        lines = io.StringIO(newline="")
        writer = csv.writer(lines)
        writer.writerow(names)
        writer.writerows(zip(*values, strict=True))
        write_whole(path, lines.getvalue())
        return path

    def __repr__(self) -> str:
        return f"<Sweep of {self.function}: {self._summary()}>"

    def _repr_html_(self) -> str:
        table = self._table()
        rows = list(zip(*(values for _, values in table), strict=True))
        rows = rows if len(rows) <= _SHOWN else [*rows[:10], "…", *rows[-5:]]
        page = show.table([name for name, _ in table], rows, digits=6)
        failed = "".join(
            f"<details><summary>{html.escape(label(one.point, one.seed))}: "
            f"{html.escape(_last_line(one.error) or '')}</summary>"
            f"<pre>{html.escape(one.error or '')}</pre></details>"
            for one in self.failures
        )
        words = html.escape(f"Sweep of {self.function}: {self._summary()}")
        return f"<p>{words}</p>{page}{failed}"

    def _summary(self) -> str:
        done = len(self.points) - len(self.failures) - len(self.missing)
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"{show.of(done, len(self.points), 'point')}{failed}, in {self.folder}"

    def _array(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        values = [(one.result or {}).get(name) for one in self.points]
        there = [np.asarray(value) for value in values if value is not None]
        shapes = {value.shape for value in there}
        if len(shapes) > 1:
            raise ValueError(
                f"arrays: `{name}` must have one shape at all points, got"
                f" {' and '.join(map(str, sorted(shapes)))}: `points` has them as they"
                " are"
            )
        if any(value.dtype.kind in "US" for value in there):
            return np.array(values, object).reshape(shape)
        inner = shapes.pop() if shapes else ()
        filler = np.full(inner, np.nan)
        whole = [filler if value is None else np.asarray(value) for value in values]
        return np.stack(whole).reshape(*shape, *inner)

    def _table(self) -> list[tuple[str, list[Any]]]:
        """Columns of the wide table, in order."""
        table = [(name, [one.point[name] for one in self.points]) for name in self.grid]
        table.append(("seed", [one.seed for one in self.points]))
        taken = {name for name, _ in table}
        for name in self.columns:
            values = [(one.result or {}).get(name) for one in self.points]
            title = f"result.{name}" if name in taken else name
            table += _spread(title, values)
        if self.failures:
            table.append(("error", [_last_line(one.error) for one in self.points]))
        return table


def _spread(name: str, values: list[Any]) -> list[tuple[str, list[Any]]]:
    """A column, or one for every entry where values are arrays."""
    if not any(isinstance(value, np.ndarray) for value in values):
        return [(name, values)]
    entries = [
        dict(zip(np.ndindex(value.shape), value.ravel().tolist(), strict=True))
        if isinstance(value, np.ndarray)
        else {}
        for value in values
    ]
    return [
        (f"{name}[{','.join(map(str, at))}]", [one.get(at) for one in entries])
        for at in dict.fromkeys(at for one in entries for at in one)
    ]


def _dtype(values: list[Any]) -> str:
    """The narrowest type of pandas for a column, which may have missing values."""
    kinds = {type(value) for value in values if value is not None}
    whole = None not in values
    if kinds == {bool}:
        return "bool" if whole else "boolean"
    if kinds == {int}:
        return "int64" if whole else "Int64"
    return "float64" if kinds and kinds <= {int, float} else "object"


def label(point: Mapping[str, Any], seed: int) -> str:
    """A point in words: `width=2, seed=1`."""
    named = {**point, "seed": seed}
    return ", ".join(f"{name}={value}" for name, value in named.items())


def _last_line(error: str | None) -> str | None:
    return error and error.strip().splitlines()[-1]
