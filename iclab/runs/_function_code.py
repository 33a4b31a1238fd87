"""The hash of a function: of its source, or of what it is where it has none."""

import functools
import hashlib
import importlib.util
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from iclab._reader import checked
from iclab.runs._code import code_digest

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
        match value:
            case types.ModuleType():
                yield f"module {code_digest((value.__name__,))}".encode()
            case types.CodeType():
                yield from self._code(value)
            case types.FunctionType():
                yield from self._function(value)
            case type():
                yield from self._class(value)
            case tuple() | list():
                yield type(value).__name__.encode()
                for one in value:
                    yield from self.value(one)
            case Mapping() if type(value) in (dict, types.MappingProxyType):
                yield b"dict"
                for name, one in value.items():
                    yield from self.value(name)
                    yield from self.value(one)
            case set() | frozenset():
                yield b"set"
                yield from sorted(b"\0".join(_Walk().value(one)) for one in value)
            case np.ndarray() | np.generic():
                yield from self._array(value)
            case _:
                yield from self._object(value)

    def _function(self, function: types.FunctionType) -> Iterator[bytes]:
        if _importable(function):
            yield from _by_name(function)
            return
        yield b"function"
        yield from self._code(function.__code__)
        yield from self.value(function.__defaults__)
        yield from self.value(function.__kwdefaults__)
        for cell in function.__closure__ or ():
            yield from self.value(_contents(cell))
        named = function.__globals__
        for name in sorted(_names(function.__code__)):
            if name in named:
                yield name.encode()
                yield from self.value(named[name])

    def _code(self, code: types.CodeType) -> Iterator[bytes]:
        yield code.co_code
        for part in (code.co_names, code.co_varnames, code.co_freevars):
            yield " ".join(part).encode()
        yield f"{code.co_argcount} {code.co_posonlyargcount}".encode()
        yield f"{code.co_kwonlyargcount} {code.co_flags}".encode()
        for constant in code.co_consts:
            yield from self.value(constant)

    def _class(self, cls: type) -> Iterator[bytes]:
        if _importable(cls):
            yield from _by_name(cls)
            return
        yield f"class {cls.__qualname__}".encode()
        for base in cls.__bases__:
            yield from self.value(base)
        for name, one in sorted(vars(cls).items()):
            if name not in _OF_CLASSES:
                yield name.encode()
                yield from self.value(one)

    def _array(self, array: Any) -> Iterator[bytes]:
        array = np.asarray(array)
        yield f"array {array.dtype.str} {array.shape}".encode()
        if array.dtype.hasobject:
            for one in array.flat:
                yield from self.value(one)
        else:
            yield np.ascontiguousarray(array).tobytes()

    def _object(self, value: Any) -> Iterator[bytes]:
        """Anything else: what wraps a function, holds numbers, or can be sent."""
        kind, wrapped = type(value).__qualname__, getattr(value, "__wrapped__", None)
        if isinstance(value, functools.partial):
            content: Any = (value.func, value.args, value.keywords)
        elif callable(value) and wrapped is not None:  # jax.jit, caches
            content = wrapped
        elif isinstance(value, (types.BuiltinFunctionType, types.MethodType)):
            content = (value.__name__, value.__self__)
        elif isinstance(value, (staticmethod, classmethod)):
            content = value.__func__
        elif isinstance(value, property):
            content = (value.fget, value.fset, value.fdel)
        elif isinstance(value, types.GenericAlias):
            content = (value.__origin__, value.__args__)
        elif isinstance(value, _DESCRIPTORS):
            content = value.__name__
        elif hasattr(value, "__array__"):
            yield from self._array(value)
            return
        else:
            content = _reduced(value)
        yield kind.encode()
        yield from self.value(content)


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


def _contents(cell: types.CellType) -> Any:
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


def _by_name(thing: Any) -> Iterator[bytes]:
    name = f"{thing.__module__}:{thing.__qualname__}"
    yield f"{name} {code_digest((thing.__module__,))}".encode()
