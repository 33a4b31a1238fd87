"""The public names of iclab, read from its source without running it.

A folder's `__init__.py` lists its names as `Ridge as Ridge`; what each one is, its
signature and its docstring stand in the private file that it comes from. Types are
those of the source, made readable: `Float[Array, "d d"]` is `Array[d, d]` here.
"""

import ast
import functools
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "iclab"
# The words of the command line have a page of their own; what the package shows itself
# with is no promise to anybody.
NOT_MODULES = ("cli", "show", "__main__")

_ARRAYS = {
    "Float": "Array",
    "Inexact": "Array",
    "Num": "Array",
    "Real": "Array",
    "Shaped": "Array",
    "Array": "Array",
    "Int": "IntArray",
    "Integer": "IntArray",
    "UInt32": "IntArray",
    "Bool": "BoolArray",
}
_SCALARS = {"Array": "Scalar", "IntArray": "IntScalar", "BoolArray": "BoolScalar"}


@dataclass(frozen=True)
class Name:
    """A public name: where it is imported from, and where and how it is defined."""

    module: str
    name: str
    file: Path
    node: ast.AST

    @property
    def full(self) -> str:
        """The name by which a user imports it."""
        return f"{self.module}.{self.name}"

    @property
    def kind(self) -> str:
        """`function`, `class` or `data`."""
        if isinstance(self.node, ast.FunctionDef):
            return "function"
        return "class" if isinstance(self.node, ast.ClassDef) else "data"

    @property
    def docstring(self) -> str:
        """What the source says about it: the comment above it, if it is a value."""
        if isinstance(self.node, (ast.FunctionDef, ast.ClassDef)):
            return ast.get_docstring(self.node) or ""
        return _comment_above(self.file, self.node.lineno)  # type: ignore[attr-defined]


def modules() -> list[str]:
    """Every public module, `iclab` itself first."""
    found = [
        path.parent.name if path.name == "__init__.py" else path.stem
        for path in (*PACKAGE.glob("[a-z]*/__init__.py"), *PACKAGE.glob("[a-z]*.py"))
    ]
    return [
        "iclab",
        *(f"iclab.{name}" for name in sorted(found) if name not in NOT_MODULES),
    ]


@functools.cache
def names(module: str) -> tuple[Name, ...]:
    """The public names of a module, in the order of its source."""
    return tuple(_names(module))


def _names(module: str) -> Iterator[Name]:
    file = _file(module)
    for node in _listed(_tree(file)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("iclab"):
            for alias in node.names:
                # `iclab` itself imports for its own use only.
                if alias.asname == alias.name and alias.name[0] != "_":
                    yield _defined(module, alias.name, _file(node.module or ""))
        elif _own(node) and (module == "iclab" or file.name != "__init__.py"):
            yield Name(module, node.name, file, node)  # type: ignore[attr-defined]


def _listed(tree: ast.Module) -> Iterator[ast.stmt]:
    """Statements of a module; names that are loaded on use stand under a condition."""
    for node in tree.body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from node.body
        else:
            yield node


def _own(node: ast.AST) -> bool:
    kinds = (ast.FunctionDef, ast.ClassDef)
    return isinstance(node, kinds) and not node.name.startswith("_")


def _file(module: str) -> Path:
    parts = module.split(".")[1:]
    folder = PACKAGE.joinpath(*parts)
    return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")


@functools.cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def _defined(module: str, name: str, file: Path) -> Name:
    """Where `name` is written, followed through files that pass it on."""
    found: ast.AST | None = None
    for node in _tree(file).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name:
            found = node  # the last one: those before it are overloads
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and name in _targets(node):
            found = node
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if name == (alias.asname or alias.name) and node.module:
                    return _defined(module, alias.name, _file(node.module))
    if found is None:
        raise LookupError(f"{module}.{name} is not defined in {file.name}")
    return Name(module, name, file, found)


def _targets(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
    return [ast.unparse(one) for one in targets]


def _comment_above(file: Path, line: int) -> str:
    lines = file.read_text(encoding="utf-8").splitlines()[: line - 1]
    comment: list[str] = []
    while lines and lines[-1].startswith("#"):
        comment.insert(0, lines.pop().lstrip("# "))
    return "\n".join(comment)


# Types


def readable(annotation: ast.AST | None) -> str:
    """An annotation of the source for people: shapes as shapes, no jaxtyping."""
    if annotation is None:
        return ""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return readable(ast.parse(annotation.value, mode="eval").body)
    if isinstance(annotation, ast.BinOp):
        sides = [readable(annotation.left), readable(annotation.right)]
        words = [word for side in sides for word in side.split(" | ")]
        return " | ".join(dict.fromkeys(words))
    if isinstance(annotation, ast.Attribute):
        return annotation.attr
    if isinstance(annotation, ast.Name):
        return {"PRNGKeyArray": "Key"}.get(annotation.id, annotation.id)
    if isinstance(annotation, ast.List):
        return f"[{', '.join(map(readable, annotation.elts))}]"
    if isinstance(annotation, ast.Subscript):
        return _subscript(annotation)
    return ast.unparse(annotation)


def _subscript(annotation: ast.Subscript) -> str:
    base = readable(annotation.value)
    inside = annotation.slice
    parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
    if base == "Key":
        return "Key"
    if base == "Literal":
        return f"Literal[{', '.join(map(ast.unparse, parts))}]"
    if base == "Annotated":
        return readable(parts[0])
    if base == "PyTree":
        return "PyTree"
    last = parts[-1]
    if (
        base in _ARRAYS
        and isinstance(last, ast.Constant)
        and isinstance(last.value, str)
    ):
        return _array(_ARRAYS[base], last.value)
    return f"{base}[{', '.join(map(readable, parts))}]"


def _array(kind: str, shape: str) -> str:
    axes = [axis.lstrip("#") for axis in shape.split()]
    return f"{kind}[{', '.join(axes)}]" if axes else _SCALARS[kind]


# Signatures


def signature(node: ast.FunctionDef, *, method: bool = False) -> str:
    """Arguments with readable types and their defaults, and what comes back."""
    arguments = _arguments(node.args, method and not _static(node))
    returns = readable(node.returns)
    return f"({arguments})" + (f" -> {returns}" if returns else "")


def _static(node: ast.FunctionDef) -> bool:
    return "staticmethod" in map(ast.unparse, node.decorator_list)


def _arguments(given: ast.arguments, bound: bool) -> str:
    plain = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [None] * (len(plain) - len(given.defaults))
    pairs = list(zip(plain, [*defaults, *given.defaults], strict=True))
    words = [_argument(*pair) for pair in (pairs[1:] if bound else pairs)]
    if given.vararg:
        words.append(f"*{_argument(given.vararg, None)}")
    elif given.kwonlyargs:
        words.append("*")
    words += map(_argument, given.kwonlyargs, given.kw_defaults)
    if given.kwarg:
        words.append(f"**{_argument(given.kwarg, None)}")
    return ", ".join(words)


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    kind = readable(argument.annotation)
    text = f"{argument.arg}: {kind}" if kind else argument.arg
    if default is None:
        return text
    return (
        f"{text} = {ast.unparse(default)}" if kind else f"{text}={ast.unparse(default)}"
    )


def fields(node: ast.ClassDef) -> list[tuple[str, str, str | None]]:
    """Name, type and default of every field that a class declares."""
    found = []
    for one in node.body:
        if not isinstance(one, ast.AnnAssign) or not isinstance(one.target, ast.Name):
            continue
        kind = readable(one.annotation)
        if one.target.id.startswith("_") or kind.startswith(
            ("ClassVar", "AbstractVar")
        ):
            continue
        found.append((one.target.id, kind, _default(one.value)))
    return found


def _default(value: ast.expr | None) -> str | None:
    if not isinstance(value, ast.Call) or not ast.unparse(value.func).endswith("field"):
        return None if value is None else ast.unparse(value)
    for word in value.keywords:
        if word.arg == "default":
            return ast.unparse(word.value)
        if word.arg == "default_factory":
            return f"{ast.unparse(word.value)}()"
    return None


def constructor(node: ast.ClassDef) -> str:
    """The signature of a class; empty for one that is not made by its fields."""
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and one.name == "__init__":
            return f"({_arguments(one.args, True)})"
    own = fields(node)
    if not own or abstract(node):
        return ""
    words = [
        f"{name}: {kind}" + ("" if default is None else f" = {default}")
        for name, kind, default in own
    ]
    return f"({', '.join(words)})"


def abstract(node: ast.ClassDef) -> bool:
    """Whether a class is an interface, which nobody makes."""
    protocol = any("Protocol" in ast.unparse(base) for base in node.bases)
    return protocol or node.name.startswith("Abstract")


def members(node: ast.ClassDef) -> Iterator[tuple[str, ast.FunctionDef]]:
    """`method` or `property`, and its definition: those that say something."""
    for one in node.body:
        if not isinstance(one, ast.FunctionDef) or ast.get_docstring(one) is None:
            continue
        if one.name.startswith("_") and one.name != "__call__":
            continue
        decorators = [ast.unparse(word) for word in one.decorator_list]
        yield (
            ("property" if any("property" in d for d in decorators) else "method"),
            one,
        )


def title(file: Path) -> str:
    """The first line of a file's docstring, which says what it is about."""
    text = ast.get_docstring(_tree(file)) or file.stem
    return text.splitlines()[0].rstrip(".")


def opening(module: str) -> str:
    """The docstring of a module."""
    return inspect.cleandoc(ast.get_docstring(_tree(_file(module))) or "")


# Examples

_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def examples() -> Iterator[tuple[str, str]]:
    """Every piece of Python in a docstring of a public name, and where it stands."""
    for module in modules():
        for name in names(module):
            texts = {name.full: name.docstring}
            if isinstance(name.node, ast.ClassDef):
                for _, node in members(name.node):
                    texts[f"{name.full}.{node.name}"] = ast.get_docstring(node) or ""
            for where, text in texts.items():
                for block in _BLOCK.findall(text):
                    yield where, block


# What every example in a docstring may use, beside the names of its module.
PREAMBLE = """\
import jax
import jax.numpy as jnp
import numpy as np

from iclab.algorithms import Ridge, Zero
from iclab.tasks import LinearRegression

key = jax.random.key(0)
task = LinearRegression(jnp.eye(5))
prompt = task.sample(key, examples=10)
prompts = task.sample_batch(key, prompts=64, examples=10)
"""
