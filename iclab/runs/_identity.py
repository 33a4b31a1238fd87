"""What must be the same in two processes for a job to mean the same in both."""

import functools
import hashlib
import importlib.util
from collections.abc import Iterable, Mapping
from pathlib import Path

import iclab
from iclab.runs._job import Job
from iclab.runs._places import make_named_importable
from iclab.runs._provenance import versions

_OWN = iclab.__name__

# Name of a package, or `code` for the sources of iclab -> version or digest.
Identity = Mapping[str, str | None]


@functools.cache
def identity(packages: tuple[str, ...] = ()) -> Identity:
    """Versions of what computes, and digests of this package's sources and of others'.

    Kept from the first call on: sources that change under a process that runs do not
    make it another.
    """
    make_named_importable()
    own = {**versions(), "iclab": iclab.__version__, "code": _tree(_OWN, "*.py")}
    return {**own, **{name: _tree(name, "*") for name in packages}}


def outside(jobs: Iterable[Job]) -> tuple[str, ...]:
    """Packages besides iclab that hold what jobs run."""
    modules = {name for job in jobs for name in job.modules}
    return tuple(sorted({name.partition(".")[0] for name in modules} - {_OWN}))


def differences(theirs: Identity, ours: Identity) -> str:
    """In words, what a process has that another has not."""
    return ", ".join(
        f"{name} {theirs[name]} (here {ours[name]})"
        if theirs.get(name) is not None
        else f"no {name}"
        for name in ours
        if theirs.get(name) != ours[name]
    )


def _tree(package: str, files: str) -> str | None:
    """Digest of a package's files; None if there is no such package."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        return None
    digest = hashlib.sha256()
    places = spec.submodule_search_locations or [spec.origin or ""]
    for root in dict.fromkeys(Path(place).resolve() for place in places):
        for path in sorted(root.rglob(files)) if root.is_dir() else [root]:
            if path.is_file() and path.parent.name != "__pycache__":
                digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]
