"""Which definitions a piece of code leads to: names, read without importing them."""

import ast
import functools
from collections.abc import Iterable, Iterator
from pathlib import Path

# A module and a name at its top; imported names lead on to where they are defined.
Node = tuple[str, str]

_THEORY = "iclab.theory"
# What runs the real thing.
_REAL = tuple(
    f"iclab.{one}."
    for one in ("models", "tasks", "algorithms", "training", "evaluation", "probes")
)
_HOME = Path(__file__).resolve().parent.parent


def definitions_behind(
    *starts: Node, folder: Path | None = None, within: str = ""
) -> dict[Node, int]:
    """Every definition that some lead to, nearest first, and how many steps away it is.

    Names that a package only passes on are no step, and annotations lead nowhere. What
    an object's methods call is that of its class. `folder` is that of the starts'
    package where it is not iclab's. Modules whose names do not begin like `within` are
    not looked into.
    """
    roots = {start[0].partition(".")[0]: folder or _HOME for start in starts}
    known: dict[Node, int] = {}
    waiting = [(start, 0) for start in starts]
    while waiting:
        later: list[tuple[Node, int]] = []
        for node, steps in waiting:
            if node in known or not node[0].startswith(within):
                continue
            module = _module(node[0], roots.get(node[0].partition(".")[0], _HOME))
            if module is None:
                continue
            defined = node[1] in module.definitions
            if defined:
                known[node] = steps
            (later if defined else waiting).extend(
                (one, steps + defined) for one in module.mentioned(node[1])
            )
        waiting = later
    return known


def theory_calls(file: Path, package: str) -> tuple[str, ...]:
    """Functions of `iclab.theory` behind a claim's prediction, or a figure's tables.

    Those that the paper's own code names, not what they are made of.
    """
    own = _behind(file, package, "predict", "compute", "CLAIM", within=package)
    root = _HOME if package.startswith(f"{_HOME.name}.") else file.parent
    found: dict[str, None] = {}
    for module, name in own:
        source = _module(module, root)
        assert source is not None
        called = source.mentioned(name)
        found |= {other: None for where, other in called if where == _THEORY}
    return tuple(found)


def theory_of_both(file: Path, package: str) -> dict[str, frozenset[str]]:
    """Definitions of `iclab.theory` that `predict` and `measure` both lead to.

    Only where the two ways meet, each with the names of all that it is made of.
    """
    predicted, measured = (
        _behind(file, package, one) for one in ("predict", "measure")
    )
    return _where_they_meet(
        node for node in predicted if node in measured and node[0].startswith(_THEORY)
    )


def run_by_decoy(file: Path, package: str) -> dict[str, frozenset[str]]:
    """What runs the real thing for `measure` and for `decoy`, but not for `predict`.

    As in `theory_of_both`; `measure` itself if `decoy` calls it.
    """
    predicted, measured, decoy = (
        _behind(file, package, one) for one in ("predict", "measure", "decoy")
    )
    if (f"{package}.{file.stem}", "measure") in decoy:
        return {"measure": frozenset()}
    return _where_they_meet(
        node
        for node in decoy
        if node in measured and node not in predicted and node[0].startswith(_REAL)
    )


def _where_they_meet(nodes: Iterable[Node]) -> dict[str, frozenset[str]]:
    """Those that no other one leads to, with the names of what they are made of."""
    common = list(nodes)
    below = {node: {*definitions_behind(node)} - {node} for node in common}
    inner = {
        part
        for node in common
        for part in below[node] & set(common)
        if node not in below[part]
    }
    return {
        node[1]: frozenset(name for _, name in below[node])
        for node in common
        if node not in inner
    }


def _behind(file: Path, package: str, *names: str, within: str = "") -> dict[Node, int]:
    root = None if package.startswith(f"{_HOME.name}.") else file.parent
    starts = [(f"{package}.{file.stem}", name) for name in names]
    return definitions_behind(*starts, folder=root, within=within)


class _Module:
    """What the names at the top of a file stand for, and what each mentions."""

    def __init__(self, name: str, file: Path):
        self.name = name
        self.package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        self.definitions: dict[str, list[ast.AST]] = {}
        self.imports: dict[str, Node] = {}
        self._mentioned: dict[str, tuple[Node, ...]] = {}
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                self.definitions[node.name] = [node]
            elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value:
                targets = (
                    node.targets if isinstance(node, ast.Assign) else [node.target]
                )
                for one in (one for target in targets for one in ast.walk(target)):
                    if isinstance(one, ast.Name):
                        self.definitions.setdefault(one.id, []).append(node.value)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                source = self._absolute(node)
                for alias in node.names:
                    self.imports[alias.asname or alias.name] = source, alias.name
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.asname:
                        self.imports[alias.asname] = alias.name, ""

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.package.split(".")
        parts = parts[: len(parts) - node.level + 1]
        return ".".join([*parts, *([node.module] if node.module else [])])

    def mentioned(self, name: str) -> tuple[Node, ...]:
        """What a definition names, or where a name comes from that it only imports."""
        if name not in self._mentioned:
            self._mentioned[name] = tuple(self._found(name))
        return self._mentioned[name]

    def _found(self, name: str) -> Iterator[Node]:
        if name not in self.definitions:
            if name in self.imports:
                yield self.imports[name]
            return
        for node in self.definitions[name]:
            for one, attribute in _names(node):
                if one in self.definitions and one != name:
                    yield self.name, one
                elif one in self.imports:
                    source, own = self.imports[one]
                    yield source, own
                    if attribute:  # perhaps a module
                        yield f"{source}.{own}".rstrip("."), attribute


@functools.cache
def _module(name: str, root: Path) -> _Module | None:
    """A module of iclab, or of the package in a folder; None for any other."""
    top, *rest = name.split(".")
    if root == _HOME and top != _HOME.name:
        return None
    path = root.joinpath(*rest)
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return _Module(name, file)
    return None


def _names(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Names in a piece of code, in its order, each with the attribute asked of it."""
    if isinstance(node, ast.Name):
        yield node.id, ""
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        yield node.value.id, node.attr
        return
    for field, child in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        for one in child if isinstance(child, list) else [child]:
            if isinstance(one, ast.AST):
                yield from _names(one)
