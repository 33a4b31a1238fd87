"""Arrays in one file that is written whole and knows when it was damaged."""

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

# Everything that iclab adds to a file's header is the text under this one name:
# several names would be written in an order that changes from run to run.
_NAME = "iclab"


class DamagedFile(ValueError):
    """A file that is cut short, altered, or no safetensors file at all."""


def write_tensors(
    path: str | os.PathLike[str],
    tensors: Mapping[str, np.ndarray],
    description: Mapping[str, Any],
    *,
    header: Mapping[str, str] | None = None,
) -> None:
    """Write arrays and a JSON `description` as safetensors, with a checksum.

    The file appears under its name by one rename, after it has reached the disk. The
    same content gives the same bytes. `header` adds what other programs look for.
    """
    arrays = {name: np.ascontiguousarray(tensors[name]) for name in sorted(tensors)}
    # `ascontiguousarray` makes numbers without axes into vectors.
    arrays = {name: a.reshape(np.shape(tensors[name])) for name, a in arrays.items()}
    content = {"sha256": _checksum(arrays, description), **description}
    metadata = {_NAME: json.dumps(content, sort_keys=True), **(header or {})}
    target = Path(path)
    handle, draft = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(safetensors.numpy.save(arrays, metadata=metadata))
            file.flush()
            os.fsync(file.fileno())
        os.chmod(draft, 0o666 & ~_umask())
        os.replace(draft, target)
    except BaseException:
        os.unlink(draft)
        raise


def read_tensors(
    path: str | os.PathLike[str],
) -> tuple[dict[str, np.ndarray], dict[str, Any] | None]:
    """Arrays and description of a safetensors file; `DamagedFile` if it was altered.

    A sound file that was not written by `write_tensors` has no description.
    """
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except safetensors.SafetensorError as error:
        raise DamagedFile(f"{path} is not a whole safetensors file ({error})") from None
    if _NAME not in metadata:
        return tensors, None
    try:
        description = json.loads(metadata[_NAME])
        checksum = description.pop("sha256")
    except (ValueError, KeyError, AttributeError):
        raise DamagedFile(f"{path} has an unreadable header") from None
    if checksum != _checksum(tensors, description):
        raise DamagedFile(f"{path} was altered: its checksum does not match")
    return tensors, description


def _checksum(tensors: Mapping[str, np.ndarray], description: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(description, sort_keys=True).encode())
    for name in sorted(tensors):
        array = tensors[name]
        digest.update(f"\0{name}\0{array.dtype}\0{array.shape}\0".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
