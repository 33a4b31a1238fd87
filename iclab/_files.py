"""Files that are whole or not there, names that stay in their folder, and the time.

This stands below every folder: `core` and `runs` do not import each other, and both
write files. It loads nothing.
"""

import datetime
import errno
import hashlib
import json
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import IO, Annotated, Any

from iclab._reader import Rule, checked

# Writes what others compute: no part of the names of jobs.
__computes__ = False

# How names of files end that are not yet whole.
_DRAFT = ".draft"
_DRAFT_NAME = re.compile(r"\..+\.[0-9a-f]{8}\.draft", re.DOTALL)
# The file in which a folder says which of its files are ours.
_NOTE, _NOTE_FORMAT = "iclab-files.json", "iclab files 1"

_MODE = Rule("a file's mode, from 0 to 0o7777", lambda n: 0 <= n <= 0o7777)


class Linked(OSError):
    """A symbolic link where a folder that may be a stranger's must have none."""

    def __init__(self, path: Path):
        super().__init__(errno.ELOOP, f"{path} is a symbolic link")


class NotOurs(OSError):
    """A file in the way that we did not write: nothing takes its place."""

    def __init__(self, path: Path):
        text = f"{path} is there, and iclab did not write it: move it away"
        super().__init__(errno.EEXIST, text)


@checked
def write_whole(
    path: Path,
    data: str | bytes,
    *,
    durable: bool = False,
    mode: Annotated[int, _MODE] | None = None,
    drafts: Path | None = None,
) -> None:
    """Write a file that nobody ever sees half written: it appears by one rename.

    A file that is replaced keeps its mode, and a new one has `mode`. `durable` waits
    until it is on the disk, for what cannot be made again in a moment. `drafts` is
    another folder on the same disk to write in meanwhile.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # A name that nobody knows beforehand, so that no link can wait there.
    draft = (drafts or path.parent) / f".{path.name}.{secrets.token_hex(4)}{_DRAFT}"
    try:
        with open(draft, "xb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        wanted = _mode(path) or mode
        if wanted is not None:
            draft.chmod(wanted)
        os.replace(draft, path)
    except BaseException:
        # A draft on a full disk only takes more of its space.
        draft.unlink(missing_ok=True)
        raise
    if durable:
        _sync_folder(path.parent)


@checked
def remove_drafts(folder: Path) -> None:
    """Remove what `write_whole` left in a folder when it was killed.

    Nobody else may be writing there.
    """
    for draft in folder.glob(f".*{_DRAFT}"):
        if is_draft(draft):
            draft.unlink(missing_ok=True)


def is_draft(path: Path) -> bool:
    """Whether `write_whole` gave a file its name."""
    plain = path.is_file() and not path.is_symlink()
    return plain and _DRAFT_NAME.fullmatch(path.name) is not None


def write_inside(folder: Path, name: str, data: str | bytes, **how: Any) -> None:
    """Write a file below `folder`, to which no symbolic link may lead."""
    refuse_links(folder, name)
    write_whole(folder / name, data, **how)


def read_inside(folder: Path, name: str) -> bytes:
    """What a plain file below `folder` holds; no symbolic link may lead to it."""
    refuse_links(folder, name)
    with open_plain(folder / name) as file:
        return file.read()


def open_plain(path: Path, mode: str = "rb") -> IO[bytes]:
    """Open a plain file, or what a link to one leads to, as bytes.

    Neither waits for a pipe nor reads a device: a stranger's folder may hold either.
    """
    return open(path, mode, opener=_plain)


def _plain(path: str, flags: int) -> int:
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)
    mode = os.fstat(handle).st_mode
    # That a folder is none is Python's to say.
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        os.close(handle)
        raise OSError(errno.EINVAL, f"{path} is not a plain file")
    return handle


def refuse_links(folder: Path, name: str) -> None:
    """See that `name` stays below `folder`, and that nothing on its way is a link."""
    parts = PurePosixPath(name).parts
    if ".." in parts or PurePosixPath(name).is_absolute():
        raise OSError(errno.EINVAL, f"{name} is not a name inside {folder}")
    place = folder
    for part in parts:
        place = place / part
        if place.is_symlink():
            raise Linked(place)


def see_free(folder: Path, names: Iterable[str]) -> None:
    """See that nothing of these names is below `folder`: `NotOurs` if it is."""
    for name in sorted(names):
        refuse_links(folder, name)
        if os.path.lexists(folder / name):
            raise NotOurs(folder / name)


def own(folder: Path, names: Iterable[str], *, known: Iterable[str] = ()) -> None:
    """Note that files of these names below `folder` are ours, before they are written.

    `NotOurs` if one is there that is neither noted nor `known` to be ours.
    """
    wanted = set(names)
    noted = see_ours(folder, wanted - set(known))
    if not wanted <= noted:
        note = {"format": _NOTE_FORMAT, "files": sorted(noted | wanted)}
        write_inside(folder, _NOTE, json.dumps(signed(note), indent=1) + "\n")


def see_ours(folder: Path, names: Iterable[str]) -> set[str]:
    """See that what is there of these names was noted as ours; returns what was."""
    noted = _noted(folder)
    see_free(folder, set(names) - noted)
    return noted


def _noted(folder: Path) -> set[str]:
    try:
        found = json.loads(read_inside(folder, _NOTE))
    except (FileNotFoundError, NotADirectoryError):
        return set()
    except (ValueError, RecursionError):
        raise NotOurs(folder / _NOTE) from None
    ours = isinstance(found, dict) and found.get("format") == _NOTE_FORMAT
    if not ours or not is_signed(found):
        raise NotOurs(folder / _NOTE)
    return {name for name in found["files"] if isinstance(name, str)}


def mode_of(path: Path) -> int:
    """Who may read and write a file."""
    return stat.S_IMODE(path.stat().st_mode)


def canonical(value: Any) -> bytes:
    """A JSON value as bytes that do not depend on the order of its keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return text.encode()


def sha256(data: bytes) -> str:
    """The checksum of bytes."""
    return hashlib.sha256(data).hexdigest()


def signed(value: dict[str, Any]) -> dict[str, Any]:
    """A JSON object with the checksum of the rest of it, `sha256`, at its end."""
    rest = _unsigned(value)
    as_read = json.loads(json.dumps(rest))
    return {**rest, "sha256": sha256(canonical(as_read))}


def is_signed(value: dict[str, Any]) -> bool:
    """Whether a JSON object, as it was read, is what `signed` gave."""
    return sha256(canonical(_unsigned(value))) == value.get("sha256")


def _unsigned(value: dict[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in value.items() if name != "sha256"}


def moment(text: str) -> datetime.datetime:
    """A time that was written; ValueError if it is none, or still to come.

    Clocks of machines may differ by a day.
    """
    found = datetime.datetime.fromisoformat(text)
    if found.tzinfo is None:
        found = found.replace(tzinfo=datetime.UTC)
    ahead = found - datetime.datetime.now(datetime.UTC)
    if ahead > datetime.timedelta(days=1):
        raise ValueError(f"{text} is in the future")
    return found


def now() -> str:
    """The time, as everything that is written says it: UTC, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _mode(path: Path) -> int | None:
    try:
        facts = path.lstat()
    except OSError:
        return None
    return stat.S_IMODE(facts.st_mode) if stat.S_ISREG(facts.st_mode) else None


def _sync_folder(folder: Path) -> None:
    """Let the rename reach the disk too, where folders can be opened for that."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
