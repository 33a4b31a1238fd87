"""Pages of the reference as MyST: a section for a file, a directive for a name."""

import ast
import re
from collections.abc import Iterator

from docs._ext import public

# What a docstring says at its end, as fields rather than one paragraph.
_FIELDS = ("Source", "Assumes", "Differs from the paper")
_FIELD = re.compile(rf"^({'|'.join(_FIELDS)}):\s+", re.MULTILINE)


def page(module: str) -> str:
    """All that a module offers, in the order of its files."""
    sections: dict[str, list[public.Name]] = {}
    for name in public.names(module):
        sections.setdefault(public.title(name.file), []).append(name)
    parts = [f"```{{py:module}} {module}\n```\n"]
    for title, names in sections.items():
        if len(sections) > 1:
            parts.append(f"## {title}\n")
        parts += (described(name) for name in names)
    return "\n".join(parts)


def described(name: public.Name) -> str:
    """One name with its signature, docstring and members."""
    node = name.node
    if isinstance(node, ast.FunctionDef):
        return _directive(
            "function", name.name + public.signature(node), name.module, name.docstring
        )
    if isinstance(node, ast.ClassDef):
        inside = "\n\n".join(
            [markdown(name.docstring), *_fields(node), *_members(node)]
        )
        head = name.name + public.constructor(node)
        return _fenced("class", head, [f":module: {name.module}"], inside, depth=5)
    assert isinstance(node, (ast.Assign, ast.AnnAssign))
    kinds = (ast.BinOp, ast.Subscript, ast.Name)
    of_type = isinstance(node.value, kinds)
    value = public.readable(node.value) if of_type else ast.unparse(node.value or node)
    options = [f":module: {name.module}"]
    if value and len(value) < 200:
        options.append(f":value: {value}")
    return _fenced("data", name.name, options, markdown(name.docstring), depth=5)


def _fields(node: ast.ClassDef) -> Iterator[str]:
    """Fields of a class whose constructor takes other things."""
    made_by_hand = any(
        isinstance(one, ast.FunctionDef) and one.name == "__init__" for one in node.body
    )
    own = public.fields(node)
    if own and (made_by_hand or public.abstract(node)):
        listed = "; ".join(f"`{name}`: {_code(kind)}" for name, kind, _ in own)
        yield f":Fields: {listed}"


def _code(text: str) -> str:
    return f"`{text}`"


def _members(node: ast.ClassDef) -> Iterator[str]:
    for kind, member in public.members(node):
        text = ast.get_docstring(member) or ""
        if kind == "property":
            options = [f":type: {public.readable(member.returns)}"]
            yield _fenced("property", member.name, options, markdown(text), depth=4)
            continue
        decorators = [ast.unparse(one) for one in member.decorator_list]
        options = [
            f":{word}:"
            for word in ("classmethod", "staticmethod", "abstractmethod")
            if any(decorator.endswith(word) for decorator in decorators)
        ]
        head = member.name + public.signature(member, method=True)
        yield _fenced("method", head, options, markdown(text), depth=4)


def _directive(kind: str, head: str, module: str, docstring: str) -> str:
    return _fenced(kind, head, [f":module: {module}"], markdown(docstring), depth=5)


def _fenced(kind: str, head: str, options: list[str], inside: str, depth: int) -> str:
    fence = ":" * depth
    lines = [f"{fence}{{py:{kind}}} {head}", *options, "", inside, fence, ""]
    return "\n".join(lines)


def markdown(docstring: str) -> str:
    """A docstring with its last lines as fields."""
    opening, *rest = _FIELD.split(docstring)
    if not rest:
        return opening
    fields = []
    for label, text in zip(rest[::2], rest[1::2], strict=True):
        inside = " ".join(line.strip() for line in text.strip().splitlines())
        fields.append(f":{label}: {inside}")
    return opening.rstrip() + "\n\n" + "\n".join(fields) + "\n"


def parts(docstring: str) -> dict[str, str]:
    """The first sentence, the formulas and the fields of a docstring, by name."""
    opening, *rest = _FIELD.split(docstring)
    found = {
        label: " ".join(line.strip() for line in text.strip().splitlines())
        for label, text in zip(rest[::2], rest[1::2], strict=True)
    }
    found["summary"] = " ".join(opening.split("\n\n")[0].split())
    found["formulas"] = "\n\n".join(re.findall(r"\$\$.*?\$\$", opening, re.DOTALL))
    return found
