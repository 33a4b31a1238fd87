"""What lies beside the pictures of a figure: a manifest of them.

It says what they were made from, what they are, by checksums, and what was found in
them. It is only compared with what this program would do.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from iclab._files import is_signed, read_inside, see_free, sha256, write_inside
from iclab._reader import Json, checked
from iclab.evidence import FigureResult
from iclab.results._record import file_names
from iclab.results._schema import Digest, Line, Wrong, file_sum, from_json, write_signed

_FORMAT = 4
_MADE = ("scale", "seed", "retrain", "device", "precision")


@checked
@dataclass(frozen=True)
class Drawn:
    """A figure that was drawn: from what, its files' checksums, what was found.

    `made` are scale, seed and the like of the run that was there last.
    """

    source: str
    files: Mapping[str, str]
    result: FigureResult
    made: Json


@checked
def read_drawn(folder: Path, id: str) -> Drawn | None:
    """What is known of the pictures of a figure; `Wrong` if that was altered.

    None if nothing is known: they are not there, or another iclab has drawn them.
    """
    try:
        found = json.loads(read_inside(folder, _name(id)))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Wrong(f"cannot read it: {error.strerror}") from None
    except (ValueError, RecursionError, MemoryError):
        raise Wrong("it is not JSON") from None
    if not isinstance(found, dict):
        raise Wrong("it is not an object")
    if found.get("format") != _FORMAT:
        return None
    try:
        whole = is_signed(found)
    except (RecursionError, MemoryError):
        whole = False
    if not whole:
        raise Wrong("it was altered: its checksum does not match")
    files = from_json(found.get("files"), Mapping[str, Digest], "files")
    if not set(files) <= set(file_names(id)):
        raise Wrong("`files` must be those of this figure")
    result = from_json({**found, "id": id}, FigureResult)
    made = {name: found[name] for name in _MADE if name in found}
    return Drawn(from_json(found.get("source"), Line, "source"), files, result, made)


@checked
def write_drawn(
    folder: Path,
    id: str,
    source: str,
    result: FigureResult,
    files: Mapping[str, bytes],
    made: Json,
) -> None:
    """Put the manifest, then pictures and data in their place.

    What is not yet as the manifest says counts as altered, and as ours.
    """
    sums = {name: sha256(data) for name, data in files.items()}
    _write(folder, id, Drawn(source, sums, result, made))
    for name, data in files.items():
        write_inside(folder, name, data)


@checked
def see_drawable(folder: Path, id: str, known: Sequence[str] = ()) -> None:
    """See that no file is where those of a figure will be that others wrote.

    With a manifest all are ours, and where that is damaged the `known` ones are.
    """
    if not _is_manifest(folder, id):
        ours = {*known, _name(id)} if known else set()
        see_free(folder, {*file_names(id), _name(id)} - ours)


@checked
def note_made(folder: Path, id: str, drawn: Drawn, made: Json) -> None:
    """Let the manifest say how the run was made that was there last."""
    if dict(drawn.made) != dict(made):
        _write(folder, id, replace(drawn, made=made))


@checked
def altered(folder: Path, drawn: Drawn) -> list[str]:
    """Files that are not there as they were written."""
    files = drawn.files.items()
    return [name for name, known in files if file_sum(folder, name) != known]


def _write(folder: Path, id: str, drawn: Drawn) -> None:
    result = drawn.result
    manifest = {
        "format": _FORMAT,
        "source": drawn.source,
        "files": dict(drawn.files),
        "verdict": result.verdict,
        "evidence": [one.json() for one in result.evidence],
        "paper_statements": [one.json() for one in result.paper_statements],
        "missing": list(result.missing),
        **drawn.made,
    }
    write_signed(folder, _name(id), manifest)


def _is_manifest(folder: Path, id: str) -> bool:
    try:
        found = json.loads(read_inside(folder, _name(id)))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and {"format", "source", "files"} <= found.keys()


def _name(id: str) -> str:
    return f"figures/{id}.json"
