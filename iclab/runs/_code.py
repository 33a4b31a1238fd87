"""The source that a job can reach, as one hash.

Imports are read, not run. A change in any file below a job's own module gives the job a
new name, wherever the file lies: in the same package, beside it, in iclab. Libraries
are not read: those that iclab needs are in a result's manifest, and of any other the
version counts.
"""

import ast
import functools
import hashlib
import importlib.metadata
import importlib.util
import re
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Annotated, NamedTuple

from iclab._reader import Rule, checked

_OWN = __name__.partition(".")[0]
_STANDARD = Path(sysconfig.get_path("stdlib"))
_INSTALLED = {"site-packages", "dist-packages"}

# A module that has `__computes__ = False` at its top level (one that draws, or only
# gives others their names) is no part of what a job reaches, nor is what it imports.
_MARK = "__computes__"

_ATTRIBUTES = re.compile(r"(?<![\w.])([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*)+)")
_BY_NAME = re.compile(r"""import(?:_module|__)\(\s*["'](\.*)([\w.]+)["']""")

# What files import and whether they compute, by their content and their package. To
# parse all files takes longer than to read them.
PARSED: dict[str, tuple[tuple[str, ...], bool]] = {}

_MODULE = re.compile(r"\w+(\.\w+)*")
Modules = Annotated[
    tuple[str, ...],
    Rule(
        "names of modules as package.module", lambda n: all(map(_MODULE.fullmatch, n))
    ),
]


def reread_sources() -> None:
    """Forget the files that were read: for a new run in a process that lives long."""
    for cached in (_digest, _source, _spec, _library):
        cached.cache_clear()
    importlib.invalidate_caches()


@checked
def code_digest(modules: Modules, *, drawing: bool = False) -> str:
    """Hash of the sources of `modules` and of all that they import.

    With `drawing`, also of what computes nothing.
    """
    return _digest(modules, drawing)


@functools.cache
def _digest(modules: tuple[str, ...], drawing: bool) -> str:
    seen: dict[str, bytes] = {}
    pending = list(modules)
    for name in modules:
        if _source(name) is None:
            raise ModuleNotFoundError(f"Job: there is no module {name}", name=name)
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        source = _source(name)
        if source is None:
            seen[name] = b""  # a name inside a module, or a module that is not there
        elif drawing or source.computes:
            seen[name] = source.digest
            pending += source.imports
    digest = hashlib.sha256()
    for name in sorted(seen):
        if seen[name]:
            digest.update(f"{name}\0".encode() + seen[name])
    return digest.hexdigest()


class _Source(NamedTuple):
    digest: bytes
    imports: tuple[str, ...] = ()
    computes: bool = True


# Python's own, or a library: it exists, and there is nothing to hash.
_OF_OTHERS = _Source(b"")


@functools.cache
def _source(module: str) -> _Source | None:
    """What there is to know of a module, found without importing it."""
    spec = _spec(module)
    if spec is None:
        return None
    if spec.origin in (None, "built-in", "frozen"):
        # A folder without `__init__.py`, or a part of Python.
        return _OF_OTHERS
    assert spec.origin is not None
    path = Path(spec.origin)
    if not _INSTALLED & set(path.parts):
        if path.is_relative_to(_STANDARD):
            return _OF_OTHERS
    elif (version := _library(module.partition(".")[0])) is not None:
        return _Source(version)
    content = path.read_bytes()
    digest = hashlib.sha256(content).digest()
    package = module if spec.submodule_search_locations else _parent(module)
    key = f"{digest.hex()} {package}"
    if key not in PARSED:
        try:
            tree = ast.parse(content)
        except (SyntaxError, ValueError):  # an extension, or an error when it is run
            return _Source(digest)
        text = content.decode(errors="replace")
        PARSED[key] = tuple({*_imports(tree, text, package)}), _computes(tree)
    imports, computes = PARSED[key]
    return _Source(digest, (*imports, *_before(module)), computes)


@functools.cache
def _spec(module: str) -> ModuleSpec | None:
    """Where a module is; its packages are looked up, not run."""
    parent = _parent(module)
    if not parent:
        try:
            return importlib.util.find_spec(module)
        except ValueError:  # made by hand, or the program itself
            return None
    found = _spec(parent)
    places = list((found and found.submodule_search_locations) or ())
    for finder in sys.meta_path if places else ():
        try:
            spec = finder.find_spec(module, places)
        except KeyError:  # a folder without `__init__.py` in another, not yet imported
            spec = ModuleSpec(module, None, is_package=True)
            name = module.rpartition(".")[2]
            spec.submodule_search_locations = [f"{place}/{name}" for place in places]
        if spec is not None:
            return spec
    return None


def _parent(module: str) -> str:
    return module.rpartition(".")[0]


def _before(module: str) -> Iterator[str]:
    """Packages that Python runs before a module.

    Those of iclab only give names to what is in them.
    """
    while (module := _parent(module)) and module.partition(".")[0] != _OWN:
        yield module


def _imports(tree: ast.Module, text: str, package: str) -> Iterator[str]:
    """Names that a file imports, modules or not."""
    packages: dict[str, str] = {}
    for node in _statements(tree.body):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
                first = alias.name.partition(".")[0]
                packages[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom):
            # `from a.b import c`: c is a name in a.b or a module of its own.
            origin = _absolute(node.module, package, node.level)
            yield origin
            for alias in node.names:
                yield f"{origin}.{alias.name}"
                packages[alias.asname or alias.name] = f"{origin}.{alias.name}"
    # `import a`, then `a.b.c`: a package may load b when it is asked for it.
    for first, rest in set(_ATTRIBUTES.findall(text)):
        name = packages.get(first, "")
        for word in rest[1:].split(".") if name else ():
            name = f"{name}.{word}"
            yield name
    for dots, name in _BY_NAME.findall(text):
        yield _absolute(name, package, len(dots))


def _statements(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """All statements, those inside others too; expressions import nothing."""
    pending = list(body)
    while pending:
        node = pending.pop()
        yield node
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            inside = getattr(node, part, ())
            pending += inside if isinstance(inside, list) else ()


def _absolute(module: str | None, package: str, level: int) -> str:
    """The module that `from ..module import` names inside `package`."""
    try:
        return importlib.util.resolve_name("." * level + (module or ""), package)
    except ImportError:  # beyond the outermost package
        return ""


def _computes(tree: ast.Module) -> bool:
    return not any(
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and ast.unparse(node) == f"{_MARK} = False"
        for node in tree.body
    )


@functools.cache
def _library(package: str) -> bytes | None:
    """What names an installed package without reading it; None if it is to be read.

    Read are iclab and what is built on it, as another's papers are.
    """
    if package == _OWN:
        return None
    names = _distributions(package)
    needed = {name for one in names for name in _requirements(one)}
    if not names or _OWN in needed:
        return None
    if _below_iclab() & set(names):
        return b""
    known = [f"{name} {importlib.metadata.version(name)}" for name in sorted(names)]
    return ", ".join(known).encode()


def _distributions(package: str) -> list[str]:
    try:
        return [_normal(importlib.metadata.distribution(package).name)]
    except importlib.metadata.PackageNotFoundError:
        return sorted(set(map(_normal, _packages().get(package, ()))))


@functools.cache
def _packages() -> dict[str, Sequence[str]]:
    return dict(importlib.metadata.packages_distributions())


@functools.cache
def _below_iclab() -> frozenset[str]:
    """Distributions that iclab needs, and those that they need."""
    found: set[str] = set()
    pending = [_OWN]
    while pending:
        for name in _requirements(pending.pop()):
            if name not in found:
                found.add(name)
                pending.append(name)
    return frozenset(found)


@functools.cache
def _requirements(distribution: str) -> tuple[str, ...]:
    """Names that a distribution requires, without those of its extras."""
    try:
        required = importlib.metadata.requires(distribution) or ()
    except importlib.metadata.PackageNotFoundError:
        return ()
    return tuple(
        _normal(re.split(r"[^A-Za-z0-9._-]", text)[0])
        for text in required
        if not re.search(r";.*\bextra\b", text)
    )


def _normal(name: str) -> str:
    """A distribution's name as all that mean it are written."""
    return re.sub(r"[-_.]+", "-", name).lower()
