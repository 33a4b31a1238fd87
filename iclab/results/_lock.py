"""One program at a time in a folder."""

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

import filelock

from iclab._files import refuse_links
from iclab._reader import checked

LOCK = ".lock"
# What a file system answers that cannot lock.
_CANNOT = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP)


@checked
@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Be the only program that writes in `folder`; the others wait."""
    refuse_links(folder, LOCK)  # to lock a file may empty it
    lock: filelock.BaseFileLock = filelock.FileLock(folder / LOCK)
    try:
        lock.acquire()
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
        # There a lock is a file that only one program can create.
        lock = filelock.SoftFileLock(folder / f"{LOCK}.held")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
