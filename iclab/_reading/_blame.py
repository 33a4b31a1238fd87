"""An error from deep inside, said with the name of the argument that is to blame."""

import collections.abc
import opcode
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, TypeVar, get_args, get_origin

OWN = __name__.partition(".")[0] + "."
_FIT = "does not fit: "
# What comes of a value that is of no use.
_UNFIT = (
    TypeError,
    ValueError,
    AttributeError,
    LookupError,
    ArithmeticError,
    AssertionError,
    NotImplementedError,
)


def better_error(
    error: Exception,
    owner: str,
    arguments: Mapping[str, Any],
    free: Iterable[str],
    said: Callable[[Exception, Mapping[str, Any]], Exception | None] | None,
) -> Exception | None:
    """What to raise in the place of an error; None if nothing says more."""
    found = None if said is None else said(error, arguments)
    error = found or error
    whole = _with_fields(arguments)
    text = str(error).rpartition(_FIT)[2]  # the outermost name is the caller's
    if any(f"`{name}`" in text for name in whole):
        return found
    culprit = _culprit(error, text, whole)
    if culprit is not None:
        plain = re.sub(r"^(\w+): (`\w+`) (must|raised) ", r"the \2 of \1 \3 ", text)
        return type(error)(f"{owner}: `{culprit}` {_FIT}{plain}")
    names = [*free, *_free_fields(arguments)]
    if not names or not isinstance(error, _UNFIT) or _is_ours(type(error)):
        return found
    if _is_meant(error) or _is_inside(error, [whole[name] for name in names]):
        return found
    # All others have been read: it is one of these.
    suspects = " or ".join(f"`{name}`" for name in names)
    kind = TypeError if isinstance(error, TypeError) else ValueError
    told = text if type(error) is ValueError else f"{type(error).__name__}: {text}"
    return kind(f"{owner}: {suspects} {_FIT}{told}")


def _with_fields(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by name; those of which an object is made, in its place."""
    rest = {name: one for name, one in arguments.items() if name != "self"}
    own = dict(getattr(arguments.get("self"), "__dict__", {}))
    return {name: one for name, one in own.items() if name[0] != "_"} | rest


def _free_fields(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Fields of the object whose annotations say nothing of what they hold."""
    kind = type(arguments.get("self"))
    for field in getattr(kind, "__dataclass_fields__", {}).values():
        known = hasattr(arguments["self"], field.name)
        if known and field.name[0] != "_" and is_free(field.type):
            yield field.name


def is_free(annotation: Any) -> bool:
    """Whether an annotation leaves open what a value is, or what is in it."""
    if isinstance(annotation, TypeVar) or annotation in (Any, object):
        return True
    origin = get_origin(annotation) or annotation
    if origin is collections.abc.Callable or "PyTree" in str(origin):
        return True
    if origin is Annotated:
        return False
    return any(is_free(part) for part in get_args(annotation))


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith(OWN)


def _is_meant(error: Exception) -> bool:
    """Whether code of ours has raised this in its own words."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False
    ours = trace.tb_frame.f_globals.get("__name__", "").startswith(OWN)
    operation = trace.tb_frame.f_code.co_code[trace.tb_lasti]
    return ours and operation == opcode.opmap["RAISE_VARARGS"]


def _is_inside(error: Exception, suspects: Iterable[Any]) -> bool:
    """Whether an error was raised in the code of what a user gave, which may do so."""
    homes = {getattr(one, "__module__", type(one).__module__) for one in suspects}
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__") in homes:
            return not _is_ours(type(error))
        trace = trace.tb_next
    return False


def _culprit(error: Exception, text: str, arguments: Mapping[str, Any]) -> str | None:
    """The argument whose object has refused something, if the message names another.

    Such a message begins with the object's class: ``Ridge: `prompt` must be …``.
    """
    said = {
        one[1] or one[2]
        for one in re.finditer(
            r"(?:\b(\w+)(?:\.\w+)?: `\w+`|^the `\w+` of (\w+)) (?:must|raised) ", text
        )
    }
    if not said or type(error) not in (ValueError, TypeError):
        return None
    owners = (
        name for name, one in arguments.items() if not said.isdisjoint(_kinds(one, 4))
    )
    return next(owners, None)


def _kinds(value: Any, depth: int) -> Iterator[str]:
    """Names of the classes of ours that a value is made of."""
    if depth and isinstance(value, (dict, list, tuple)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _kinds(one, depth - 1)
    elif depth and type(value).__module__.startswith("iclab."):
        yield type(value).__name__
        yield from _kinds(dict(getattr(value, "__dict__", {})), depth)
