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
import itertools
import math
import operator
import os
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
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
    return _reader(annotation)(value, _Place(name, _Axes()))


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
    deeper inside get one that names the function. Inside a JAX transformation shapes
    and types are checked, values are not. Axes of a method's arguments are as long as
    those of the same name in the object's fields, and d is its `dimension`.
    """
    if not isinstance(function, type):
        return _reading(function, finite, notes)
    for name, value in list(vars(function).items()):
        kind = type(value) if isinstance(value, (staticmethod, classmethod)) else None
        method = value.__func__ if kind is not None else value
        public = not name.startswith("_") or name in ("__call__", "__check_init__")
        if inspect.isfunction(method) and public and not hasattr(method, "__checked__"):
            read = _reading(method, finite, notes)
            setattr(function, name, read if kind is None else kind(read))
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
    signature = functools.cache(lambda: _signature(function, maker_of))
    name = function.__name__
    makes = maker_of is not None or name == "__init__"
    # What a private function refuses is said in the name of the public one.
    private = maker_of is None and name.startswith("_") and not name.startswith("__")

    @functools.wraps(function)
    def read(*args: Any, **kwargs: Any) -> Any:
        owner = _owner(function, maker_of, args)
        try:
            parameters, readers = signature()
            try:
                bound = parameters.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{owner}: {error}") from None
            given = bound.arguments
            itself = given.get("self")
            axes = _Axes.of(itself)
            for name, reader in readers.items():
                if name in given:
                    place = _Place(name, axes, itself, finite or not makes)
                    given[name] = reader(given[name], place)
            result = function(*bound.args, **bound.kwargs)
        except _Refused as refusal:
            if private:
                raise
            raise _said(f"{owner}: {refusal}") from None
        except Exception as error:
            if isinstance(error, OverflowError):
                raise _too_large("float64", owner, kwargs) from error
            exhausted = str(error).startswith("RESOURCE_EXHAUSTED")  # as XLA says it
            if exhausted or (notes and isinstance(error, MemoryError)):
                raise _too_large("memory", owner, kwargs) from error
            note = f"in iclab's {owner}"
            named = hasattr(error, "said_by_iclab")
            if notes and not named and note not in getattr(error, "__notes__", ()):
                error.add_note(note)
            raise
        if finite and not makes and math.inf in _sizes(result, "f"):
            raise _too_large("float64", owner, given)
        return result

    read.__checked__ = True  # pyright: ignore[reportAttributeAccessIssue]
    return read


def _owner(function: Any, maker_of: type | None, args: tuple[Any, ...]) -> str:
    """Who speaks: of a method, the class of its object, which may have inherited it."""
    if maker_of is not None:
        return maker_of.__name__
    kind, _, method = function.__qualname__.rpartition(".")
    if not kind or kind.endswith("<locals>"):
        return function.__qualname__
    itself = type(args[0]) if args else type(None)
    if method in ("__call__", "__init__", "__check_init__"):
        return itself.__name__
    inherits = any(base.__qualname__ == kind for base in itself.__mro__)
    return f"{itself.__name__ if inherits else kind}.{method}"


def _signature(
    function: Any, maker_of: type | None
) -> tuple[inspect.Signature, dict[str, "Reader"]]:
    """What a function takes, and a reader for each argument that has an annotation."""
    signature = inspect.signature(function)
    names = dict(getattr(function, "__globals__", {}))
    for base in () if maker_of is None else maker_of.__mro__[:-1]:
        names = vars(sys.modules[base.__module__]) | names
    many = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    readers = {
        name: _reader(_resolved(one.annotation, names))
        for name, one in signature.parameters.items()
        if one.annotation is not one.empty and one.kind not in many
    }
    return signature, {name: one for name, one in readers.items() if one is not _any}


def _resolved(annotation: Any, names: dict[str, Any]) -> Any:
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, names)  # our own source, and nobody else's
    except NameError:
        return Any


def _said(sentence: str) -> ValueError:
    """An error that names whose argument it is about: it needs no note."""
    error = ValueError(sentence)
    error.said_by_iclab = True  # pyright: ignore[reportAttributeAccessIssue]
    return error


def _too_large(what: str, owner: str, arguments: Mapping[str, Any]) -> ValueError:
    """What to raise when numbers overflow: which arguments it may come from."""
    whole = dict(arguments)
    whole = dict(getattr(whole.pop("self", None), "__dict__", {})) | whole
    sizes = {name: _sizes(value, "iuf") for name, value in whole.items()}
    words = [f"`{name}` up to {max(some):.3g}" for name, some in sizes.items() if some]
    return _said(f"{owner}: the result overflows {what} for {', '.join(words)}")


def _sizes(value: Any, kinds: str) -> list[float]:
    """The largest size in each array or number of these kinds, where it is known.

    It is infinite where a number is not finite.
    """
    sizes, jax = [], sys.modules.get("jax")
    for leaf in [value] if jax is None else jax.tree.leaves(value):
        kind = "i" if isinstance(leaf, int) else _kind(getattr(leaf, "dtype", None))
        kind = "f" if isinstance(leaf, float) else kind
        if is_traced(leaf) or isinstance(leaf, bool) or kind not in tuple(kinds):
            continue
        array = _known(leaf)
        if array is not None and array.size:
            import numpy as np

            size = float(np.max(np.abs(np.asarray(array, float))))
            sizes.append(size if math.isfinite(size) else math.inf)
    return sizes


# Values ----------------------------------------------------------------------


@dataclass(frozen=True)
class _Place:
    """Where a value stands: the argument's name, the axes known so far, the object."""

    name: str
    axes: "_Axes"
    itself: Any = None
    finite: bool = True

    def refuse(self, rule: str, value: object = None, *, found: str = "") -> NoReturn:
        raise _Refused(f"`{self.name}` must be {rule}, got {found or short(value)}")

    def part(self, key: object) -> "_Place":
        return dataclasses.replace(self, name=f"{self.name}[{short(key)}]")


# Reads a value; refuses it in the name of its place, or answers `_NO` if that is for
# the caller to do, who knows of other types that it may be.
Reader = Callable[[Any, _Place], Any]


def _any(value: Any, place: _Place) -> Any:
    """Anything goes."""
    return value


def _reader(annotation: Any) -> Reader:
    """What reads values of an annotation, and refuses what does not fit it."""
    if annotation is Any or annotation is object or isinstance(annotation, TypeVar):
        return _any
    rules: list[Rule | Own] = []
    if get_origin(annotation) is Annotated:
        annotation, *metadata = get_args(annotation)
        rules = [one for one in metadata if isinstance(one, (Rule, Own))]
    options = flat(annotation)
    optional = type(None) in options
    options = [one for one in options if one is not type(None)]
    if os.PathLike in (get_origin(one) or one for one in options):
        options = [one for one in options if one is not str]  # which is a path, too
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
        place.refuse(rule.words, value, found=rule.found(value) if rule.found else "")
    return value


def _typed(options: list[Any], rules: list[Rule | Own]) -> Reader:
    """Reads a value as one of several types."""
    arrays = [one for one in options if _is_array(one)]
    if any(_holds(one, "key") for one in arrays):
        many = any(one.dim_str for one in arrays if _holds(one, "key"))
        return functools.partial(_key, many=many)
    numeric = arrays or int in options or float in options
    others = [one for one in options if one not in (int, float, *arrays)]
    if numeric:  # numbers are not truth values, and lists of them are arrays
        others = [one for one in others if one is not bool]
    if arrays:
        others = [one for one in others if not _is_collection(one)]
    fitting = [_fitting(one) for one in others]
    number = _numbers(options, arrays, others, rules) if numeric else None
    words = rules[0].words if rules else _in_words(options)

    def read(value: Any, place: _Place) -> Any:
        for fitted in fitting:
            if (found := fitted(value, place)) is not _NO:
                return found
        return place.refuse(words, value) if number is None else number(value, place)

    return read


def _fitting(one: Any) -> Reader:
    """Reads a value as a type that has no numbers, or answers `_NO`."""
    origin, inside = get_origin(one) or one, get_args(one)
    if origin is Annotated:
        return _reader(one)
    if origin is Literal:
        return lambda value, place: (
            value if isinstance(value, (str, int)) and value in inside else _NO
        )
    if origin is collections.abc.Callable:
        return lambda value, place: value if callable(value) else _NO
    if origin in _PLAIN:
        return lambda value, place: _PLAIN[origin](value)
    if origin is tuple:
        return _tuple(inside)
    if origin in _LISTS:
        one = inside[0] if inside else Any
        return functools.partial(_list, kind=origin, one=one, each=_reader(one))
    if origin in (collections.abc.Mapping, dict):
        key, each = map(_reader, inside or (Any, Any))
        return functools.partial(_mapping, key=key, each=each)
    if isinstance(origin, type) and origin is not Any:
        return functools.partial(_object, kind=origin)
    return _any  # for the function to judge


def _object(value: Any, place: _Place, *, kind: type) -> Any:
    try:
        if not isinstance(value, kind):
            return _NO
    except TypeError:  # a protocol that cannot be asked
        return value
    # A copy of a prompt with other arrays has not been looked at.
    getattr(value, "_see_finite", lambda name: None)(place.name)
    return value


def _tuple(inside: tuple[Any, ...]) -> Reader:
    """Reads tuples, or lists in their place, of so many parts or of any number."""
    readers = [_reader(one) for one in inside if one is not Ellipsis]
    fixed = len(inside) == len(readers) > 0

    def read(value: Any, place: _Place) -> Any:
        if not isinstance(value, (tuple, list)):
            return _NO
        wanted = readers if fixed else (readers or [_any]) * len(value)
        if len(value) != len(wanted):
            return _NO
        return tuple(_parts(value, wanted, place))

    return read


def _list(value: Any, place: _Place, *, kind: Any, one: Any, each: Reader) -> Any:
    """A list, of whose parts each is read; arrays hold nothing but numbers."""
    shape = getattr(value, "shape", None)
    lone = isinstance(value, (str, bytes, collections.abc.Mapping)) or shape == ()
    if lone or not isinstance(value, collections.abc.Iterable):
        return _NO
    readers = itertools.repeat(each)
    if kind not in (list, collections.abc.Sequence):
        return tuple(_parts(value, readers, place))
    if not hasattr(value, "__getitem__"):
        return _NO
    if shape is not None:
        ours = str(getattr(one, "__module__", "")).startswith("iclab")
        return _NO if one is str or ours else value
    parts = _parts(value, readers, place)
    return value if all(map(operator.is_, parts, value)) else parts


def _mapping(value: Any, place: _Place, *, key: Reader, each: Reader) -> Any:
    if not isinstance(value, collections.abc.Mapping):
        return _NO
    for name in () if key is _any else value:
        key(name, place.part("keys"))
    if each is _any:
        return value
    parts = {name: each(part, place.part(name)) for name, part in value.items()}
    return value if all(map(operator.is_, parts.values(), value.values())) else parts


def _parts(value: Iterable[Any], readers: Iterable[Reader], place: _Place) -> list[Any]:
    both = enumerate(zip(value, readers))  # noqa: B905  one reader may serve all
    return [
        part if read is _any else read(part, place.part(index))
        for index, (part, read) in both
    ]


# Numbers and arrays ----------------------------------------------------------


def _numbers(
    options: list[Any], arrays: list[Any], others: list[Any], rules: list[Rule | Own]
) -> Reader:
    """Reads numbers, and arrays of them; refusing an array names the `others`."""
    rule = rules[0].words if rules else None
    shaped = [one for one in arrays if one.dim_str.split()]
    scalar = len(shaped) < len(arrays) or int in options or float in options
    if float in options or any(_holds(one, "float") for one in arrays):
        infinite = any(isinstance(one, Rule) and one.infinite for one in rules)
        number = functools.partial(
            _number, plain=not arrays, rule=rule, infinite=infinite
        )
    else:
        number = functools.partial(_integer, rule=rule, array=int not in options)

    def read(value: Any, place: _Place) -> Any:
        known = value if hasattr(value, "ndim") or not shaped else _known(value)
        if shaped and (not scalar or getattr(known, "ndim", 0) > 0):
            return _array(value, shaped[0], others, place)
        return number(value, place)

    return read


def _integer(value: Any, place: _Place, *, rule: str | None, array: bool) -> Any:
    """An `int`, also of NumPy's and JAX's integers; or an array without axes."""
    if is_traced(value):
        return value
    try:
        integer = operator.index(value)
    except TypeError:
        integer = None
    if integer is None or isinstance(value, bool):
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
    kind = "f"
    if type(value) not in (int, float):
        known = _known(value)
        if known is None:
            place.refuse("a number", value)
        if known.shape:
            place.refuse("a number", found=f"shape {known.shape}")
        kind = _kind(known.dtype)
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
    rule = f"{rule} or {_in_words(instead)}" if instead else rule
    array = value if _is_jax(value) else _known(value)
    if array is None:
        place.refuse(rule, value)
    if not _is_jax(value) and annotation.array_type is not np.ndarray:
        with jax.ensure_compile_time_eval():  # a constant stays one in `jit`
            array = jnp.asarray(array)
    if not whole and _kind(array.dtype) in ("i", "u"):
        array = array.astype(float)
    if _kind(array.dtype) not in (("i", "u") if whole else ("f",)):
        place.refuse(rule, found=f"{array.dtype} of shape {array.shape}")
    if not place.axes.fit(array.shape, names, f"`{place.name}`"):
        empty = ", which is empty" if 0 in array.shape else ""
        place.refuse(rule, found=f"shape {array.shape}{empty}")
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


def is_traced(value: object) -> bool:
    """Whether `value` is inside a JAX transformation and has no number to check."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.core.Tracer)


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
    return array if _kind(array.dtype) in ("i", "u", "f") else None


def _kind(dtype: Any) -> str:
    """ "i", "u" or "f" for numbers; JAX's short floats have a kind of their own."""
    kind = getattr(dtype, "kind", "")
    return "f" if kind == "V" and "float" in str(dtype) else kind


def _is_array(annotation: Any) -> bool:
    """Whether an annotation is one of jaxtyping's arrays."""
    return isinstance(annotation, type) and hasattr(annotation, "dim_str")


def _holds(annotation: Any, kind: str) -> bool:
    """Whether an array type is one of keys, floats or integers."""
    return any(kind in str(dtype) for dtype in annotation.dtypes)


@dataclass
class _Axes:
    """Lengths of axes by their names, and the argument that had each one first.

    A name such as `*runs` stands for any number of axes, and has as many lengths.
    """

    lengths: dict[str, int | tuple[int, ...]] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)

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
        star = next((i for i, name in enumerate(names) if name[0] in "*."), None)
        if star is not None:  # its axes become one entry
            end = len(shape) - (len(names) - star - 1)
            if end < star:
                return False
            shape = (*shape[:star], shape[star:end], *shape[end:])  # pyright: ignore
        if len(shape) != len(names):
            return False
        lengths = dict(self.lengths)
        for name, length in zip(names, shape, strict=True):
            wanted = length
            if name.isdigit():
                wanted = int(name)
            elif name.removeprefix("*").isalnum():  # `d+1` is for the function
                wanted = lengths.setdefault(name, length)
            if length != wanted or length == 0:
                return False
        for name in lengths.keys() - self.lengths.keys():
            self.lengths[name], self.first[name] = lengths[name], argument
        return True

    def rule(self, names: list[str], kind: str) -> str:
        """What fits, in words."""
        words = []
        for name in names:
            length = self.lengths.get(name, name)
            words += map(str, length) if isinstance(length, tuple) else [str(length)]
        known = [self.first[name] for name in names if name in self.first]
        origin = f" like {min(known)}" if known else ""
        if len(names) > 2 or any(name[0] in "*." for name in names):
            return f"an array of shape ({', '.join(words)}){origin}"
        if len(names) == 1:
            length = f"{words[0]} " if words != names else ""
            return f"a vector of {length}{kind}{origin}"
        if names[0] == names[1] and not known:
            return "a square matrix"
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


# Plain values and words ------------------------------------------------------


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
    text = os.fspath(value) if isinstance(value, (str, os.PathLike)) else b""
    return Path(text) if isinstance(text, str) and "\0" not in text else _NO


_PLAIN: dict[Any, Callable[[Any], Any]] = {
    bool: _truth,
    Path: _path,
    os.PathLike: lambda value: _NO if _path(value) is _NO else value,
}

_LISTS = (
    list,
    collections.abc.Sequence,
    collections.abc.Iterable,
    collections.abc.Collection,
)

_WORDS: dict[Any, str] = {
    bool: "True or False",
    int: "an integer",
    float: "a number",
    str: "a string",
    type: "a class",
    Path: "a path",
    os.PathLike: "a path",
    tuple: "a list",
    dict: "a dictionary",
    collections.abc.Mapping: "a dictionary",
    collections.abc.Callable: "a function",
    **dict.fromkeys(_LISTS, "a list"),
}


def _in_words(options: list[Any]) -> str:
    """What fits one of several types."""
    return " or ".join(dict.fromkeys(map(_type_words, options)))


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
    listed = isinstance(origin, type) and issubclass(origin, collections.abc.Collection)
    return listed and origin is not str


def short(value: object) -> str:
    """A value for a message."""
    if getattr(value, "shape", None) == () and not is_traced(value):
        value = getattr(value, "item", lambda: value)()
    try:
        text = repr(value)
    except Exception:  # whatever somebody's object does when it is shown
        text = f"a {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= 80 else f"{text[:77]}…"
