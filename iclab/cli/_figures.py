"""Pictures of a results folder: drawn anew only where they would come out different.

Beside the pictures of a figure lies a manifest. It says what they were made from, code
and numbers, what they are, by checksums, and what was found in them. It is only
compared with what this program would do: nothing in it is imported or called.
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
from iclab._files import write_whole
from iclab.cli._mistake import UserMistake
from iclab.evidence import (
    Entry,
    Evidence,
    FigureResult,
    Scale,
    Sentence,
    setting_text,
)
from iclab.runs import Cache, Device, Job, code_digest

_FORMAT = 3
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
        there = self._manifest(entry)
        if there.get("source") == source and self._whole(there):
            return (*_found(entry, there), lambda: self._settled(entry, source))
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
        """Put pictures, data and at last the manifest in their place."""
        for name, data in files.items():
            write_whole(self._folder / name, data)
        manifest = {
            "format": _FORMAT,
            "source": source,
            "files": {name: _sha256(data) for name, data in files.items()},
            "verdict": result.verdict,
            "evidence": [dataclasses.asdict(one) for one in result.evidence],
            "said": [dataclasses.asdict(one) for one in result.said],
            "missing": list(result.missing),
        }
        self._write(entry, manifest)
        return True

    def _settled(self, entry: Entry, source: str) -> bool:
        """Whether the pictures are still those that were found."""
        there = self._manifest(entry)
        if there.get("source") != source:
            return False
        if any(there.get(name) != value for name, value in self._settings.items()):
            self._write(entry, there)
        return True

    def _write(self, entry: Entry, manifest: Mapping[str, Any]) -> None:
        text = json.dumps({**manifest, **self._settings}, indent=1, ensure_ascii=False)
        write_whole(self._path(entry), text + "\n")

    def _path(self, entry: Entry) -> Path:
        return self._folder / "figures" / f"{entry.id}.json"

    def _manifest(self, entry: Entry) -> dict[str, Any]:
        """What is known of the pictures that are there; nothing, in any doubt."""
        try:
            found = json.loads(self._path(entry).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        known = isinstance(found, dict) and found.get("format") == _FORMAT
        return found if known else {}

    def _whole(self, manifest: Mapping[str, Any]) -> bool:
        """Whether every file is there as it was written."""
        try:
            return all(
                _sha256((self._folder / name).read_bytes()) == expected
                for name, expected in manifest["files"].items()
            )
        except OSError:
            return False


def _found(entry: Entry, manifest: Mapping[str, Any]) -> tuple[FigureResult, list[str]]:
    evidence = tuple(Evidence(**one) for one in manifest["evidence"])
    said = tuple(
        Sentence(**{**one, "tests": tuple(Evidence(**test) for test in one["tests"])})
        for one in manifest["said"]
    )
    missing = tuple(manifest.get("missing", ()))
    result = FigureResult(entry.id, manifest["verdict"], evidence, said, missing)
    return result, list(manifest["files"])


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
    return _sha256(
        f"{code_digest(modules, drawing=True)} {_data(entry.paper)}".encode()
    )


@functools.cache
def _data(paper: str) -> str:
    """Hash of the files of a paper's room that are not code: trained weights."""
    room = papers.room(paper).folder
    digest = hashlib.sha256()
    for path in sorted(room.rglob("*")):
        if path.is_file() and path.suffix not in (".py", ".pyc"):
            digest.update(f"{path.relative_to(room).as_posix()}\0".encode())
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


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
