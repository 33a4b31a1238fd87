"""Arrays in one file that is written whole and knows when it was damaged."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from iclab._files import write_whole
from iclab._reader import require, short
from iclab.core._checked import checked

# Everything that iclab adds to a file's header is the text under this one name.
_NAME = "iclab"


# What a header that is not ours may raise. That its arrays fit the file is seen by
# safetensors, before any of them is made.
_UNREADABLE = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    RecursionError,
    OverflowError,
    MemoryError,
)


class DamagedFile(ValueError):
    """A file that is cut short, altered, or no safetensors file at all."""


@checked(finite=False)
def write_tensors(
    path: str | os.PathLike[str],
    tensors: Mapping[str, np.ndarray],
    description: Mapping[str, Any],
    *,
    header: Mapping[str, str] | None = None,
) -> None:
    """Write arrays and a JSON `description` as safetensors, with a checksum.

    The file appears under its name by one rename, after it has reached the disk. The
    same content gives the same bytes. A `header` adds what other programs look for.
    """
    arrays = {
        name: np.ascontiguousarray(_array(name, tensors[name]))
        for name in sorted(tensors)
    }
    # `ascontiguousarray` makes numbers without axes into vectors.
    arrays = {name: a.reshape(np.shape(tensors[name])) for name, a in arrays.items()}
    try:
        known = {"sha256": _checksum(arrays, description), **description}
    except (TypeError, ValueError) as error:
        rule = "`description` must be a dictionary of JSON values"
        raise TypeError(f"write_tensors: {rule}: {error}") from None
    metadata = {_NAME: json.dumps(known, sort_keys=True), **(header or {})}
    content = _in_order(safetensors.numpy.save(arrays, metadata=metadata))
    write_whole(Path(path), content, durable=True)


@checked(finite=False)
def read_tensors(
    path: str | os.PathLike[str],
) -> tuple[dict[str, np.ndarray], dict[str, Any] | None]:
    """Arrays and description of a safetensors file; `DamagedFile` if it was altered.

    A sound file that was not written by `write_tensors` has no description.
    """
    if not os.path.exists(path):
        raise DamagedFile(
            f"read_tensors: `path` must be a file that is there, got {path}"
        )
    if not os.path.isfile(path):  # a pipe would be waited for
        raise DamagedFile(f"{path} is not a plain file")
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except safetensors.SafetensorError as error:
        if _is_pickle(path):
            raise DamagedFile(pickle_sentence(path)) from None
        raise DamagedFile(f"{path} is not a whole safetensors file ({error})") from None
    except _UNREADABLE as error:
        raise DamagedFile(f"{path} has arrays that cannot be read ({error})") from None
    if _NAME not in metadata:
        return tensors, None
    try:
        description = json.loads(metadata[_NAME])
        checksum = description.pop("sha256")
    except _UNREADABLE:
        raise DamagedFile(f"{path} has an unreadable header") from None
    if checksum != _checksum(tensors, description):
        raise DamagedFile(f"{path} was altered: its checksum does not match")
    return tensors, description


@checked(finite=False)
def pickle_sentence(path: str | os.PathLike[str]) -> str:
    """What to do with a file of weights that only Python's pickle can read."""
    return (
        f"{path} is a pickle, which may run programs and is never opened here; turn it"
        " into safetensors where you trust it: `torch.load(…, weights_only=True)`, then"
        " `safetensors.torch.save_file` (docs/weights.md has the script)"
    )


def _array(name: str, value: Any) -> np.ndarray:
    """`value` as an array of numbers or truth values; JAX's have types of their own."""
    try:
        array = np.asarray(value)
        known = array.dtype.kind in "biufV"
    except (ValueError, TypeError):
        array, known = np.empty(0), False
    rule = f"arrays of real numbers, also {name!r}"
    require(known, "tensors", rule, short(value))
    return array


def _is_pickle(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as those of `torch.save` do, today or in older versions."""
    with open(path, "rb") as file:
        first = file.read(4)
    return first == b"PK\3\4" or (first[:1] == b"\x80" and 2 <= first[1] <= 5)


@checked(finite=False)
def description_of(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The description that a file claims to have; only `read_tensors` sees if it does.

    None where there is none.
    """
    if not os.path.isfile(path):
        return None
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            found = json.loads((file.metadata() or {})[_NAME])
    except (safetensors.SafetensorError, OSError, *_UNREADABLE):
        return None
    return found if isinstance(found, dict) else None


def _in_order(content: bytes) -> bytes:
    """The same file with sorted metadata, whose order else changes from run to run."""
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)  # arrays begin at a multiple of eight bytes
    return len(text).to_bytes(8, "little") + text + content[8 + size :]


def _checksum(tensors: Mapping[str, np.ndarray], description: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(description, sort_keys=True).encode())
    for name in sorted(tensors):
        array = tensors[name]
        digest.update(f"\0{name}\0{array.dtype}\0{array.shape}\0".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
