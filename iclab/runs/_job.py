"""A job: a pure function of its configuration and seed, and the hash that names it."""

import ast
import functools
import hashlib
import importlib
import importlib.util
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

# What a job returns: arrays and plain JSON values, by name.
Result = Mapping[str, Any]


@dataclass(frozen=True)
class Job:
    """A unit of work that any process or machine can do.

    `function` is "package.module:name" of a function `(config, seed) -> Result`, and
    `config` holds plain JSON values only. `code` names the modules, besides that of
    `function`, whose source decides the result.
    """

    function: str
    config: Mapping[str, Any]
    seed: int = 0
    code: tuple[str, ...] = ()
    label: str = field(default="", compare=False)

    @functools.cached_property
    def digest(self) -> str:
        """Hash of configuration, seed and code: the name of the job's result."""
        modules = (self.function.partition(":")[0], *self.code)
        parts = {
            "function": self.function,
            "config": self.config,
            "seed": self.seed,
            "code": code_digest(modules),
        }
        text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def run(self) -> Result:
        """Do the work here and now."""
        module, _, name = self.function.partition(":")
        function: Callable[[Mapping[str, Any], int], Result]
        function = getattr(importlib.import_module(module), name)
        return function(self.config, self.seed)


def plain_result(result: Result) -> dict[str, Any]:
    """A result as the store gives it back: NumPy arrays and plain JSON values."""
    found: dict[str, Any] = {}
    for name, value in result.items():
        if isinstance(value, Mapping) or not hasattr(value, "__array__"):
            found[name] = json.loads(json.dumps(value))
            continue
        found[name] = np.asarray(value)
        if found[name].dtype.hasobject:
            raise TypeError(
                f"job result `{name}` must hold numbers, got Python objects"
            )
    return found


@functools.cache
def code_digest(modules: tuple[str, ...]) -> str:
    """Hash of the sources of `modules` and of all that they import from their package.

    Imports are read, not run, so a change anywhere below a job's own module gives the
    job a new name, and a change elsewhere does not.
    """
    seen: dict[str, bytes] = {}
    pending = list(modules)
    while pending:
        name = pending.pop()
        source = None if name in seen else _source(name)
        if source is not None:
            seen[name] = source.digest
            pending += source.imports
    digest = hashlib.sha256()
    for name in sorted(seen):
        digest.update(f"{name}\0".encode() + seen[name])
    return digest.hexdigest()


class _Source(NamedTuple):
    digest: bytes
    imports: tuple[str, ...]


@functools.cache
def _source(module: str) -> _Source | None:
    """A module's file, found without importing it; None for any other name."""
    path = _path(module)
    if path is None:
        return None
    content = path.read_bytes()
    imports = _imports(ast.parse(content), module.partition(".")[0])
    return _Source(hashlib.sha256(content).digest(), imports)


def _path(module: str) -> Path | None:
    top, *rest = module.split(".")
    spec = importlib.util.find_spec(top)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent.joinpath(*rest)
    for candidate in (path.with_name(f"{path.name}.py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def _imports(tree: ast.AST, package: str) -> tuple[str, ...]:
    """Names of the same top-level package that a file imports, modules or not."""
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            # `from a.b import c`: c is a name in a.b or a module of its own.
            found.append(node.module)
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return tuple(name for name in found if name.partition(".")[0] == package)
