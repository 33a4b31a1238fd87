"""Which functions of `iclab.theory` a result calls, read without importing it."""

import ast
from collections.abc import Iterator
from pathlib import Path

_THEORY = "iclab.theory"


def theory_calls(file: Path, package: str) -> tuple[str, ...]:
    """Functions of `iclab.theory` behind a claim's prediction, or a figure's tables.

    Names are followed through the file and through others of its package; what an
    object's methods call is not seen.
    """
    top = _Names(file, package)
    starts = [name for name in ("predict", "compute", "CLAIM") if name in top.nodes]
    found: dict[str, None] = {}
    seen: set[tuple[Path, str]] = set()
    waiting = [(top, name) for name in starts]
    while waiting:
        names, name = waiting.pop(0)
        if (names.file, name) in seen:
            continue
        seen.add((names.file, name))
        if name in names.theory:
            found[names.theory[name]] = None
        elif name in names.nodes:
            waiting += [(names, one) for one in _used(names.nodes[name])]
        elif name in names.elsewhere:
            other, own = names.elsewhere[name]
            waiting.append((_Names(other, package), own))
    return tuple(found)


class _Names:
    """What the names at the top of a file stand for."""

    def __init__(self, file: Path, package: str):
        self.file = file
        self.nodes: dict[str, ast.AST] = {}
        self.theory: dict[str, str] = {}
        self.elsewhere: dict[str, tuple[Path, str]] = {}
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                self.nodes[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self.nodes[node.targets[0].id] = node.value
            elif isinstance(node, ast.ImportFrom):
                self._imported(node, package)

    def _imported(self, node: ast.ImportFrom, package: str) -> None:
        module = node.module or ""
        local = module.removeprefix(f"{package}.") if not node.level else module
        beside = self.file.with_name(f"{local}.py")
        for alias in node.names:
            name = alias.asname or alias.name
            if module == _THEORY:
                self.theory[name] = alias.name
            elif (node.level == 1 or module != local) and beside.is_file():
                self.elsewhere[name] = beside, alias.name


def _used(node: ast.AST) -> Iterator[str]:
    """Names in a piece of code, in its order, but for those of its annotations."""
    if isinstance(node, ast.Name):
        yield node.id
    for field, child in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        for one in child if isinstance(child, list) else [child]:
            if isinstance(one, ast.AST):
                yield from _used(one)
