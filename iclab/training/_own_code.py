"""The hash of what a user's own class or function does, whatever else is edited.

A run that is resumed after its script was edited goes on, unless what it trains, or on
what, is another thing now.
"""

import contextlib
import dataclasses
import functools
import hashlib
import inspect
import platform
import sys
import sysconfig
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import optax

from iclab.core import is_traced

_OWN = __name__.partition(".")[0]
_STANDARD = Path(sysconfig.get_path("stdlib"))
_INSTALLED = {"site-packages", "dist-packages"}
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))
# That a function has a docstring, as newer versions of Python note it.
_HAS_DOCSTRING = 0x4000000


def own_code(thing: Any) -> str | None:
    """Hash of a class or a function that a user has written; None for a library's.

    Of the compiled code of all methods and functions that it reaches in the user's
    files, of their defaults, and of the numbers and words among the globals that they
    name. Comments, layout and docstrings change nothing, nor does what else the files
    hold. The version of Python stands first: compiled code is its own.
    """
    if not _is_own(thing):
        return None
    return _hashed(_Walk().value(thing))


def made_code(optimiser: optax.GradientTransformation) -> str:
    """Hash of an optimiser of optax, after the versions of Python and of optax.

    Of what its functions have closed over: rates, betas, schedules.
    """
    parts = _Walk(closures=True).value(optimiser)
    return f"optax-{optax.__version__}-{_hashed(parts)}"


def code_differs(one: str, other: str) -> bool:
    """Whether two hashes say that code was edited: of one Python, and not equal."""
    return one != other and one.split()[:1] == other.split()[:1]


def _hashed(parts: Iterator[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return f"{_version()} {digest.hexdigest()[:16]}"


def _version() -> str:
    major, minor, _ = platform.python_version_tuple()
    return f"{platform.python_implementation()}-{major}.{minor}"


def _is_own(thing: Any) -> bool:
    """Whether code is a user's: of a notebook, a script, or a file not installed."""
    module = getattr(thing, "__module__", None)
    if isinstance(thing, types.ModuleType):
        module = thing.__name__
    if not isinstance(module, str) or module.partition(".")[0] == _OWN:
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:  # typed in, or a part of Python
        return module in ("__main__", "__mp_main__") or module not in sys.modules
    place = Path(file)
    return not _INSTALLED & set(place.parts) and not place.is_relative_to(_STANDARD)


class _Walk:
    """One way through code; what comes again is not gone into.

    With `closures` it goes into what functions of libraries have closed over as well.
    """

    def __init__(self, *, closures: bool = False):
        self._closures = closures
        self._seen: set[int] = set()
        self._kept: list[Any] = []  # so that no number is given twice

    def value(self, value: Any) -> Iterator[bytes]:
        """What is known of a value, the same in every process."""
        if isinstance(value, _PLAIN):
            yield f"{type(value).__name__} {value!r}".encode()
            return
        if isinstance(value, (tuple, frozenset)):
            inside = [b"\0".join(self.value(one)) for one in value]
            yield type(value).__name__.encode()
            yield from inside if isinstance(value, tuple) else sorted(inside)
            return
        if isinstance(value, (np.ndarray, np.generic, jax.Array)):
            yield from _array(value)
            return
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        self._kept.append(value)
        if isinstance(value, types.CodeType):
            yield from self._code(value, None, {})
        elif isinstance(value, type):
            yield from self._class(value)
        elif isinstance(function := _bare(value), types.FunctionType):
            yield from self._function(function)
        elif self._closures and isinstance(value, functools.partial):
            yield from self.value((value.func, value.args, value.keywords))
        elif self._closures and isinstance(value, (dict, list)):
            inside = sorted(value.items()) if isinstance(value, dict) else value
            yield from self.value(tuple(inside))
        elif dataclasses.is_dataclass(value):
            yield from self._class(type(value))
            for field in dataclasses.fields(value):
                yield from self.value(getattr(value, field.name, None))
        else:  # what may change by itself: a list, a cache, a file
            yield type(value).__qualname__.encode()

    def _function(self, function: types.FunctionType) -> Iterator[bytes]:
        if not _is_own(function):
            yield f"{function.__module__}.{function.__qualname__}".encode()
            for cell in (function.__closure__ or ()) if self._closures else ():
                with contextlib.suppress(ValueError):  # a name without a value yet
                    yield from self.value(cell.cell_contents)
            return
        named = dict(function.__globals__)
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            try:
                named[name] = cell.cell_contents
            except ValueError:  # a name that has no value yet
                continue
        yield from self._code(function.__code__, function.__doc__, named)
        yield from self.value(function.__defaults__)
        for name, one in sorted((function.__kwdefaults__ or {}).items()):
            yield name.encode()
            yield from self.value(one)

    def _code(
        self, code: types.CodeType, doc: str | None, named: dict[str, Any]
    ) -> Iterator[bytes]:
        yield code.co_code
        yield " ".join(code.co_names).encode()
        flags = code.co_flags & ~_HAS_DOCSTRING
        yield f"{code.co_argcount} {code.co_kwonlyargcount} {flags}".encode()
        constants = code.co_consts
        if doc is not None and constants and constants[0] == doc:
            constants = constants[1:]
        for constant in constants:
            if isinstance(constant, types.CodeType):
                yield from self._code(constant, None, named)
            else:
                yield from self.value(constant)
        for name in (*code.co_names, *code.co_freevars):
            if name in named:
                yield name.encode()
                yield from self._named(named[name], code)

    def _named(self, value: Any, code: types.CodeType) -> Iterator[bytes]:
        """A value that code names; of a module that part which it may mean."""
        if not isinstance(value, types.ModuleType):
            yield from self.value(value)
        elif _is_own(value):
            for name in code.co_names:
                if hasattr(value, name):
                    yield name.encode()
                    yield from self._named(getattr(value, name), code)
        else:
            yield value.__name__.encode()

    def _class(self, cls: type) -> Iterator[bytes]:
        yield f"class {cls.__qualname__}".encode()
        if not _is_own(cls):
            return
        for base in cls.__bases__:
            yield from self.value(base)
        fields = getattr(cls, "__dataclass_fields__", {})  # compared by themselves
        for name, one in sorted(vars(cls).items()):
            if name in fields:
                continue
            # Not what is wrapped around it, which may be another thing each time.
            got = one.fget if isinstance(one, property) else getattr(cls, name, None)
            found = _bare(got)
            function = isinstance(found, types.FunctionType) and not _generated(found)
            plain = isinstance(found, _PLAIN) and not name.startswith("__")
            if function or plain:
                yield name.encode()
                yield from self.value(found)


def _array(value: Any) -> Iterator[bytes]:
    """An array: its numbers, if it holds numbers and is not being traced."""
    yield f"{value.dtype} {value.shape}".encode()
    plain = isinstance(value.dtype, np.dtype) and not value.dtype.hasobject
    if plain and not is_traced(value):
        yield np.ascontiguousarray(np.asarray(value)).tobytes()


def _bare(thing: Any) -> Any:
    """A function without what binds it or is wrapped around it."""
    thing = getattr(thing, "__func__", thing)
    return inspect.unwrap(thing) if callable(thing) else thing


def _generated(function: types.FunctionType) -> bool:
    """Whether `dataclass` wrote it, from fields that are compared by themselves."""
    special = function.__name__.startswith("__")
    return special and function.__code__.co_filename == "<string>"
