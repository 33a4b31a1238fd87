"""The reader of arguments: what a signature says is what a function takes.

`checked` reads every argument by its annotation before the function sees it. Lists and
NumPy numbers become what the annotation names; anything else is refused with function,
argument, rule and value. Rules that a type cannot say stand in the annotation too, as
`Annotated[int, Rule(…)]`; those that relate arguments stand in the first lines of the
function, with `require`. Errors from deeper inside stay as they are, with a note that
names the function.

This stands below every folder and loads nothing: JAX and NumPy are used only where an
annotation has arrays.
"""

import collections.abc
import dataclasses
import functools
import inspect
import math
import operator
import os
import sys
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, TypeVar, get_args, get_origin

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

# Exact formulas take huge numbers of samples; this is beyond all of them.
LARGEST_INTEGER = 10**50

_NO: Any = object()  # what a type answers to a value that is not its own


# Rules -----------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """What holds of a value, in words and as a test.

    `infinite` values may be allowed. `found` says what to show of a value that breaks
    the rule, where the value itself is too long. `traced` is what becomes of a value
    inside a JAX transformation, where there is no number to test.
    """

    words: str
    holds: Callable[[Any], Any]
    infinite: bool = False
    found: Callable[[Any], str] | None = None
    traced: Callable[[Any], Any] = lambda value: value


@dataclass(frozen=True)
class Own:
    """What a value must be for the object whose method gets it.

    `fitted(object, value)` is the value as the method wants it, or a `ValueError`.
    """

    words: str
    fitted: Callable[[Any, Any], Any]


Seed = Annotated[int, Rule("an integer from 0 to 2⁶³ − 1", lambda n: 0 <= n < 2**63)]
Whole = Annotated[int, Rule("an integer ≥ 0", lambda n: n >= 0)]
Natural = Annotated[int, Rule("an integer ≥ 1", lambda n: n >= 1)]
Seconds = Annotated[float, Rule("≥ 0 and finite", lambda x: 0 <= x < math.inf)]
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


class _Refused(ValueError):
    """An argument that breaks a rule; `checked` adds whose argument it is."""


def require(holds: bool, name: str, rule: str, value: object) -> None:
    """Refuse the argument `name`, which must be `rule`, unless `holds`.

    The message begins with the public function that was called.
    """
    if not holds:
        raise _Refused(f"`{name}` must be {rule}, got {value}")


def refuse(sentence: str) -> NoReturn:
    """Refuse a call in a sentence of its own, which names its arguments."""
    raise _Refused(sentence)


def read(value: Any, annotation: Any, name: str) -> Any:
    """`value` as an annotation wants it, for what stands in no signature."""
    reader = reader_of(annotation)
    return value if reader is None else reader(value, _Place(name, _Axes()))


def get_rules(annotation: Any) -> tuple[Any, ...]:
    """The rules of an annotation, to say more with them."""
    return get_args(annotation)[1:]


# Functions and classes -------------------------------------------------------


def checked(
    function: FunctionT, *, finite: bool = False, notes: bool = False
) -> FunctionT:
    """Read the arguments of a function by annotation; of a class, those of all methods.

    With `finite`, so is the result: overflow is said and never returned. A class that
    is not `finite` may be made of numbers that are not. With `notes`, errors from
    deeper inside get one that names the function. Inside a JAX
    transformation shapes and types are checked, values are not. Axes of a method's
    arguments are as long as those of the same name in the object's fields, and d is its
    `dimension`.
    """
    if not isinstance(function, type):
        return _reading(function, finite, notes)
    for name, value in list(vars(function).items()):
        kind = type(value) if isinstance(value, (staticmethod, classmethod)) else None
        method = value.__func__ if kind is not None else value
        if inspect.isfunction(method) and not hasattr(method, "__checked__"):
            if not name.startswith("_") or name == "__call__":
                read = _reading(method, finite, notes)
                setattr(function, name, read if kind is None else kind(read))
            elif name == "__check_init__":
                setattr(function, name, _named(method))
    # A named tuple is made by `__new__`, all others by `__init__`.
    made = "__new__" if issubclass(function, tuple) else "__init__"
    maker = getattr(function, made)
    if not hasattr(maker, "__checked__") and not inspect.isabstract(function):
        read = _reading(maker, finite, notes, maker_of=function)
        setattr(function, made, staticmethod(read) if made == "__new__" else read)
    return function  # pyright: ignore[reportReturnType]


def _reading(
    function: Any, finite: bool, notes: bool, *, maker_of: type | None = None
) -> Any:
    """`function`, whose arguments are read and whose results may have to be finite."""
    signature = functools.cache(lambda: _Signature(function, maker_of))
    name = function.__name__
    makes = maker_of is not None or name == "__init__"
    # What a private function refuses is said in the name of the public one.
    private = maker_of is None and name.startswith("_") and not name.startswith("__")

    @functools.wraps(function)
    def read(*args: Any, **kwargs: Any) -> Any:
        owner = _owner(function, maker_of, args)
        try:
            bound = signature().bind(owner, args, kwargs)
            given = bound.arguments
            axes = _Axes.of(given.get("self"))
            for name, reader in signature().readers.items():
                if name in given:
                    place = _Place(name, axes, given.get("self"), finite or not makes)
                    given[name] = reader(given[name], place)
            result = function(*bound.args, **bound.kwargs)
        except OverflowError as error:
            raise _too_large("float64", owner, kwargs) from error
        except MemoryError as error:
            if not notes:
                raise
            raise _too_large("memory", owner, kwargs) from error
        except _Refused as refusal:
            if private:
                raise
            raise _said(f"{owner}: {refusal}") from None
        except Exception as error:
            if str(error).startswith("RESOURCE_EXHAUSTED"):  # as XLA says it
                raise _too_large("memory", owner, kwargs) from error
            if notes and not hasattr(error, "said_by_iclab"):
                _note(error, owner)
            raise
        if finite and not makes and not _is_finite(result):
            raise _too_large("float64", owner, given)
        return result

    read.__checked__ = True  # pyright: ignore[reportAttributeAccessIssue]
    return read


def _named(method: Any) -> Any:
    """A check of fields, whose refusals begin with the name of the class."""

    @functools.wraps(method)
    def check(self: Any) -> None:
        try:
            method(self)
        except _Refused as refusal:
            raise _said(f"{type(self).__name__}: {refusal}") from None

    check.__checked__ = True  # pyright: ignore[reportAttributeAccessIssue]
    return check


def _owner(function: Any, maker_of: type | None, args: tuple[Any, ...]) -> str:
    """Who speaks: of a method, the class of its object, which may have inherited it."""
    if maker_of is not None:
        return maker_of.__name__
    kind, _, method = function.__qualname__.rpartition(".")
    if not kind or kind.endswith("<locals>"):
        return function.__qualname__
    if method in ("__call__", "__init__") and args:
        return type(args[0]).__name__
    itself = args[0] if args else None
    base = getattr(type(itself), "__mro__", ())
    inherits = any(one.__qualname__ == kind for one in base)
    return f"{type(itself).__name__ if inherits else kind}.{method}"


def _said(sentence: str) -> ValueError:
    """An error that names whose argument it is about: it needs no note."""
    error = ValueError(sentence)
    error.said_by_iclab = True  # pyright: ignore[reportAttributeAccessIssue]
    return error


def _note(error: Exception, owner: str) -> None:
    note = f"in iclab's {owner}"
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)


class _Signature:
    """What a function takes, and a reader for each argument that needs one."""

    def __init__(self, function: Any, maker_of: type | None):
        self._whole = inspect.signature(function)
        space = dict(getattr(function, "__globals__", {}))
        for base in () if maker_of is None else maker_of.__mro__[:-1]:
            space = vars(sys.modules[base.__module__]) | space
        many = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        self.readers = {
            name: reader
            for name, one in self._whole.parameters.items()
            if one.annotation is not one.empty and one.kind not in many
            if (reader := reader_of(_resolved(one.annotation, space))) is not None
        }

    def bind(
        self, owner: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> inspect.BoundArguments:
        """Arguments by name, as Python gives them to the function."""
        try:
            return self._whole.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{owner}: {error}") from None


def _resolved(annotation: Any, space: dict[str, Any]) -> Any:
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, space)  # our own source, and nobody else's
    except NameError:
        return Any


def _is_finite(result: Any) -> bool:
    """Whether all numbers in a result are finite, so far as they are known."""
    if result is None or isinstance(result, (str, bool, int, bytes)):
        return True
    if "jax" not in sys.modules:
        return not isinstance(result, float) or math.isfinite(result)
    leaves = sys.modules["jax"].tree.leaves(result)
    return all(math.isfinite(size) for leaf in leaves for size in _sizes(leaf, "f"))


def _too_large(what: str, owner: str, arguments: Mapping[str, Any]) -> ValueError:
    """What to raise when numbers overflow: which arguments it may come from."""
    jax, whole = sys.modules.get("jax"), dict(arguments)
    itself = whole.pop("self", None)
    whole = dict(getattr(itself, "__dict__", {})) | whole
    words = []
    for name, value in whole.items():
        leaves = [value] if jax is None else jax.tree.leaves(value)
        sizes = [size for leaf in leaves for size in _sizes(leaf, "iuf")]
        words += [f"`{name}` up to {max(sizes):.3g}"] if sizes else []
    return _said(f"{owner}: the result overflows {what} for {', '.join(words)}")


def _sizes(leaf: Any, kinds: str) -> list[float]:
    """The largest size among the known numbers of these kinds in a leaf, if any."""
    if isinstance(leaf, (int, float)) and not isinstance(leaf, bool):
        kind = "f" if isinstance(leaf, float) else "i"
        try:
            return [abs(float(leaf))] if kind in kinds else []
        except OverflowError:
            return [math.inf]
    dtype = getattr(leaf, "dtype", None)
    if is_traced(leaf) or dtype is None or _number_kind(dtype) not in set(kinds):
        return []
    import numpy as np

    array = np.asarray(leaf, float)
    return [float(np.max(np.abs(array)))] if array.size else []


# Values ----------------------------------------------------------------------


@dataclass(frozen=True)
class _Place:
    """Where a value stands: the argument's name, the axes known so far, the object."""

    name: str
    axes: "_Axes"
    itself: Any = None
    finite: bool = True

    def refuse(self, rule: str, value: object) -> NoReturn:
        raise _Refused(f"`{self.name}` must be {rule}, got {short(value)}")

    def part(self, key: object) -> "_Place":
        return dataclasses.replace(self, name=f"{self.name}[{short(key)}]")


# Reads a value, or refuses it in the name of its place.
Reader = Callable[[Any, _Place], Any]


@functools.cache
def _cached_reader(annotation: Any) -> Reader | None:
    return _reader(annotation)


def reader_of(annotation: Any) -> Reader | None:
    """What reads values of an annotation; None where anything goes."""
    try:
        return _cached_reader(annotation)
    except TypeError:  # an annotation that cannot be hashed
        return _reader(annotation)


def _reader(annotation: Any) -> Reader | None:
    if annotation is Any or annotation is object or isinstance(annotation, TypeVar):
        return None
    rules: list[Rule | Own] = []
    if get_origin(annotation) is Annotated:
        annotation, *metadata = get_args(annotation)
        rules = [one for one in metadata if isinstance(one, (Rule, Own))]
    options = flat(annotation)
    optional = type(None) in options
    options = [one for one in options if one is not type(None)]
    if len(options) == 1 and get_origin(options[0]) is Annotated and not rules:
        inner = _reader(options[0])
        assert inner is not None
        return lambda value, place: (
            None if value is None and optional else inner(value, place)
        )
    typed = _typed(options, rules)

    def read(value: Any, place: _Place) -> Any:
        if value is None and optional:
            return None
        value = typed(value, place)
        for rule in rules:
            value = _ruled(value, rule, place)
        return value

    return read


def _ruled(value: Any, rule: Rule | Own, place: _Place) -> Any:
    if isinstance(rule, Own):
        try:
            return rule.fitted(place.itself, value)
        except (ValueError, TypeError, OverflowError):
            place.refuse(rule.words, value)
    if is_traced(value):
        return rule.traced(value)
    if not rule.holds(value):
        found = value if rule.found is None else _Words(rule.found(value))
        place.refuse(rule.words, found)
    return value


def _typed(options: list[Any], rules: list[Any]) -> Reader:
    """Reads a value as one of several types."""
    arrays = [one for one in options if _is_array(one)]
    numeric = arrays or int in options or float in options
    others = [one for one in options if one not in (int, float, *arrays)]
    fitting = [(one, _fitting(one)) for one in others]
    rule = rules[0].words if rules else None
    words = rule or in_words(options)

    def other(value: Any, place: _Place) -> Any:
        for one, fitted in fitting:
            # Numbers are in arrays too, and in lists that become arrays.
            if numeric and (one is bool or (arrays and _is_collection(one))):
                continue
            if (found := fitted(value, place)) is not _NO:
                return found
        return _NO

    if not numeric:

        def read(value: Any, place: _Place) -> Any:
            if isinstance(value, str) and "\0" in value and "a path" in words:
                place.refuse(words, value)
            found = other(value, place)
            return place.refuse(words, value) if found is _NO else found

        return read

    if any(_holds(one, "key") for one in arrays):
        many = any(_holds(one, "key") and one.dim_str for one in arrays)
        return functools.partial(_key, many=many)
    shaped = [one for one in arrays if one.dim_str.split()]
    scalar = len(shaped) < len(arrays) or int in options or float in options
    if float in options or any(_holds(one, "float") for one in arrays):
        infinite = any(one.infinite for one in rules if isinstance(one, Rule))
        number = functools.partial(
            _number, plain=not arrays, rule=rule, infinite=infinite
        )
    else:
        number = functools.partial(_integer, rule=rule, array=int not in options)
    instead = [one for one in others if not _is_collection(one)]

    def read_numbers(value: Any, place: _Place) -> Any:
        found = other(value, place) if others else _NO
        if found is not _NO:
            return found
        if shaped and (not scalar or _count_axes(value) > 0):
            return _array(value, shaped[0], instead, place)
        return number(value, place)

    return read_numbers


def _fitting(one: Any) -> Reader:
    """Reads a value as a type that has no numbers, or answers `_NO`."""
    origin = get_origin(one) or one
    if origin is Annotated:
        return reader_of(one) or (lambda value, place: value)
    if origin is Literal:
        known = get_args(one)
        return lambda value, place: (
            value if isinstance(value, (str, int)) and value in known else _NO
        )
    if origin in _PLAIN:
        return lambda value, place: _PLAIN[origin](value)
    if origin is collections.abc.Callable:
        return lambda value, place: value if callable(value) else _NO
    if origin in _LISTS:
        return functools.partial(_list, kind=_LISTS[origin], inside=get_args(one))
    if origin in (collections.abc.Mapping, dict):
        return functools.partial(_mapping, inside=get_args(one))
    if isinstance(origin, type):
        return functools.partial(_object, kind=origin)
    return lambda value, place: value  # for the function to judge


def _object(value: Any, place: _Place, *, kind: type) -> Any:
    if not is_one(value, kind):
        return _NO
    # A copy of a prompt with other arrays has not been looked at.
    getattr(value, "_see_finite", lambda name: None)(place.name)
    return value


def _list(value: Any, place: _Place, *, kind: str, inside: tuple[Any, ...]) -> Any:
    """A list, of whose parts each is read; arrays hold nothing but numbers."""
    shape = getattr(value, "shape", None)
    if kind == "fixed" and len(inside) == 2 and inside[1] is Ellipsis:
        kind, inside = "tuple", inside[:1]
    takes = (tuple, list) if kind in ("fixed", "tuple") else collections.abc.Iterable
    lone = isinstance(value, (str, bytes, collections.abc.Mapping)) or shape == ()
    if lone or not isinstance(value, takes):
        return _NO
    if kind == "list" and not hasattr(value, "__getitem__"):
        return _NO
    if kind == "fixed" and inside:
        if len(tuple(value)) != len(inside):
            return _NO
        readers = [reader_of(one) for one in inside]
    else:
        one = inside[0] if inside else Any
        if shape is not None and kind == "list":
            words = one is str or str(getattr(one, "__module__", "")).startswith(
                "iclab"
            )
            return _NO if words else value
        readers = None if (reader := reader_of(one)) is None else reader
    parts = []
    for index, part in enumerate(value):
        read = readers[index] if isinstance(readers, list) else readers
        parts.append(part if read is None else read(part, place.part(index)))
    if kind == "list":
        return value if all(map(operator.is_, parts, value)) else parts
    return tuple(parts)


def _mapping(value: Any, place: _Place, *, inside: tuple[Any, ...]) -> Any:
    if not isinstance(value, collections.abc.Mapping):
        return _NO
    key, one = map(reader_of, inside or (Any, Any))
    if key is not None:
        for name in value:
            key(name, place.part("keys"))
    if one is None:
        return value
    parts = {name: one(part, place.part(name)) for name, part in value.items()}
    return value if all(map(operator.is_, parts.values(), value.values())) else parts


# Numbers and arrays ----------------------------------------------------------


def is_traced(value: object) -> bool:
    """Whether `value` is inside a JAX transformation and has no number to check."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.core.Tracer)


def _whole(value: Any) -> Any:
    """`value` as an `int`, or `_NO`; NumPy's and JAX's integers are some, too."""
    if isinstance(value, bool):
        return _NO
    try:
        return operator.index(value)
    except TypeError:
        return _NO


def _integer(value: Any, place: _Place, *, rule: str | None, array: bool) -> Any:
    if is_traced(value):
        return value
    integer = _whole(value)
    if integer is _NO:
        place.refuse(rule or "an integer", value)
    if abs(integer) > LARGEST_INTEGER:
        place.refuse("an integer of at most 50 digits", value)
    if not array:
        return integer
    import jax.numpy as jnp

    if abs(integer) >= 2**63:
        place.refuse("an integer of 64 bits", value)
    return value if hasattr(value, "dtype") else jnp.asarray(integer)


def _number(
    value: Any, place: _Place, *, plain: bool, rule: str | None, infinite: bool
) -> Any:
    """A number; where the annotation has no array, a `float`."""
    if is_traced(value):
        return value if value.ndim == 0 else place.refuse("a number", value)
    if type(value) in (int, float):
        kind, shape = "f", ()
    else:
        known = _known(value)
        kind = "" if known is None else _number_kind(known.dtype)
        shape = () if known is None else known.shape
    if kind not in ("i", "u", "f"):
        place.refuse("a number", value)
    if shape:
        place.refuse("a number", _Words(f"shape {shape}"))
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if place.finite and not infinite and not math.isfinite(number):
        place.refuse(rule or "finite", number)
    if math.isnan(number) and infinite:
        place.refuse(rule or "a number", number)
    if plain:
        return number
    if isinstance(value, int):
        return value if abs(value) < 2**53 else number
    if _is_jax(value):
        return value if kind == "f" else value.astype(float)
    return number


def _array(value: Any, annotation: Any, instead: list[Any], place: _Place) -> Any:
    import jax
    import jax.numpy as jnp
    import numpy as np

    whole = not _holds(annotation, "float")
    names = annotation.dim_str.split()
    rule = place.axes.rule(names, "integers" if whole else "numbers")
    rule = " or ".join([rule, *([in_words(instead)] if instead else [])])
    array = value if _is_jax(value) else _known(value)
    if array is None:
        place.refuse(rule, value)
    if not _is_jax(value) and annotation.array_type is not np.ndarray:
        with jax.ensure_compile_time_eval():  # a constant stays one in `jit`
            array = jnp.asarray(array)
    if not whole and _number_kind(array.dtype) in ("i", "u"):
        array = array.astype(float)
    if _number_kind(array.dtype) not in (("i", "u") if whole else ("f",)):
        place.refuse(rule, _Words(f"{array.dtype} of shape {array.shape}"))
    if not place.axes.fit(array.shape, names, f"`{place.name}`"):
        place.refuse(rule, _Words(f"shape {array.shape}"))
    if place.finite:
        finite_array(array, place.name)
    return array


def finite_array(value: Any, name: str) -> None:
    """Check that no entry is NaN or infinite; traced arrays pass."""
    if not is_traced(value):
        import numpy as np

        # NumPy, because inside a JAX transformation even known numbers would be traced.
        bad = int(np.sum(~np.isfinite(np.asarray(value))))
        require(bad == 0, name, "finite", f"{bad} entries that are not")


def _key(value: Any, place: _Place, *, many: bool) -> Any:
    import jax

    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    new = dtype is not None and jax.numpy.issubdtype(dtype, jax.dtypes.prng_key)
    old = dtype == "uint32" and shape in ((2,), (4,))
    if not old and not (new and (many or shape == ())):
        place.refuse("a random key, as `jax.random.key(0)` makes one", value)
    return value


def _is_jax(value: Any) -> bool:
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.Array)


def _known(value: Any) -> Any:
    """`value` as a NumPy array of real numbers; None where it is none."""
    import numpy as np

    try:
        array = np.asarray(value)
    except OverflowError:
        return np.asarray(math.inf)
    except (ValueError, TypeError):
        return None
    if array.dtype.kind == "O" and isinstance(value, int):
        return np.asarray(math.inf)
    return array if _number_kind(array.dtype) in ("i", "u", "f") else None


def _number_kind(dtype: Any) -> str:
    """ "i", "u" or "f" for numbers; JAX's short floats have a kind of their own."""
    kind = getattr(dtype, "kind", "")
    return "f" if kind == "V" and "float" in str(dtype) else kind


def _count_axes(value: Any) -> int:
    if hasattr(value, "ndim"):
        return value.ndim
    if isinstance(value, (int, float, str, bytes)) or value is None:
        return 0
    known = _known(value)
    return 0 if known is None else known.ndim


def _is_array(annotation: Any) -> bool:
    """Whether an annotation is one of jaxtyping's arrays."""
    return isinstance(annotation, type) and hasattr(annotation, "dim_str")


def _holds(annotation: Any, kind: str) -> bool:
    """Whether an array type is one of keys, floats or integers."""
    return any(kind in str(dtype) for dtype in annotation.dtypes)


@dataclass
class _Axes:
    """Lengths of axes by their names, and the argument that had each one first."""

    lengths: dict[str, int] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)
    # Of names such as `*runs`, which stand for any number of axes.
    several: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, itself: Any) -> "_Axes":
        """Those that an object has: of its fields, and d of its `dimension`."""
        axes = cls()
        if itself is None or not dataclasses.is_dataclass(itself):
            return axes
        for name, names in _array_fields(type(itself)):
            shape = getattr(getattr(itself, name, None), "shape", None)
            if shape is not None:
                axes.fit(shape, names, f"its `{name}`")
        dimension = getattr(itself, "dimension", None)
        if "d" not in axes.lengths and isinstance(dimension, int):
            axes.lengths["d"], axes.first["d"] = dimension, "its `dimension`"
        return axes

    def fit(self, shape: tuple[int, ...], names: list[str], argument: str) -> bool:
        """Whether a shape agrees with names of axes; if so they are known from now."""
        whole, several = names, ()
        star = next((i for i, name in enumerate(names) if name[0] in "*."), None)
        if star is not None:
            behind = len(names) - star - 1
            if len(shape) < star + behind:
                return False
            several = shape[star : len(shape) - behind]
            known = self.several.get(names[star], several)
            if names[star] != "..." and known != several:
                return False
            shape = (*shape[:star], *shape[len(shape) - behind :])
            names = [*names[:star], *names[star + 1 :]]
        if len(shape) != len(names):
            return False
        lengths = dict(self.lengths)
        for name, length in zip(names, shape, strict=True):
            if name.isdigit():
                lengths[name] = int(name)
            # A name that stands alone is learnt; `d+1` is for the function to compare.
            wanted = lengths.setdefault(name, length) if name.isalnum() else length
            if length != wanted or length < 1:
                return False
        if star is not None:
            self.several.setdefault(whole[star], several)
            self.first.setdefault(whole[star], argument)
        for name in lengths.keys() - self.lengths.keys():
            self.lengths[name], self.first[name] = lengths[name], argument
        return True

    def rule(self, names: list[str], kind: str) -> str:
        """What fits, in words."""
        axes = {one: ", ".join(map(str, some)) for one, some in self.several.items()}
        axes |= {name: str(length) for name, length in self.lengths.items()}
        words = [axes.get(name, name) for name in names]
        known = sorted(self.first[name] for name in names if name in self.first)
        origin = f" like {known[0]}" if known else ""
        if len(names) > 2 or any(name[0] in "*." for name in names):
            return f"an array of shape ({', '.join(filter(None, words))}){origin}"
        if len(names) == 1:
            length = f"{words[0]} " if words != names else ""
            return f"a vector of {length}{kind}{origin}"
        if names[0] == names[1]:
            return f"a {'×'.join(words)} matrix" if known else "a square matrix"
        article = "an" if words[0][0] in "hHmMnNfFlLrRsSxX8" else "a"
        return f"{article} {'×'.join(words)} matrix{origin}"


@functools.cache
def _array_fields(kind: type) -> list[tuple[str, list[str]]]:
    """Public fields that are arrays, and the names of their axes."""
    found: list[tuple[str, list[str]]] = []
    for one in dataclasses.fields(kind):
        arrays = [part for part in flat(one.type) if _is_array(part)]
        if arrays and not one.name.startswith("_"):
            found.append((one.name, arrays[0].dim_str.split()))
    return found


# Plain values ----------------------------------------------------------------


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


def _truth(value: Any) -> Any:
    plain = getattr(value, "shape", None) == () and str(value.dtype) == "bool"
    return bool(value) if isinstance(value, bool) or plain else _NO


def _path(value: Any) -> Any:
    if not isinstance(value, (str, os.PathLike)):
        return _NO
    text = os.fspath(value)
    return Path(text) if isinstance(text, str) and "\0" not in text else _NO


def _path_like(value: Any) -> Any:
    return _NO if isinstance(value, str) or _path(value) is _NO else value


_PLAIN: dict[Any, Callable[[Any], Any]] = {
    Any: lambda value: value,
    bool: _truth,
    Path: _path,
    os.PathLike: _path_like,
}

_LISTS: dict[Any, str] = {
    tuple: "fixed",
    list: "list",
    collections.abc.Sequence: "list",
    collections.abc.Iterable: "any",
    collections.abc.Collection: "any",
}

_WORDS: dict[Any, str] = {
    bool: "True or False",
    int: "an integer",
    float: "a number",
    str: "a string",
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
    found = list(dict.fromkeys(map(_type_words, options)))
    if "a path" in found and "a string" in found:
        found.remove("a string")
    return " or ".join(found)


def _type_words(annotation: Any) -> str:
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


def _is_collection(annotation: Any) -> bool:
    """Whether it names lists or the like, as which arrays may be given too."""
    origin = get_origin(annotation) or annotation
    return (
        isinstance(origin, type)
        and issubclass(origin, collections.abc.Collection)
        and origin is not str
    )


def is_one(value: Any, kind: type) -> bool:
    """Whether a value is of a class, or of a protocol that cannot be asked."""
    try:
        return isinstance(value, kind)
    except TypeError:
        return True


class _Words(str):
    """What to show of a value, in words that are shown as they are."""


def short(value: object) -> str:
    """A value for a message."""
    if getattr(value, "shape", None) == () and not is_traced(value):
        value = getattr(value, "item", lambda: value)()
    try:
        text = value if isinstance(value, _Words) else repr(value)
    except Exception:  # whatever somebody's object does when it is shown
        text = f"a {type(value).__name__}"
    text = " ".join(str(text).split())
    return text if len(text) <= 80 else f"{text[:77]}…"
