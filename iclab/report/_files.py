"""Files that several programs may write at once: whole or not at all, one at a time."""

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # not a Unix
    fcntl = None

_LOCK = ".lock"
# Without `flock` a lock is a file that only one program can create. It is held for
# seconds, so one that is older than this was left by a program that was killed.
_LEFT_BEHIND = 120.0
_PAUSE = 0.05
# What a file system answers that cannot lock.
_CANNOT = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Be the only program that writes in `folder`; the others wait."""
    path = folder / _LOCK
    with open(path, "ab") as file:
        if not _flock(file.fileno()):
            with _exclusive(path.with_name(f"{_LOCK}.held")):
                yield
            return
        yield  # closing the file gives the lock back


def _flock(descriptor: int) -> bool:
    """Lock an open file; False where that cannot be done."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno in _CANNOT:
            return False
        raise
    return True


@contextlib.contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    while True:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            break
        except FileExistsError:
            with contextlib.suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime > _LEFT_BEHIND:
                    path.unlink()
                    continue
            time.sleep(_PAUSE)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def write_whole(path: Path, data: str | bytes, *, durable: bool = False) -> None:
    """Write a file that is never seen half written; its folder must be locked or ours.

    `durable` waits until it is on the disk, for what cannot be made again in a moment.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.draft")
    try:
        with open(draft, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError:
        # A draft on a full disk only takes more of its room.
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise
