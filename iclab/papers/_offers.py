"""Papers that installed packages offer."""

import os
import sys
from importlib.machinery import PathFinder

# Installed packages offer papers under this name, a package's name for each.
GROUP = "iclab.papers"
_FILES = (".dist-info", "egg-info")


def offered_by_packages() -> list[tuple[str, str]]:
    """Package of every paper that is offered, and the name of what offers it."""
    if not _somebody_may():
        return []
    import importlib.metadata

    points = importlib.metadata.entry_points(group=GROUP)
    return [
        (point.value, point.dist.name if point.dist is not None else point.value)
        for point in sorted(points, key=lambda point: (point.name, point.value))
    ]


def _somebody_may() -> bool:
    """Whether Python's own reader of packages is worth its loading time.

    It takes longer than all else that `iclab list` does, and it could find nothing if
    no file in which a package lists its offers has the name of ours. Packages that are
    kept in any other way than in folders are left to it.
    """
    kept_otherwise = [
        finder
        for finder in sys.meta_path
        if hasattr(finder, "find_distributions") and finder is not PathFinder
    ]
    return bool(kept_otherwise) or any(map(_in_folder, dict.fromkeys(sys.path)))


def _in_folder(folder: str) -> bool:
    group = f"[{GROUP}]".encode()
    try:
        with os.scandir(folder or ".") as found:
            packages = [one.path for one in found if one.name.lower().endswith(_FILES)]
    except FileNotFoundError:
        return False
    except OSError:  # an archive, or a folder that cannot be listed
        return True
    for package in packages:
        try:
            with open(os.path.join(package, "entry_points.txt"), "rb") as file:
                if group in file.read():
                    return True
        except OSError:  # most offer nothing
            continue
    return False
