"""What must be the same in two processes for a job to mean the same in both."""

import functools
import hashlib
from collections.abc import Mapping
from pathlib import Path

import iclab
from iclab.runs._provenance import versions

# Name of a package, or `code` for the sources of iclab -> version or digest.
Identity = Mapping[str, str | None]


@functools.cache
def identity() -> Identity:
    """Versions of what computes, and a digest of this package's own sources.

    Kept from the first call on: sources that change under a process that runs do not
    make it another.
    """
    return {**versions(), "iclab": iclab.__version__, "code": _code()}


def differences(theirs: Identity, ours: Identity) -> str:
    """In words, what a process has that another has not."""
    return ", ".join(
        f"{name} {theirs.get(name)} (here {ours[name]})"
        for name in ours
        if theirs.get(name) != ours[name]
    )


def _code() -> str:
    root = Path(iclab.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]
