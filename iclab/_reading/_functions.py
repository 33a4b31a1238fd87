"""Functions and classes that read their arguments before they see them."""

import functools
import inspect
import os
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, get_origin

from iclab._reading._blame import OWN, better_error, is_free
from iclab._reading._values import Argument, flat

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

# These stand between a method, a copy, or a function whose types are checked, and its
# caller.
_BETWEEN = ("equinox.", "jaxtyping.", "dataclasses")


def checked(function: FunctionT, owner: str | None = None) -> FunctionT:
    """Read the arguments of a function by annotation; of a class, those of all methods.

    For folders that know no arrays; `core.checked` is for the others.
    """
    if isinstance(function, type):
        return _checked_class(function)  # pyright: ignore[reportReturnType]
    owner = owner or function.__qualname__
    make = functools.partial(Argument, owner)
    return from_outside(function, reading(function, owner, lambda _: make))


def from_outside(function: Any, careful: Any) -> Any:
    """`careful` for users; `function` itself for code of ours, which has been read."""

    @functools.wraps(function)
    def read(*args: Any, **kwargs: Any) -> Any:
        frame = sys._getframe(1)
        caller = frame.f_globals.get("__name__", "")
        while caller.startswith(_BETWEEN) and frame.f_back is not None:
            frame = frame.f_back
            caller = frame.f_globals.get("__name__", "")
        return (function if caller.startswith(OWN) else careful)(*args, **kwargs)

    return reads_by_itself(read)


def spoken(owner: str, given: Mapping[str, Any]) -> str:
    """Who speaks: of a method, the class of its object, which may have inherited it."""
    kind, _, method = owner.rpartition(".")
    kind = type(given["self"]).__name__ if "self" in given and kind else kind
    return ".".join(word for word in (kind, method) if word not in ("", "__call__"))


def reads_by_itself(function: FunctionT) -> FunctionT:
    """`function`, of which it is known from now on that it reads its arguments."""
    function.reads_arguments = True  # pyright: ignore[reportFunctionMemberAccess]
    return function


def read_methods(kind: type, reader: Callable[[Any], Any]) -> None:
    """Let `reader` make all public methods of a class read that do not do so yet."""
    for name, value in list(vars(kind).items()):
        wrapper = (
            type(value) if isinstance(value, (staticmethod, classmethod)) else None
        )
        method = value.__func__ if wrapper is not None else value
        done = getattr(method, "reads_arguments", False)
        abstract = getattr(method, "__isabstractmethod__", False)
        if not inspect.isfunction(method) or done or abstract:
            continue
        if not name.startswith("_") or name == "__call__":
            new = reader(method)
            setattr(kind, name, new if wrapper is None else wrapper(new))


def _checked_class(kind: type) -> type:
    read_methods(kind, checked)
    # A named tuple is made by `__new__`, all others by `__init__`.
    made = "__new__" if issubclass(kind, tuple) else "__init__"
    make = functools.partial(Argument, kind.__name__)
    plain = getattr(kind, made)
    careful = reading(plain, kind.__name__, lambda _: make, made_by=kind)
    new = from_outside(plain, careful)
    setattr(kind, made, staticmethod(new) if made == "__new__" else new)
    return kind


def reading(
    function: Any,
    owner: str,
    begin: Callable[[Mapping[str, Any]], Callable[[str], "Argument"]],
    after: Callable[[Any, Mapping[str, Any]], None] | None = None,
    *,
    said: Callable[[Exception, Mapping[str, Any]], Exception | None] | None = None,
    made_by: type = object,
) -> Any:
    """`function`, whose arguments are read by what `begin` makes of every call's.

    `after` is shown the result with the arguments, and `said` an error: it may know a
    better one. What an object among the arguments refuses in its turn is said with the
    argument's name. A constructor is `made_by` its class, where the fields of other
    classes may come from.
    """
    known: list[_Signature] = []

    @functools.wraps(function)
    def read(*args: Any, **kwargs: Any) -> Any:
        if not known:  # on first use: most functions are never called
            known.append(_Signature(function, made_by))
        (signature,) = known
        given = signature.bind(owner, args, kwargs)
        argument = begin(given)
        for name, value in given.items():
            annotation = signature.annotations.get(name, Any)
            if annotation is Any or type(value) in signature.at_once[name]:
                continue
            given[name] = argument(name).read(value, annotation)
        names = signature.names[: len(args)]
        args = (*(given[name] for name in names), *args[len(names) :])
        kwargs = {name: given.get(name, one) for name, one in kwargs.items()}

        def retold(error: Exception) -> Exception:
            who, free = spoken(owner, given), signature.free & given.keys()
            better = better_error(error, who, given, sorted(free), said)
            return error if better is None else better

        try:
            result = function(*args, **kwargs)
            if after is not None:
                after(result, given)
        except Exception as error:
            if (better := retold(error)) is error:
                raise
            raise better from error
        late = isinstance(result, types.GeneratorType)
        return _one_by_one(result, retold) if late else result

    return reads_by_itself(read)


def _one_by_one(
    results: Iterator[Any], retold: Callable[[Exception], Exception]
) -> Iterator[Any]:
    """What a generator gives; what it raises on the way is said as `retold` has it."""
    try:
        return (yield from results)
    except Exception as error:
        if (better := retold(error)) is error:
            raise
        raise better from error


class _Signature:
    """What a function takes: names in order, annotations, and what needs no look."""

    def __init__(self, function: Any, made_by: type):
        self._whole = inspect.signature(function)
        parameters = self._whole.parameters
        many = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        self._simple = all(one.kind not in many for one in parameters.values())
        placed = (
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        )
        self.names = [name for name, one in parameters.items() if one.kind in placed]
        needed = (name for name, one in parameters.items() if one.default is one.empty)
        self._needed = frozenset(needed)
        space = dict(getattr(function, "__globals__", {}))
        for base in made_by.__mro__[:-1]:
            space = vars(sys.modules[base.__module__]) | space
        self.annotations = {
            name: _resolved(one.annotation, space)
            for name, one in parameters.items()
            if one.annotation is not one.empty and one.kind not in many
        }
        self.free = {name for name, one in self.annotations.items() if is_free(one)}
        self.at_once = {name: _at_once(one) for name, one in self.annotations.items()}

    def bind(
        self, owner: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        """Arguments by name, as Python gives them to the function."""
        given = dict(zip(self.names, args, strict=False)) | kwargs
        whole = len(given) == len(args) + len(kwargs) and self._needed <= given.keys()
        if self._simple and whole and given.keys() <= self._whole.parameters.keys():
            return given
        try:
            bound = self._whole.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{owner}: {error}") from None
        return dict(bound.arguments)


def _at_once(annotation: Any) -> tuple[type, ...]:
    """Types whose values are right as they are."""
    options = flat(annotation)
    if any((get_origin(one) or one) is os.PathLike for one in options):
        return ()  # not all texts are paths
    return tuple(one for one in options if one in (str, bool, type(None)))


def _resolved(annotation: Any, space: dict[str, Any]) -> Any:
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, space)  # our own source, and nobody else's
    except NameError:
        return Any
