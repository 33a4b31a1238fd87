"""Results on disk, named by the hash of the job that made them."""

import json
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from iclab.runs._job import Job, Result
from iclab.runs._provenance import provenance

_ARRAYS = "arrays.npz"
_MANIFEST = "manifest.json"


class Store:
    """A folder of finished jobs.

    A result is written beside its place and moved there whole, by one rename, with the
    manifest written last: half a result never looks whole, and two processes that do
    the same job at once cannot disturb each other.
    """

    def __init__(self, root: str | os.PathLike[str]):
        self.root = Path(root)
        self.root.mkdir(parents=True, exist_ok=True)
        # Find out now, not after an hour of work, that nothing can be written here.
        with tempfile.TemporaryFile(dir=self.root):
            pass

    def folder(self, job: Job) -> Path:
        """Where the result of `job` is, or will be."""
        return self.root / job.digest[:2] / job.digest

    def has(self, job: Job) -> bool:
        """Whether `job` is finished."""
        return (self.folder(job) / _MANIFEST).is_file()

    def manifest(self, job: Job) -> dict[str, Any]:
        """Configuration, seed, versions, commit and time of a finished job."""
        text = (self.folder(job) / _MANIFEST).read_text(encoding="utf-8")
        return json.loads(text)

    def load(self, job: Job) -> dict[str, Any]:
        """Result of a finished job: NumPy arrays and plain JSON values, by name."""
        result = self.manifest(job)["values"]
        arrays = self.folder(job) / _ARRAYS
        if arrays.is_file():
            with np.load(arrays, allow_pickle=False) as stored:
                result |= {name: stored[name] for name in stored.files}
        return result

    def save(self, job: Job, result: Result, seconds: float) -> None:
        """Keep the result of `job`; a result that is already there stays."""
        arrays, values = _split(result)
        manifest = {
            "function": job.function,
            "label": job.label,
            "config": dict(job.config),
            "seed": job.seed,
            "digest": job.digest,
            "seconds": seconds,
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            **provenance(),
            "values": values,
        }
        target = self.folder(job)
        target.parent.mkdir(exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=self.root))
        try:
            if arrays:
                with open(draft / _ARRAYS, "wb") as file:
                    np.savez(file, allow_pickle=False, **arrays)
                    _flush(file)
            with open(draft / _MANIFEST, "w", encoding="utf-8") as file:
                json.dump(manifest, file, indent=1, sort_keys=True)
                _flush(file)
            try:
                os.rename(draft, target)
            except OSError:
                # Someone else finished the same job first; theirs is as good as ours.
                if not self.has(job):
                    raise
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def _split(result: Result) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays, and the rest, which must be plain JSON."""
    arrays = {name: np.asarray(v) for name, v in result.items() if _is_array(v)}
    values = {name: v for name, v in result.items() if name not in arrays}
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise TypeError(
                f"job result `{name}` must hold numbers, got Python objects"
            )
    return arrays, values


def _is_array(value: Any) -> bool:
    return hasattr(value, "__array__") and not isinstance(value, Mapping)


def _flush(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())
