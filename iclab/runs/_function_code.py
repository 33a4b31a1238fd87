"""The hash of a function: of its source, or of what it is where it has none."""

import functools
import hashlib
import importlib.util
import itertools
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from iclab._reader import checked
from iclab.runs._code import code_digest

_DICTS = (dict, types.MappingProxyType)
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))
_DESCRIPTORS = (
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
)
# What Python itself puts into a class.
_OF_CLASSES = {"__dict__", "__weakref__", "__module__", "__doc__", "_abc_impl"}


@checked
def function_digest(function: Callable[..., Any]) -> str:
    """Hash of all that decides what a function computes.

    A function of a module that other processes can import has that module's source, and
    all that it reaches. One that they cannot (a notebook's cell, a script's, a lambda,
    a function inside another) has its compiled code, its defaults, the values that it
    closes over and those of the globals that it names, functions among these in the
    same way. Bytes of the compiled code are those of one version of Python.
    """
    digest = hashlib.sha256()
    for part in _Walk().value(function):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


class _Walk:
    """One way through a function and its values; what comes again is only counted."""

    def __init__(self):
        self._seen: dict[int, int] = {}
        self._kept: list[Any] = []  # so that no number is given twice

    def value(self, value: Any) -> Iterator[bytes]:
        """A value as bytes that are the same in every process."""
        if isinstance(value, _PLAIN):
            yield f"{type(value).__name__} {value!r}".encode()
            return
        if id(value) in self._seen:
            yield f"again {self._seen[id(value)]}".encode()
            return
        if type(value) is not tuple:  # equal ones may be one, as Python likes
            self._seen[id(value)] = len(self._seen)
            self._kept.append(value)
        kind, *content = _content(value)
        yield f"{kind} {len(content)}".encode()
        for one in content:
            yield from self.value(one)


def _content(value: Any) -> Iterable[Any]:
    """What a value is, in words, and the values that it is made of."""
    kind, wrapped = type(value).__qualname__, getattr(value, "__wrapped__", None)
    match value:
        case types.ModuleType():
            return kind, code_digest((value.__name__,))
        case types.FunctionType() | type() if _importable(value):
            name = f"{value.__module__}:{value.__qualname__}"
            return name, code_digest((value.__module__,))
        case types.FunctionType():
            cells = map(_cell_content, value.__closure__ or ())
            names = sorted(_names(value.__code__) & value.__globals__.keys())
            named = {name: value.__globals__[name] for name in names}
            given = (value.__defaults__, value.__kwdefaults__)
            return kind, value.__code__, *given, *cells, named
        case types.CodeType():
            names = (value.co_names, value.co_varnames, value.co_freevars)
            counts = (value.co_argcount, value.co_posonlyargcount)
            counts += (value.co_kwonlyargcount, value.co_flags)
            return kind, value.co_code, *names, *counts, *value.co_consts
        case type():
            own = {n: v for n, v in sorted(vars(value).items()) if n not in _OF_CLASSES}
            return f"class {value.__qualname__}", *value.__bases__, own
        case tuple() | list():
            return kind, *value
        case dict() | types.MappingProxyType() if type(value) in _DICTS:
            return "dict", *itertools.chain(*value.items())
        case set() | frozenset():
            return "set", *sorted(b"\0".join(_Walk().value(one)) for one in value)
        case functools.partial():
            return kind, value.func, value.args, value.keywords
        case types.BuiltinFunctionType() | types.MethodType():
            return kind, value.__name__, value.__self__
        case staticmethod() | classmethod():
            return kind, value.__func__
        case property():
            return kind, value.fget, value.fset, value.fdel
        case types.GenericAlias():
            return kind, value.__origin__, value.__args__
        case _ if isinstance(value, _DESCRIPTORS):
            return kind, value.__name__
        case _ if callable(value) and wrapped is not None:  # jax.jit, caches
            return kind, wrapped
        case _ if hasattr(value, "__array__"):
            array = np.asarray(value)
            entries = array.flat if array.dtype.hasobject else [array.tobytes()]
            return "array", array.dtype.str, array.shape, *entries
        case _:
            return kind, _reduced(value)


def _reduced(value: Any) -> Any:
    """What `pickle` would keep of an object."""
    try:
        content = value.__reduce_ex__(4)
    except Exception as reason:
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        raise ValueError(
            f"function_digest: a value that the function uses has no lasting name,"
            f" a {kind} ({reason}): make it inside the function, or pass it as a number"
        ) from None
    if isinstance(content, str):
        return content
    # Iterators over what a list or dict inside the object holds.
    return tuple(list(one) if hasattr(one, "__next__") else one for one in content)


def _cell_content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a name that has no value yet
        return None


def _names(code: types.CodeType) -> set[str]:
    """Names that a piece of code may look up, with those of functions inside it."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names(constant)
    return found


def _importable(thing: Any) -> bool:
    """Whether another process finds the same thing by its module and name."""
    if thing.__module__ in (None, "__main__", "__mp_main__"):
        return False
    found: Any = sys.modules.get(thing.__module__)
    for word in thing.__qualname__.split("."):
        found = getattr(found, word, None)
    if found is None or (found is not thing and _bare(found) is not thing):
        return False
    return importlib.util.find_spec(thing.__module__.partition(".")[0]) is not None


def _bare(thing: Any) -> Any:
    """A function without what decorators put around it."""
    while hasattr(thing, "__wrapped__"):
        thing = thing.__wrapped__
    return thing
