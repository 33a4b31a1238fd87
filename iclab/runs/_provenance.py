"""Where a result comes from: versions, commit, machine kind."""

import functools
import importlib.metadata
import platform
import subprocess
from pathlib import Path
from typing import Any

_PACKAGES = ("iclab", "jax", "jaxlib", "numpy", "equinox", "diffrax", "optax")


@functools.cache
def provenance() -> dict[str, Any]:
    """Versions of what computes, and the commit if this is a checkout."""
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "versions": versions(),
        "commit": _commit(),
    }


def versions() -> dict[str, str | None]:
    """Version of every package that decides a result, None where it is not there."""
    return {name: _version(name) for name in _PACKAGES}


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _commit() -> str | None:
    """Commit of the checkout that this file lies in, with `+` if it was changed.

    Without a lock on the index: killed in the middle, `git status` would leave it, and
    nothing could be committed any more.
    """
    folder = Path(__file__).resolve().parents[2]
    if not (folder / ".git").exists():
        return None
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        changed = _git(folder, "--no-optional-locks", "status", "--porcelain")
        return commit + ("+" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=10
    ).stdout.strip()
