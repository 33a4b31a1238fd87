"""Pictures of a results folder: drawn anew only where they would come out different.

What lies in the folder is only compared with what this program would do: nothing in it
is imported or called.
"""

import dataclasses
import errno
import functools
import hashlib
import importlib.metadata
import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from iclab import papers
from iclab._files import sha256
from iclab.cli._mistake import UserMistake
from iclab.evidence import (
    Entry,
    FigureResult,
    Scale,
    setting_text,
)
from iclab.results import Drawn, Wrong, altered, note_made, read_drawn, write_drawn
from iclab.runs import Cache, Device, Job, code_digest

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)

Tables = Mapping[str, Mapping[str, Any]]
# The verdict, the files' names, and what puts the files in their place.
Finished = tuple[FigureResult, list[str], Callable[[], bool]]


class FigureFolder:
    """The figures of a results folder, at a scale and with a seed."""

    def __init__(
        self,
        folder: Path,
        scale: Scale,
        seed: int,
        *,
        retrain: bool = False,
        changes: Mapping[str, Any] = {},
        cache: Cache | None = None,
        device: Device = "cpu",
        precision: str | None = None,
    ):
        self._folder, self._cache, self._changes = folder, cache, changes
        self.problems: list[str] = []
        self._settings: dict[str, Any] = {"scale": scale, "seed": seed}
        self._settings |= {"retrain": retrain}
        self._settings |= {} if device == "cpu" else {"device": device}
        self._settings |= {} if precision is None else {"precision": precision}

    def jobs(self, entry: Entry, seed: int | None = None) -> dict[str, Job]:
        """The jobs of a figure, without loading its code where that is as it was.

        They come from the catalogue, or from the user's own cache of what that said.
        The folder has no say in what they call.
        """
        own = self._settings if seed is None else {**self._settings, "seed": seed}
        if self._cache is None or self._changes:
            return papers.figure_jobs(entry, **own, changes=self._changes)
        settings = json.dumps(own, sort_keys=True)
        key = f"jobs of {entry.id} {settings} {_code(entry)}"
        noted = self._cache.note(key)
        if noted is not None:
            return {name: _job(fields) for name, fields in noted.items()}
        jobs = papers.figure_jobs(entry, **own)
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
        scale = self._settings["scale"]
        own = papers.load_figure(entry).own_changes(scale, self._changes)
        return {name: setting_text(_names_only(value)) for name, value in own.items()}

    def finish(
        self,
        entry: Entry,
        tables: Tables,
        state: Callable[[str], None] = lambda word: None,
    ) -> Finished:
        """Judge a figure and draw it, or find that this has been done."""
        source = _source(entry, tables)
        there = self._drawn(entry)
        if there is not None and there.source == source:
            names = list(there.files)
            return there.result, names, lambda: self._settled(entry, source)
        state("drawing")
        with tempfile.TemporaryDirectory(prefix="iclab-") as place:
            try:
                result, names = papers.finish_figure(
                    entry, tables, Path(place) / "figures"
                )
            except OSError as error:
                if error.errno in _NO_ROOM:
                    reason = f"cannot draw in {place}: {error.strerror}"
                    raise UserMistake(reason) from None
                raise
            files = {name: (Path(place) / name).read_bytes() for name in names}
        return result, names, lambda: self._publish(entry, source, result, files)

    def _publish(
        self,
        entry: Entry,
        source: str,
        result: FigureResult,
        files: Mapping[str, bytes],
    ) -> bool:
        """Put pictures and data in their place."""
        write_drawn(self._folder, entry.id, source, result, files, self._settings)
        return True

    def _settled(self, entry: Entry, source: str) -> bool:
        """Whether the pictures are still those that were found."""
        there = self._drawn(entry)
        if there is None or there.source != source:
            return False
        note_made(self._folder, entry.id, there, self._settings)
        return True

    def _drawn(self, entry: Entry) -> Drawn | None:
        """The pictures that are there, if they are as they were written.

        Where they are not, that is one of the `problems`: they are drawn again.
        """
        path = self._folder / "figures" / f"{entry.id}.json"
        try:
            there = read_drawn(self._folder, entry.id)
        except Wrong as reason:
            self.problems.append(f"{path}: {reason}; drawn again")
            return None
        odd = [] if there is None else altered(self._folder, there)
        if odd:
            names = ", ".join(odd)
            text = f"{self._folder}: not as it was written: {names}; drawn again"
            self.problems.append(text)
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
    modules = (papers.finish_figure.__module__, papers.module_name(entry))
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
