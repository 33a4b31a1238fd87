"""Pictures of a results folder: drawn anew only where they would come out different.

What lies in the folder is only compared with what this program would do: nothing in it
is imported or called.
"""

import dataclasses
import functools
import hashlib
import importlib.metadata
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from iclab import papers
from iclab._files import sha256
from iclab.evidence import Entry, FigureResult, Tables, setting_text
from iclab.lab._request import Request
from iclab.results import Drawn, Wrong, altered, note_made, read_drawn, write_drawn
from iclab.runs import Cache, Job, code_digest

# The verdict, the files' names, and what puts the files in their place.
Finished = tuple[FigureResult, list[str], Callable[[], bool]]


class Figures:
    """The figures of a request, in the folder that keeps them."""

    def __init__(self, request: Request, cache: Cache | None = None):
        self._request, self._cache = request, cache
        self._folder = request.out or Path()
        self._changes = request.changes
        self.problems: list[str] = []
        self._made: dict[str, Any] = {"scale": request.scale, "seed": request.seed}
        self._made |= {"retrain": request.retrain}
        self._made |= {} if request.device == "cpu" else {"device": request.device}
        if request.precision is not None:
            self._made["precision"] = request.precision

    def jobs(self, entry: Entry, seed: int) -> dict[str, Job]:
        """The jobs of a figure, without loading its code where that is as it was.

        They come from the catalogue, or from the user's own cache of what that said.
        The folder has no say in what they call.
        """
        made = {**self._made, "seed": seed}
        if self._cache is None or self._changes:
            return papers.figure_jobs(entry, **made, changes=self._changes)
        settings = json.dumps(made, sort_keys=True)
        key = f"jobs of {entry.id} {settings} {_code(entry)}"
        noted = self._cache.note(key)
        if noted is not None:
            return {name: _job(fields) for name, fields in noted.items()}
        jobs = papers.figure_jobs(entry, **made)
        note = {name: dataclasses.asdict(job) for name, job in jobs.items()}
        # Settings that JSON would change (a tuple) are planned anew each time.
        again = json.loads(json.dumps(note))
        if {name: _job(fields) for name, fields in again.items()} == jobs:
            self._cache.keep(key, note)
        return jobs

    def settings(self, entry: Entry) -> dict[str, str]:
        """Settings that are not the figure's own, as one types them.

        Of files only their names: folders are nobody else's business.
        """
        if not entry.is_variant:
            return {}
        figure = papers.load_figure(entry)
        own = figure.own_changes(self._request.scale, self._changes)
        return {name: setting_text(_names_only(value)) for name, value in own.items()}

    def finish(
        self, entry: Entry, tables: Tables, state: Callable[[str], None]
    ) -> Finished:
        """Judge a figure and draw it, or find that this has been done."""
        source = _source(entry, tables)
        there = self._drawn(entry)
        if there is not None and there.source == source:
            found, names = there.result, list(there.files)
            return found, names, lambda: self._settled(entry, source)
        result = papers.judged(entry, tables)
        state("drawing")
        files = papers.drawn(entry, tables)

        def publish() -> bool:
            write_drawn(self._folder, entry.id, source, result, files, self._made)
            return True

        return result, list(files), publish

    def _settled(self, entry: Entry, source: str) -> bool:
        """Whether the pictures are still those that were found."""
        there = self._drawn(entry)
        if there is None or there.source != source:
            return False
        note_made(self._folder, entry.id, there, self._made)
        return True

    def _drawn(self, entry: Entry) -> Drawn | None:
        """The pictures that are there, if they are as they were written.

        Where they are not, that is one of the `problems`: they are drawn again.
        """
        try:
            there = read_drawn(self._folder, entry.id)
        except Wrong as reason:
            path = self._folder / "figures" / f"{entry.id}.json"
            self.problems.append(f"{path}: {reason}; drawn again")
            return None
        odd = [] if there is None else altered(self._folder, there)
        if odd:
            text = f"{self._folder}: not as it was written: {', '.join(odd)}"
            self.problems.append(f"{text}; drawn again")
        return None if odd else there


def _names_only(value: Any) -> Any:
    """A value without the folders of the files that it names."""
    if isinstance(value, tuple):
        return tuple(_names_only(one) for one in value)
    if not isinstance(value, str):
        return value
    name, equals, file = value.partition("=")
    return name + equals + Path(file).name


def _job(fields: Mapping[str, Any]) -> Job:
    return Job(**{**fields, "code": tuple(fields["code"])})


def _code(entry: Entry) -> str:
    """Hash of what plans, judges and draws a figure: code, and data shipped with it."""
    modules = (papers.drawn.__module__, papers.module_name(entry))
    return sha256(f"{code_digest(modules, drawing=True)} {_data(entry.paper)}".encode())


@functools.cache
def _data(paper: str) -> str:
    """Hash of the files of a paper's folder that are not code: trained weights."""
    folder = papers.find_paper(paper).folder
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix not in (".py", ".pyc"):
            digest.update(f"{path.relative_to(folder).as_posix()}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _source(entry: Entry, tables: Tables) -> str:
    """Hash of all that a figure's pictures are made from."""
    digest = hashlib.sha256(_code(entry).encode())
    digest.update(importlib.metadata.version("matplotlib").encode())
    for table, columns in tables.items():
        for column, values in columns.items():
            array = np.ascontiguousarray(values)
            digest.update(f"{table}\0{column}\0{array.dtype}{array.shape}\0".encode())
            digest.update(array.tobytes())
    return digest.hexdigest()
