"""Files that are being written, and those that killed processes left."""

import contextlib
import os
import re
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from iclab._files import is_draft, refuse_links

_FOLDER = "drafts"
# Machine, process and what `mkdtemp` adds.
_NAME = re.compile(r".+\+\d+\+[a-z0-9_]{8}", re.DOTALL)

# No draft is written for so long by anyone who is still there, on whatever machine.
_OLD = 3600.0


@contextlib.contextmanager
def draft_folder(root: Path) -> Iterator[Path]:
    """A fresh folder on the same disk as `root`, gone afterwards, that names us."""
    drafts = root / _FOLDER
    refuse_links(root, _FOLDER)
    drafts.mkdir(exist_ok=True)
    owner = f"{socket.gethostname()}+{os.getpid()}+"
    draft = Path(tempfile.mkdtemp(prefix=owner, dir=drafts))
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def remove_left_drafts(root: Path) -> None:
    """Remove drafts that are old and whose process is not here any more."""
    refuse_links(root, _FOLDER)
    for draft in (root / _FOLDER).glob("*+*+*"):
        ours = _NAME.fullmatch(draft.name) is not None and not draft.is_symlink()
        with contextlib.suppress(OSError):
            if ours and is_old(draft) and not _owned(draft.name):
                for file in filter(is_draft, list(draft.iterdir())):
                    file.unlink()
                draft.rmdir()  # which fails where there is something else in it


def is_old(path: Path) -> bool:
    """Whether a file or a folder was last written long ago."""
    return time.time() - path.stat().st_mtime > _OLD


def _owned(name: str) -> bool:
    """Whether the process that `name` names is alive on this machine."""
    host, process, _ = name.rsplit("+", 2)
    if host != socket.gethostname() or not process.isdigit():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # another user's
    return True
