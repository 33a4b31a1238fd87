"""Results on disk, named by the hash of the job that made them."""

import contextlib
import io
import json
import math
import os
import re
import shutil
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from iclab._files import (
    canonical,
    is_signed,
    moment,
    now,
    read_inside,
    refuse_links,
    sha256,
    signed,
    write_whole,
)
from iclab._reader import Rule, Seconds, checked
from iclab.runs._drafts import draft_folder, is_old, remove_left_drafts
from iclab.runs._events import EngineProblem
from iclab.runs._job import Job, Result, plain_result
from iclab.runs._provenance import provenance

# The number of this layout. A store that was written with another is left alone.
_FORMAT = 2

# What reading a file that is damaged or not there may raise.
_DAMAGE = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RecursionError,
    EOFError,
    NotImplementedError,
    MemoryError,
    zlib.error,
    zipfile.BadZipFile,
)

_MARKER, _MANIFEST, _WORK = "FORMAT", "manifest.json", "work"

_HEX = Rule("64 hex digits", lambda d: re.fullmatch(r"[0-9a-f]{64}", d) is not None)


@dataclass(frozen=True)
class Kept:
    """A finished job: its result, and the time that it took."""

    result: dict[str, Any]
    seconds: float


@checked
@dataclass(frozen=True)
class Named:
    """A job of which only the name is known: enough to find its result."""

    digest: Annotated[str, _HEX]


@checked
class Store:
    """A folder of finished jobs.

    Files are written elsewhere in the folder and moved to their place whole, the arrays
    first and the manifest that names them and their checksum, and has one of its own,
    last. So half a result never looks whole, and two processes that do the same job at
    once cannot disturb each other. A result that is damaged or was altered is not
    there, and one of the `problems` says why.
    """

    def __init__(self, root: str | os.PathLike[str], *, read_only: bool = False):
        self.root = Path(root)
        self._odd: dict[str, str] = {}
        if read_only:
            self._check_format()
            return
        with self._writing():
            if self.root.exists() and not self.root.is_dir():
                raise EngineProblem(f"cannot write to {self.root}: it is not a folder")
            self.root.mkdir(parents=True, exist_ok=True)
            self._check_format()
            # Find out now, not after an hour of work, that nothing can be written here.
            self._replace(self.root / _MARKER, f"{_FORMAT}\n".encode())
            remove_left_drafts(self.root)

    def folder(self, job: "Job | Named") -> Path:
        """Where the result of `job` is, or will be."""
        return self.root / job.digest[:2] / job.digest

    def work_folder(self, job: Job) -> Path:
        """Where `job` may keep what it has done so far; gone when it is finished."""
        place = self.folder(job) / _WORK
        with self._writing():
            refuse_links(self.root, self._name(place))
        return place

    def forget_work(self, job: Job) -> None:
        """Let a job that was stopped begin at its beginning."""
        shutil.rmtree(self.work_folder(job), ignore_errors=True)

    @property
    def problems(self) -> list[str]:
        """Sentences about results that are in the store and cannot be used."""
        return list(self._odd.values())

    def has(self, job: Job) -> bool:
        """Whether `job` is finished and its result undamaged."""
        return self.find(job) is not None

    def find(self, job: "Job | Named") -> Kept | None:
        """Result of `job`, if it is finished and undamaged."""
        reason = "unknown"
        for _ in range(2):  # someone may replace the result between two reads
            try:
                manifest = self.manifest(job)
                result = dict(manifest["values"])
                if manifest["arrays"] is not None:
                    result |= _arrays(self.folder(job), manifest["arrays"])
                return Kept(result, float(manifest["seconds"]))
            except _DAMAGE as damage:
                if not self.seems_finished(job):
                    return None
                reason = " ".join(str(damage).split()) or type(damage).__name__
        self.refuse(job, reason)
        return None

    def refuse(self, job: "Job | Named", reason: str) -> None:
        """Say that a result cannot be used, and why."""
        label = job.label if isinstance(job, Job) else ""
        path = self.folder(job) / _MANIFEST
        what = f"{path} ({label})" if label else str(path)
        self._odd.setdefault(job.digest, f"{what} is not used: {reason}")

    def refused(self, job: "Job | Named") -> bool:
        """Whether what is there of `job` cannot be used."""
        return job.digest in self._odd

    def manifest(self, job: "Job | Named") -> dict[str, Any]:
        """Configuration, seed, versions, commit and time of a finished job."""
        found = self._read(self.folder(job) / _MANIFEST)
        if "sha256" not in found:
            raise ValueError("it has no checksum: an earlier iclab wrote it")
        if not is_signed(found):
            raise ValueError("it was altered: its checksum does not match")
        if found["digest"] != job.digest:
            raise ValueError("it is the result of another job")
        # Keys that a result cannot do without.
        for key, kind in (("finished", str), ("versions", dict), ("values", dict)):
            if not isinstance(found[key], kind):
                raise ValueError(f"`{key}` is not what it should be")
        planned = _planned(job) if isinstance(job, Job) else {}
        for key, value in planned.items():
            if canonical(found[key]) != canonical(value):
                raise ValueError(f"its `{key}` is not that of the job that was planned")
        moment(found["finished"])
        for key in ("seconds", "cpu_seconds"):
            if found.get(key) is not None and not 0 <= found[key] < math.inf:
                raise ValueError(f"`{key}` must be a finite number ≥ 0")
        for text in (found["versions"]["iclab"], found["commit"]):
            if text is not None:
                str.encode(text)
        return found

    def origin(self, job: Job) -> dict[str, Any] | None:
        """The manifest of a finished job; None where it cannot be read any more."""
        try:
            return self.manifest(job)
        except _DAMAGE:
            return None

    def seems_finished(self, job: "Job | Named") -> bool:
        """Whether `job` is finished, without a look at what it found."""
        return (self.folder(job) / _MANIFEST).is_file()

    def load(self, job: Job) -> dict[str, Any]:
        """Result of a finished job: NumPy arrays and plain JSON values, by name."""
        kept = self.find(job)
        if kept is None:
            raise LookupError(f"no result of {job.label or job.function} in the store")
        return kept.result

    def save(
        self,
        job: Job,
        result: Result,
        seconds: Seconds,
        *,
        cpu_seconds: Seconds | None = None,
        replace: bool = False,
    ) -> None:
        """Keep the result of `job`; one that is already there stays, unless replaced.

        A damaged result is always replaced.
        """
        if not replace and self.has(job):
            return
        found = plain_result(result)
        arrays = {n: v for n, v in found.items() if isinstance(v, np.ndarray)}
        values = {name: v for name, v in found.items() if name not in arrays}
        folder = self.folder(job)
        with self._writing():
            refuse_links(self.root, self._name(folder))
            folder.mkdir(parents=True, exist_ok=True)
            named = None
            if arrays:
                # By what they hold: a result that is replaced stays whole meanwhile.
                packed = _pack(arrays)
                named = {"file": _file(sha256(packed)), "sha256": sha256(packed)}
                self._replace(folder / named["file"], packed)
            facts = {"cpu_seconds": cpu_seconds, "values": values, "arrays": named}
            self._replace(folder / _MANIFEST, _facts(job, seconds, **facts))
            for other in folder.glob(_file("*")):
                if is_old(other) and (named is None or other.name != named["file"]):
                    other.unlink(missing_ok=True)
            self._failure_path(job).unlink(missing_ok=True)
        self.forget_work(job)

    def save_failure(self, job: Job, error: str, seconds: Seconds) -> None:
        """Keep what stopped `job`. This is no result: the job will be tried again."""
        with self._writing():
            path = self._failure_path(job)
            refuse_links(self.root, path.parent.name)
            path.parent.mkdir(exist_ok=True)
            self._replace(path, _facts(job, seconds, error=error))

    def failure(self, job: "Job | Named") -> str | None:
        """What stopped `job` when it was last tried, if anything did."""
        try:
            found = self._read(self._failure_path(job))
            error = found["error"] if is_signed(found) else None
        except _DAMAGE:
            return None
        return error if isinstance(error, str) else None

    def _failure_path(self, job: "Job | Named") -> Path:
        return self.root / "failures" / f"{job.digest}.json"

    def _name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def _read(self, path: Path) -> dict[str, Any]:
        found = json.loads(read_inside(self.root, self._name(path)))
        if not isinstance(found, dict):
            raise ValueError("it is not an object")
        return found

    def _check_format(self) -> None:
        found = _format(self.root)
        if found is None and any(self.root.glob("[0-9a-f][0-9a-f]/*/manifest.json")):
            # Look again: another process may have begun this store just now.
            found = _format(self.root) or "1"
        if found not in (None, str(_FORMAT)):
            raise EngineProblem(
                f"{self.root} holds results in format {found}, and this iclab writes "
                f"format {_FORMAT}: choose another folder"
            )

    def write(self, path: Path, content: bytes) -> None:
        """Write a file beside the store, whole or not at all."""
        with self._writing():
            self._replace(path, content)

    def _replace(self, path: Path, content: bytes) -> None:
        """Write a file that nobody ever sees half written."""
        if path.is_relative_to(self.root):
            refuse_links(self.root, self._name(path.parent))
        with draft_folder(self.root) as drafts:
            write_whole(path, content, durable=True, drafts=drafts)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or str(error)
            raise EngineProblem(f"cannot write to {self.root}: {reason}") from None


def _planned(job: Job) -> dict[str, Any]:
    return {"function": job.function, "config": dict(job.config), "seed": job.seed}


def _facts(job: Job, seconds: float, **more: Any) -> bytes:
    """A manifest: what was done, when, with what, and `more`."""
    facts = {
        **_planned(job),
        "label": job.label,
        "digest": job.digest,
        "seconds": seconds,
        "finished": now(),
        **provenance(),
    }
    return (json.dumps(signed(facts | more), indent=1) + "\n").encode()


def _file(checksum: str) -> str:
    return f"arrays-{checksum[:16]}.npz"


def _arrays(folder: Path, named: Mapping[str, str]) -> dict[str, np.ndarray]:
    file, checksum = named["file"], named["sha256"]
    if file != _file(checksum):
        raise ValueError("it names a file that is not its own")
    packed = read_inside(folder, file)
    if sha256(packed) != checksum:
        raise ValueError(f"{file} was altered: its checksum does not match")
    return _unpacked(packed)


def _format(root: Path) -> str | None:
    """What the marker says, if there is one."""
    try:
        words = read_inside(root, _MARKER).decode(errors="replace").split()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if words[:1] == [str(_FORMAT)] and len(words) > 1:
        return "unknown"  # our markers are one word
    return words[0][:20] if words else "unknown"


def _pack(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Arrays as the bytes of an .npz file, the same bytes for the same arrays."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
    return buffer.getvalue()


def _unpacked(packed: bytes) -> dict[str, np.ndarray]:
    """Arrays of an .npz file; no header makes them larger than the file is."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        members = archive.infolist()
        _see_fits(sum(member.file_size for member in members), len(packed))
        return {
            member.filename.removesuffix(".npy"): _array(archive.read(member))
            for member in members
        }


def _array(content: bytes) -> np.ndarray:
    file = io.BytesIO(content)
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    shape, _, dtype = readers[np.lib.format.read_magic(file)](file)
    # Numbers without bytes could be without end.
    _see_fits(math.prod(shape) * max(dtype.itemsize, 1), len(content) - file.tell())
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)


def _see_fits(claimed: int, there: int) -> None:
    """See that a file can hold as many bytes as its header says, before any is made."""
    if claimed > there:
        raise ValueError(f"a header claims {claimed} bytes, and there are {there}")
