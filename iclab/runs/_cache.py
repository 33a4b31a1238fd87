"""What can be made again but takes time, kept where only its user can write.

Compiled programs are machine code that JAX loads and runs. So they never lie in a
folder of results, which one sends to a colleague, but in one of the user's own.
"""

import contextlib
import functools
import glob
import hashlib
import json
import os
import platform
import re
import stat
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import platformdirs

from iclab._files import is_draft, read_inside, write_whole
from iclab._reader import Whole, checked, is_json, require, short
from iclab.runs._environment import usable_cores
from iclab.runs._events import EngineProblem
from iclab.runs._provenance import versions

# Bytes that stay after a run: several times what all of iclab compiles.
LIMIT = 2 << 30

_TAG = "CACHEDIR.TAG"
_SIGNATURE = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# Made by iclab: `iclab cache clear` empties this folder.\n"
)
_PROGRAMS, _NOTES = "programs", "notes"
# Programs as JAX names them, notes, and drafts of notes.
_OURS = re.compile(
    r".*-[0-9a-f]{64}-(cache|atime)|\.lockfile|[0-9a-f]{64}\.json|\..*\.[0-9a-f]{8}\.draft"
)
# Where JAX keeps compiled programs.
CACHE_FOLDER = "JAX_COMPILATION_CACHE_DIR"
# What JAX warns of, with the name of a program that it could not read.
_TROUBLE = re.compile(
    r"Error (?:reading persistent compilation cache entry for '(?P<name>[^']+)'"
    r"|.*persistent compilation cache)"
)


@checked
class Cache:
    """A folder for compiled programs and notes, private to its user.

    By default it is what the variable ICLAB_CACHE names, or where the system keeps
    caches. What others can write is refused: they could put programs there.
    """

    def __init__(self, root: str | os.PathLike[str] | None = None):
        if root is None:
            standard = platformdirs.user_cache_dir("iclab", appauthor=False)
            root = os.environ.get("ICLAB_CACHE") or standard
        self.root = Path(root).absolute()
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._refuse_what_is_not_ours()
            write_whole(self.root / _TAG, _SIGNATURE)
            for name in (_PROGRAMS, _NOTES):
                (self.root / name).mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            reason = error.strerror or str(error)
            raise EngineProblem(f"cannot use the cache {self.root}: {reason}") from None

    @property
    def programs(self) -> Path:
        """Compiled programs for this iclab, this JAX and this kind of processor."""
        known = versions()
        made_for = [known[name] or "unknown" for name in ("iclab", "jax", "jaxlib")]
        return self.root / _PROGRAMS / "-".join([*made_for, _processor()])

    @property
    def threaded_programs(self) -> Path:
        """Those of a process that computes on all cores that it may use.

        JAX loads a program that was compiled for one core on two, where it stays slow.
        """
        return self.programs / f"{usable_cores()}-cores"

    def note(self, key: str) -> Any:
        """A JSON value that was kept under `key`, None if there is none."""
        with contextlib.suppress(OSError, ValueError):
            return json.loads(self._note(key).read_text(encoding="utf-8"))
        return None

    def keep(self, key: str, value: Any) -> None:
        """Keep a JSON value under `key`; where that cannot be done, nothing is lost."""
        path = self._note(key)
        require(is_json(value), "value", "plain JSON", short(value))
        with contextlib.suppress(OSError):
            if path.parent.is_dir():  # a new one would not be private
                write_whole(path, json.dumps(value))

    @property
    def size(self) -> int:
        """Bytes in all files."""
        return sum(size for *_, size in self._files())

    def trim(self, limit: Whole = LIMIT) -> None:
        """Remove what was used longest ago until at most `limit` bytes are left."""
        files = sorted(self._files())
        left = sum(size for *_, size in files)
        for _, path, size in files:
            if left <= limit:
                return
            with contextlib.suppress(OSError):
                path.unlink()
                left -= size

    def clear(self) -> int:
        """Remove every program and note; returns how many bytes that were."""
        before = self.size
        self.trim(0)
        for name in (_PROGRAMS, _NOTES):
            for folder, _, _ in os.walk(self.root / name, topdown=False):
                with contextlib.suppress(OSError):  # something else is in it
                    os.rmdir(folder)
        return before - self.size

    def _note(self, key: str) -> Path:
        name = hashlib.sha256(key.encode()).hexdigest()
        return self.root / _NOTES / f"{name}.json"

    def _files(self) -> Iterator[tuple[float, Path, int]]:
        """When each file was last used, as far as that is known; the file; its size.

        Only those that have names as we and JAX give them: others are not ours.
        """
        for name in (_PROGRAMS, _NOTES):
            for folder, _, files in os.walk(self.root / name):
                for file in filter(_OURS.fullmatch, files):
                    path = Path(folder, file)
                    with contextlib.suppress(OSError):
                        facts = path.lstat()
                        used = max(facts.st_atime, facts.st_mtime)
                        yield used, path, facts.st_size

    def _refuse_what_is_not_ours(self) -> None:
        # The tag is there before anything else of ours: look for it last.
        ours, tag = all(map(is_draft, list(self.root.iterdir()))), b""
        with contextlib.suppress(FileNotFoundError):
            tag = read_inside(self.root, _TAG)
        if not ours and tag != _SIGNATURE.encode():
            reason = "there is something else in it; name an empty or a new folder"
            raise EngineProblem(f"cannot use {self.root} as a cache: {reason}")
        if os.name != "posix":
            return
        for path in (self.root, self.root / _PROGRAMS, self.root / _NOTES):
            with contextlib.suppress(FileNotFoundError):
                facts = path.lstat()
                mine = stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.geteuid()
                if not mine or facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                    reason = "others can write there, and it holds programs"
                    remedy = f"`chmod -R go-w {path}` if it is yours, or `--cache DIR`"
                    raise EngineProblem(f"will not use {path}: {reason}; {remedy}")


# Every program, whatever its size and time: small ones are many, and reading one is far
# quicker than compiling it.
_EVERY_PROGRAM = {
    "jax_persistent_cache_min_compile_time_secs": 0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}


def compilation_cache(folder: Path) -> dict[str, str]:
    """Variables for processes that keep their programs in `folder`."""
    every = {name.upper(): str(value) for name, value in _EVERY_PROGRAM.items()}
    return {CACHE_FOLDER: str(folder.absolute()), **every}


def replace_damaged(folder: Path) -> None:
    """Let this process remove damaged programs in `folder` when it meets them.

    A process that is killed while it writes one leaves a part of it. JAX warns of that,
    compiles the program, and leaves the part in its place: so it would be compiled in
    every run from then on. Sound ones of the same name go too, and are written again.
    """
    show = warnings.showwarning

    def removed(message: Warning | str, *rest: Any, **more: Any) -> None:
        found = _TROUBLE.match(str(message))
        if found is None:
            show(message, *rest, **more)
        elif found["name"] is not None:
            for path in folder.glob(f"{glob.escape(found['name'])}-*-cache"):
                with contextlib.suppress(OSError):
                    path.unlink()

    warnings.filterwarnings("always", "Error .*persistent compilation cache")
    warnings.showwarning = removed


def keep_programs(cache: Cache) -> None:
    """Let this process keep what it compiles from now on, and read what there is."""
    import jax

    cache.trim()
    replace_damaged(cache.threaded_programs)
    jax.config.update("jax_compilation_cache_dir", str(cache.threaded_programs))
    for name, value in _EVERY_PROGRAM.items():
        jax.config.update(name, value)


@functools.cache
def _processor() -> str:
    """A name for this machine's kind of processor: others cannot run its programs."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = [platform.processor()]
    kinds = ("vendor_id", "cpu family", "model", "flags", "Features", "CPU ")
    facts = sorted({line for line in lines if line.startswith(kinds)})
    digest = hashlib.sha256("\n".join(facts or lines).encode()).hexdigest()
    return f"{platform.machine()}-{digest[:12]}"
