"""Arguments are read by their annotations: name, rule and value of what is refused.

This stands below every folder and loads nothing. Here are words, numbers, paths, lists,
dictionaries, functions and objects; `core` adds arrays, keys and matrices. `checked`
makes a function read its arguments before it sees them.
"""

import collections.abc
import functools
import inspect
import math
import opcode
import operator
import os
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

# Exact formulas take huge numbers of samples; this is beyond all of them.
LARGEST_INTEGER = 10**50

_NO: Any = object()  # what an option answers to a value that is not its own
_OWN = __name__.partition(".")[0] + "."
# These stand between a method, a copy, or a function whose types are checked, and its
# caller.
_BETWEEN = ("equinox.", "jaxtyping.", "dataclasses")
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


@dataclass(frozen=True)
class Rule:
    """What holds of a value, in words and as a test; may it be infinite?"""

    words: str
    holds: Callable[[Any], Any]
    infinite: bool = False


Seed = Annotated[int, Rule("an integer from 0 to 2⁶³ − 1", lambda n: 0 <= n < 2**63)]
Whole = Annotated[int, Rule("an integer ≥ 0", lambda n: n >= 0)]
Positive = Annotated[int, Rule("an integer ≥ 1", lambda n: n >= 1)]
Amount = Annotated[float, Rule("≥ 0 and finite", lambda x: 0 <= x < math.inf)]
Seconds = Amount
Finite = Annotated[float, Rule("finite", math.isfinite)]
Numbers = Annotated[
    Any, Rule("a number or an array of numbers", lambda value: _is_numbers(value))
]
# The same as JSON has it, where infinities and NaN are words.
Listed = Annotated[
    Any, Rule("a number or lists of numbers", lambda x: _is_numbers(x, words=True))
]

Json = Annotated[
    Mapping[str, Any], Rule("plain JSON values", lambda value: is_json(value))
]


def require(holds: bool, owner: str, name: str, rule: str, value: object) -> None:
    """Raise ``owner: `name` must be rule, got value`` unless `holds`."""
    if not holds:
        raise ValueError(f"{owner}: `{name}` must be {rule}, got {value}")


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
        return (function if caller.startswith(_OWN) else careful)(*args, **kwargs)

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
            better = _better(error, who, given, sorted(free), said)
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
        self.free = {name for name, one in self.annotations.items() if _is_free(one)}
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


def _better(
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
        if known and field.name[0] != "_" and _is_free(field.type):
            yield field.name


def _is_free(annotation: Any) -> bool:
    """Whether an annotation leaves open what a value is, or what is in it."""
    if isinstance(annotation, TypeVar) or annotation in (Any, object):
        return True
    origin = get_origin(annotation) or annotation
    if origin is collections.abc.Callable or "PyTree" in str(origin):
        return True
    if origin is Annotated:
        return False
    return any(_is_free(part) for part in get_args(annotation))


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith(_OWN)


def _is_meant(error: Exception) -> bool:
    """Whether code of ours has raised this in its own words."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False
    ours = trace.tb_frame.f_globals.get("__name__", "").startswith(_OWN)
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


@dataclass(frozen=True)
class Argument:
    """An argument on its way in."""

    owner: str
    name: str

    def read(self, value: Any, annotation: Any) -> Any:
        """`value` as the annotation wants it."""
        rules: list[Any] = []
        if get_origin(annotation) is Annotated:
            annotation, *metadata = get_args(annotation)
            rules = [one for one in metadata if self.is_rule(one)]
        options = flat(annotation)
        if value is None and type(None) in options:
            return None
        options = [one for one in options if one is not type(None)]
        if len(options) == 1 and get_origin(options[0]) is Annotated:
            return self.read(value, options[0])
        value = self.typed(value, options, rules)
        return functools.reduce(self.ruled, rules, value)

    def refuse(self, rule: str, value: object) -> typing.NoReturn:
        """Say that this argument is none."""
        require(False, self.owner, self.name, rule, short(value))
        raise AssertionError  # `require` has raised

    def is_rule(self, one: Any) -> bool:
        """Whether this is something to hold a value against."""
        return isinstance(one, Rule)

    def ruled(self, value: Any, rule: Any) -> Any:
        """`value`, if it keeps the rule."""
        if not rule.holds(value):
            self.refuse(rule.words, value)
        return value

    def typed(self, value: Any, options: list[Any], rules: list[Any]) -> Any:
        """`value` as one of the types wants it."""
        if isinstance(value, str) and "\0" in value and "a path" in in_words(options):
            self.refuse(in_words(options), value)
        for one in options:
            found = self._fitted(value, one)
            if found is not _NO:
                return found
        return self.refuse(rules[0].words if rules else in_words(options), value)

    def _fitted(self, value: Any, one: Any) -> Any:
        """`value` as a type wants it, or `_NO`."""
        origin = get_origin(one) or one
        if origin is Literal:
            known = isinstance(value, (str, int)) and value in get_args(one)
            return value if known else _NO
        if origin in _READERS:
            return _READERS[origin](value)
        if origin is tuple:
            return self._tuple(value, get_args(one))
        if origin is collections.abc.Callable:
            return value if callable(value) else _NO
        if origin in (collections.abc.Sequence, list):
            return self._sequence(value, get_args(one))
        if origin in (collections.abc.Iterable, collections.abc.Collection):
            kinds = (str, bytes, collections.abc.Mapping)
            alone = isinstance(value, kinds) or getattr(value, "shape", 1) == ()
            if alone or not isinstance(value, collections.abc.Iterable):
                return _NO
            return tuple(self._inside(value, get_args(one)))
        if origin in (collections.abc.Mapping, dict):
            return self._mapping(value, get_args(one))
        if not isinstance(origin, type) or is_one(value, origin):
            return value  # of the right class, or for the function to judge
        return _NO

    def _tuple(self, value: Any, inside: tuple[Any, ...]) -> Any:
        if not isinstance(value, (tuple, list)):
            return _NO
        if len(inside) == 2 and inside[1] is Ellipsis:
            return tuple(self._inside(value, inside))
        if len(inside) != len(value):
            return _NO if inside else tuple(value)
        return tuple(
            self._part(place, one, kind)
            for place, (one, kind) in enumerate(zip(value, inside, strict=True))
        )

    def _sequence(self, value: Any, inside: tuple[Any, ...]) -> Any:
        if not is_sequence(value):
            return _NO
        if hasattr(value, "shape"):  # nothing but numbers is in an array
            kind = inside[0] if inside else Any
            home = str(getattr(kind, "__module__", ""))
            return _NO if kind is str or home.startswith("iclab.") else value
        parts = list(self._inside(value, inside))
        return value if _same(parts, value) else parts

    def _mapping(self, value: Any, inside: tuple[Any, ...]) -> Any:
        if not isinstance(value, collections.abc.Mapping):
            return _NO
        names, values = inside or (Any, Any)
        for name in value:
            self._part("keys", name, names)
        parts = {name: self._part(name, one, values) for name, one in value.items()}
        return value if _same(parts.values(), value.values()) else parts

    def _inside(self, value: Any, inside: tuple[Any, ...]) -> Iterator[Any]:
        kind = inside[0] if inside else Any
        for place, one in enumerate(value):
            yield self._part(place, one, kind)

    def _part(self, place: object, value: Any, kind: Any) -> Any:
        if kind is Any:
            return value
        kind = Any if isinstance(kind, (str, typing.ForwardRef)) else kind
        named = replace(self, name=f"{self.name}[{short(place)}]")
        return named.read(value, kind)


def _same(parts: Iterable[Any], value: Iterable[Any]) -> bool:
    """Whether everything in it was right as it was."""
    return all(one is other for one, other in zip(parts, value, strict=True))


def is_json(value: Any) -> bool:
    """Whether JSON can hold this; of a mapping, whether it can hold its values."""
    import json  # only who writes needs it

    try:
        json.dumps(dict(value) if isinstance(value, Mapping) else value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _is_numbers(value: Any, *, words: bool = False) -> bool:
    """Whether NumPy makes numbers of this, and of words such as `nan` if they count."""
    import numpy as np  # only who has numbers needs it

    try:
        array = np.asarray(value)
        known = array.dtype.kind not in ("c" if words else "USc")
        if array.dtype.kind == "O":  # integers of many digits
            known = words or all(isinstance(one, int) for one in array.flat)
        return known and np.asarray(array, float).dtype == float
    except (ValueError, TypeError, OverflowError):
        return False


def _integer(value: Any) -> Any:
    try:
        integer = _NO if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return _NO
    return integer if integer is _NO or abs(integer) <= LARGEST_INTEGER else _NO


def _number(value: Any) -> Any:
    if isinstance(value, float):
        return float(value)  # NumPy's are some, too
    if _is_plain_array(value, "iuf"):
        return float(value)
    return _integer(value)


def _truth(value: Any) -> Any:
    if isinstance(value, bool) or _is_plain_array(value, "b"):
        return bool(value)
    return _NO


def _path(value: Any) -> Any:
    if not isinstance(value, (str, os.PathLike)):
        return _NO
    text = os.fspath(value)
    usable = isinstance(text, str) and "\0" not in text
    return Path(text) if usable else _NO


def _path_like(value: Any) -> Any:
    return _NO if isinstance(value, str) or _path(value) is _NO else value


def _is_plain_array(value: Any, kinds: str) -> bool:
    """Whether this is a number of NumPy or JAX without axes, of one of these kinds."""
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    return kind is not None and kind in kinds and getattr(value, "shape", None) == ()


_READERS: dict[Any, Callable[[Any], Any]] = {
    Any: lambda value: value,
    bool: _truth,
    int: _integer,
    float: _number,
    Path: _path,
    os.PathLike: _path_like,
}

_WORDS: dict[Any, str] = {
    bool: "True or False",
    int: "an integer",
    float: "a number",
    str: "a text",
    type: "a class",
    Path: "a path",
    os.PathLike: "a path",
    tuple: "a list",
    list: "a list",
    dict: "a dictionary",
    collections.abc.Callable: "a function",
    collections.abc.Sequence: "a list",
    collections.abc.Iterable: "a list",
    collections.abc.Mapping: "a dictionary",
}


def in_words(options: list[Any]) -> str:
    """What fits one of several types."""
    found = list(dict.fromkeys(map(_named, options)))
    if "a path" in found and "a text" in found:
        found.remove("a text")
    return " or ".join(found)


def _named(annotation: Any) -> str:
    origin = get_origin(annotation) or annotation
    if origin is Literal:
        return " or ".join(map(repr, get_args(annotation)))
    if origin in _WORDS:
        return _WORDS[origin]
    if "_in_words" in getattr(origin, "__dict__", ()):
        return origin._in_words
    name = getattr(origin, "__name__", str(origin)).removeprefix("Abstract")
    return f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}"


def flat(annotation: Any) -> list[Any]:
    """The types of a union, or the one that there is."""
    if get_origin(annotation) in (typing.Union, types.UnionType):
        return [one for part in get_args(annotation) for one in flat(part)]
    return [annotation]


def is_sequence(value: Any) -> bool:
    """Whether there is a first and a last; letters of a word do not count."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return len(value.shape) > 0
    return isinstance(value, collections.abc.Sequence) and not isinstance(
        value, (str, bytes)
    )


def is_one(value: Any, kind: type) -> bool:
    """Whether a value is of a class, or of a protocol that cannot be asked."""
    try:
        return isinstance(value, kind)
    except TypeError:
        return True


def short(value: object) -> str:
    """A value for a message."""
    described = isinstance(value, str) and "shape (" in value
    try:
        text = value if described else repr(value)
    except Exception:  # whatever somebody's object does when it is shown
        text = f"a {type(value).__name__}"
    text = " ".join(str(text).split())
    return text if len(text) <= 80 else f"{text[:77]}…"
