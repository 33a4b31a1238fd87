"""The papers: where they come from, and what must be true of one.

A paper is a package with `contents.py` (its `PAPER` and its `ENTRIES`) and a file for
every entry. Papers come with iclab, with installed packages, and from folders that the
user names; all are opened in the same way. Nothing that is read from a folder of
results ever chooses one.
"""

import functools
import importlib
import importlib.util
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from iclab._reader import checked, read
from iclab.evidence import Entry, Paper, file_stem, is_key
from iclab.papers._offers import offered_by_packages
from iclab.runs import VARIABLE, importable, named_folders, package_folder

_BUILT_IN = ("zhang2023", "ahn2023", "yang2024", "gatmiry2024", "findings")

_TAIL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# Pages of a report that are no paper's.
TAKEN = ("index", "errata")


class PaperProblem(ValueError):
    """What is wrong with a paper, in a line that names it."""


@checked
@dataclass(frozen=True)
class OpenPaper:
    """A paper, its table of contents, and the package that has a file for each entry.

    `recipes` are models that `iclab train` trains: the module of each, by id. `origin`
    says where the paper comes from, and `flag` is what a command needs to find it.
    """

    paper: Paper
    entries: tuple[Entry, ...]
    recipes: Mapping[str, str] = field(repr=False)
    package: str
    folder: Path
    origin: str
    flag: str = ""

    @property
    def key(self) -> str:
        """Name of the paper: the first half of every id."""
        return self.paper.key

    def file(self, entry: Entry) -> Path:
        """The file of an entry."""
        return self.folder / file_name(entry.base)

    def module(self, entry: Entry) -> str:
        """The module of an entry: `zhang2023/theorem-4.1` is in `theorem_4_1`."""
        return f"{self.package}.{file_stem(entry.id)}"


def every_paper() -> tuple[OpenPaper, ...]:
    """Every paper: those of iclab, of installed packages, of folders that were named.

    A paper that cannot be opened is left out, and `paper_problems` says why.
    """
    return _opened()[0]


def paper_problems() -> tuple[str, ...]:
    """What is wrong with the papers that `every_paper` leaves out, a line for each."""
    return tuple(text for _, text in _opened()[1])


@checked
def why_closed(word: str) -> str | None:
    """Why the paper of an id or a key could not be opened; None if none is known of."""
    name = package_name(word.partition("/")[0])
    return next((text for folder, text in _opened()[1] if folder == name), None)


@checked
def open_papers(folders: Iterable[str | os.PathLike[str]]) -> tuple[str, ...]:
    """Add papers that are folders, as `--paper` does; gives `paper_problems`.

    Opening a paper imports its `contents.py`, and running it runs its code: name
    folders that you trust.
    """
    for folder in [os.fspath(one) for one in folders]:
        if folder not in _named:
            _named.append(folder)
            _opened.cache_clear()
    return paper_problems()


@checked
def open_papers_here(words: Iterable[str]) -> tuple[str, ...]:
    """Add papers that ids or keys name and that are folders here; gives their folders.

    Of a key that no paper has, `key` in the current folder is opened, or the current
    folder itself if it holds the package of that name. This runs code, as `open_papers`
    does: whoever types the name of a folder means it.
    """
    found = []
    known = {opened.key for opened in every_paper()}
    for key in dict.fromkeys(word.partition("/")[0] for word in words):
        folder = None if key in known else _here(key)
        if folder is not None and folder not in _here_folders:
            _here_folders.append(folder)
            found.append(folder)
    if found:
        _opened.cache_clear()
    return tuple(found)


def _here(key: str) -> str | None:
    """The folder in which the paper of a key is written, as `iclab new` does it."""
    if not is_key(key):
        return None
    for folder in (key, os.curdir):
        try:
            if package_folder(folder).name == package_name(key):
                return folder
        except ValueError:
            continue
    return None


@checked
def package_name(key: str) -> str:
    """The package in which `iclab new` writes a paper."""
    return key.replace("-", "_")


_named: list[str] = []
_here_folders: list[str] = []


@functools.cache
def _opened() -> tuple[tuple[OpenPaper, ...], tuple[tuple[str, str], ...]]:
    """Every paper, and of those that cannot be opened the package and the reason."""
    found: dict[str, OpenPaper] = {}
    problems: list[tuple[str, str]] = []
    folders: set[Path] = set()
    for package, origin, flag in _offered(problems):
        try:
            folder = _folder(package, origin)
            if folder in folders:
                continue  # installed, and named once more
            folders.add(folder)
            opened = _open(package, folder, origin, flag)
        except PaperProblem as problem:
            problems.append((package.rpartition(".")[2], str(problem)))
            continue
        if opened.key in found:
            raise PaperProblem(
                f"two papers have the key {opened.key}: that of"
                f" {found[opened.key].origin} and that of {origin}; leave one out"
            )
        found[opened.key] = opened
    return tuple(found.values()), tuple(problems)


def _offered(problems: list[tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    """Package, origin and flag of every paper that there may be."""
    for name in _BUILT_IN:
        yield f"{__package__}.{name}", "iclab", ""
    for package, owner in offered_by_packages():
        yield package, f"the package {owner}", ""
    environment = [(folder, VARIABLE, "") for folder in named_folders()]
    flags = [(folder, "named", f"--paper {folder}") for folder in _named]
    here = [(folder, "here", "") for folder in _here_folders]
    for folder, by, flag in [*environment, *flags, *here]:
        origin = f"{folder} ({by})"
        try:
            yield importable(package_folder(folder)), origin, flag
        except ValueError as reason:
            text = f"the paper {origin} cannot be opened: {reason}"
            problems.append((Path(folder).resolve().name, text))


def _folder(package: str, origin: str) -> Path:
    """Where a package is; this runs its `__init__.py`, as every import of it does."""
    try:
        spec = importlib.util.find_spec(package)
        if spec is not None:
            importlib.import_module(package)
    except Exception as error:
        raise _unopened(package, origin, error) from None
    if spec is None or not spec.submodule_search_locations:
        reason = f"{package} is no package"
        raise PaperProblem(f"the paper of {origin} cannot be opened: {reason}")
    return Path(next(iter(spec.submodule_search_locations))).resolve()


def _open(package: str, folder: Path, origin: str, flag: str) -> OpenPaper:
    """Read a paper's contents and see that its files are what they say."""
    try:
        contents = importlib.import_module(f"{package}.contents")
        paper, entries, recipes = _contents(contents)
        recipes = recipes or {}
        opened = OpenPaper(paper, entries, recipes, package, folder, origin, flag)
        _check(opened)
    except Exception as error:
        raise _unopened(package, origin, error) from None
    return opened


def _unopened(package: str, origin: str, error: Exception) -> PaperProblem:
    kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
    reason = " ".join(str(error).split())
    name = package.rpartition(".")[2]
    said = f"{kind}{reason}{_place(error, name)}"
    return PaperProblem(f"the paper {name} of {origin} cannot be opened: {said}")


def _place(error: Exception, package: str) -> str:
    """The line of a paper's own code where an error was last; "" if it never was."""
    import traceback  # for mistakes only

    frames = traceback.extract_tb(error.__traceback__)
    own = [one for one in frames if Path(one.filename).parent.name == package]
    return f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""


def _contents(module: ModuleType) -> tuple[Any, ...]:
    """The paper, the entries and the recipes that a `contents.py` has."""
    wanted = {
        "PAPER": Paper,
        "ENTRIES": tuple[Entry, ...],
        "RECIPES": Mapping[str, str] | None,
    }
    try:
        return tuple(read(vars(module).get(n), wanted[n], n) for n in wanted)
    except ValueError as wrong:
        raise ValueError(f"contents.py: {wrong}") from None


def _check(opened: OpenPaper) -> None:
    """See that ids, files and contents agree, one to one."""
    key = opened.key
    if key in TAKEN:
        raise ValueError(f"the key of a paper cannot be {key}")
    for id in [*(entry.id for entry in opened.entries), *opened.recipes]:
        first, _, tail = id.partition("/")
        if first != key or not _TAIL.fullmatch(tail):
            raise ValueError(f"the id {id!r} must look like {key}/theorem-1.2")
    stems = {entry.id: file_stem(entry.id) for entry in opened.entries}
    _once([entry.id for entry in opened.entries], "contents.py has {} twice")
    _once(list(stems.values()), "two ids in contents.py have the same file {}.py")
    files = {path.stem for path in opened.folder.glob("*.py")}
    for id, stem in stems.items():
        if stem not in files:
            raise ValueError(f"contents.py has {id}, and there is no file {stem}.py")
    for stem in sorted(files - set(stems.values()) - {"contents"}):
        if stem[0] != "_":
            remedy = f"add its entry, or call it _{stem}.py"
            raise ValueError(f"{stem}.py is not in contents.py: {remedy}")
    for id, name in opened.recipes.items():
        if name not in files:
            raise ValueError(f"RECIPES has {id}, and there is no file {name}.py")


def _once(words: Sequence[str], message: str) -> None:
    for word, count in Counter(words).items():
        if count > 1:
            raise ValueError(message.format(word))


@checked
def is_id(word: str) -> bool:
    """Whether a word can be an id: `key/theorem-1.2`."""
    key, _, tail = word.partition("/")
    return is_key(key) and _TAIL.fullmatch(tail) is not None


@checked
def file_name(id: str) -> str:
    """The file of an id in its paper's folder."""
    return f"{file_stem(id)}.py"
