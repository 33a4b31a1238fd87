"""Packages that are not installed: folders that a user names."""

import contextlib
import importlib
import importlib.util
import os
import sys
from pathlib import Path

from iclab._reader import checked

# Folders, separated as in PATH, for every process that reads the variable.
VARIABLE = "ICLAB_PAPERS"
_FORMER = "ICLAB_ROOMS"  # read for one more version
# The file by which a folder that is meant is known.
_SIGN = "contents.py"


def named_folders() -> list[str]:
    """Folders that the environment names."""
    words = [os.environ.get(name, "") for name in (VARIABLE, _FORMER)]
    return [word for word in os.pathsep.join(words).split(os.pathsep) if word]


@checked
def package_folder(folder: str | os.PathLike[str]) -> Path:
    """The package that `folder` is, or the only one that it holds."""
    root = Path(folder).resolve()
    if not root.is_dir():
        raise ValueError("there is no such folder")
    if (root / _SIGN).is_file():
        return root
    found = [*root.glob(f"*/{_SIGN}"), *root.glob(f"src/*/{_SIGN}")]
    if not found:
        raise ValueError(f"there is no {_SIGN} in the folder")
    if len(found) > 1:
        names = ", ".join(sorted(path.parent.name for path in found))
        raise ValueError(
            f"the folder holds several packages ({names}): name one of them"
        )
    return found[0].parent


@checked
def importable(package: Path) -> str:
    """Let this process, and those that it starts, import a package; its name."""
    name = package.name
    if not name.isidentifier():
        raise ValueError(f"its name {name!r} is no name of a Python package")
    if _location(name) != package:
        # Last, so that nothing beside the package hides a library. Before it, there may
        # be a mere folder of this name: a package wins over that.
        sys.path.append(str(package.parent))
        importlib.invalidate_caches()
    found = _location(name)
    if found != package:
        sys.path.remove(str(package.parent))
        raise ValueError(
            f"the name of the package, {name}, is taken by {found}: rename the folder"
        )
    return name


def make_named_importable() -> None:
    """What `importable` does, for the folders that the environment names."""
    for folder in named_folders():
        # Whether anything is missing is seen, and said, by who needs it.
        with contextlib.suppress(ValueError):
            importable(package_folder(folder))


def _location(name: str) -> Path | None:
    """Folder of a top-level package, or the file of a module; None if there is none."""
    try:
        spec = importlib.util.find_spec(name)
    except ValueError:
        return None
    if spec is None:
        return None
    for place in spec.submodule_search_locations or ():
        return Path(place).resolve()
    return Path(spec.origin or name)
