"""One way to read arguments: what a signature says is what a function takes.

`checked` reads every argument by its annotation before the function sees it. Lists and
NumPy numbers become what the annotation names; whatever is not that is refused with the
owner, the argument's name, the rule and the value. Rules that types cannot say stand in
the annotation too (`Positive`, `Covariance`, `Size`), or in the function's first lines.
"""

import collections.abc
import dataclasses
import functools
import inspect
import math
import operator
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args, get_origin

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import AbstractArray

from iclab._reading import (
    LARGEST_INTEGER,
    Argument,
    FunctionT,
    Rule,
    flat,
    from_outside,
    in_words,
    is_one,
    read_methods,
    reading,
    require,
    short,
    spoken,
)
from iclab.core._errors import finite_array, is_traced
from iclab.core._rules import Matrix, Own
from iclab.core._symmetric import covariance_matrix, symmetric_matrix


@typing.overload
def checked(function: FunctionT, *, finite: bool = True) -> FunctionT: ...


@typing.overload
def checked(
    *, finite: bool = True, types_only: bool = False
) -> Callable[[FunctionT], FunctionT]: ...


def checked(
    function: Any = None, *, finite: bool = True, types_only: bool = False
) -> Any:
    """Read the arguments of a function by annotation; of a class, those of all methods.

    A `finite` result is promised too: overflow is said, with the arguments that it may
    come from, and never returned. Inside a JAX transformation shapes and types are
    checked, values are not. With `types_only` shapes and values of a constructor are
    left to who has better words for them, as classes with a `__check_init__` do.

    Methods read what comes from outside. Axes of their arguments are as long as those
    of the same name in the object's fields, and d is its `dimension`.
    """
    if function is None:
        return functools.partial(checked, finite=finite, types_only=types_only)
    require(callable(function), "checked", "function", "a function", short(function))
    if isinstance(function, type):
        return _checked_class(function, finite, types_only)
    *_, name = words = function.__qualname__.split(".")
    owner = words[-2] if name == "__init__" else function.__qualname__
    results = finite and name != "__init__"
    return _reading(function, owner, results=results, types_only=types_only)


def _checked_class(kind: Any, finite: bool, types_only: bool) -> type:
    def method(function: Any) -> Any:
        careful = _reading(function, function.__qualname__, results=finite)
        return from_outside(function, careful)

    read_methods(kind, method)
    made = kind.__init__
    known = getattr(made, "reads_arguments", False)
    if not known and not inspect.isabstract(kind):
        kind.__init__ = _reading(
            made, kind.__name__, results=False, types_only=types_only
        )
    return kind


def _reading(
    function: Any, owner: str, *, results: bool, types_only: bool = False
) -> Any:
    def begin(given: Mapping[str, Any]) -> Any:
        itself = given.get("self")
        axes = _Axes.of(itself)
        who = spoken(owner, given)
        return lambda name: _Argument(who, name, axes, itself, types_only)

    def after(result: Any, arguments: Mapping[str, Any]) -> None:
        if results and not _finite(result):
            raise _beyond(spoken(owner, arguments), arguments)

    def said(error: Exception, arguments: Mapping[str, Any]) -> Exception | None:
        if _is_memory(error):
            return _beyond(spoken(owner, arguments), arguments, "memory")
        if isinstance(error, OverflowError) or _on_the_way(error, arguments):
            return _beyond(spoken(owner, arguments), arguments)
        if isinstance(error, (jax.errors.JaxRuntimeError, eqx.EquinoxRuntimeError)):
            return _from_inside(error, spoken(owner, arguments))
        return None

    return reading(function, owner, begin, after, said=said)


def _on_the_way(error: Exception, arguments: Mapping[str, Any]) -> bool:
    """Whether another one of ours was given numbers that had overflowed by then."""
    refused = re.match(r"\w+: `(\w+)` must be finite\b", str(error))
    if type(error) is not ValueError or refused is None or refused[1] in arguments:
        return False
    plain = (int, float, str, np.ndarray, np.generic, jax.Array, types.NoneType)
    # An object among them may have refused what it holds itself.
    return all(isinstance(one, plain) for one in arguments.values())


def _from_inside(error: Exception, owner: str) -> Exception | None:
    """What another one of ours said that compiled code has called, if one did."""
    words = r"Error: ((\w+): `\w+` must .*?)(\n-{9}|$)"
    inside = re.search(words, str(error), re.DOTALL)
    own = isinstance(error, eqx.EquinoxRuntimeError)  # it speaks for itself
    if inside is None or (own and inside[2] == owner.partition(".")[0]):
        return None
    return ValueError(inside[1].strip())


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
        if not dataclasses.is_dataclass(itself):
            return axes
        for name, names in _fields(type(itself)):
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
        many = any(name[0] in "*." for name in names)
        known = sorted(self.first[name] for name in names if name in self.first)
        origin = f" like {known[0]}" if known else ""
        if many:
            return f"an array of shape ({', '.join(filter(None, words))}){origin}"
        if len(names) == 1:
            length = f"{words[0]} " if words != names else ""
            return f"a vector of {length}{kind}{origin}"
        if len(names) == 2 and names[0] == names[1]:
            return f"a {'×'.join(words)} matrix" if known else "a square matrix"
        if len(names) == 2:
            article = "an" if words[0][0] in "hHmMnNfFlLrRsSxX8" else "a"
            return f"{article} {'×'.join(words)} matrix{origin}"
        return f"an array of shape ({', '.join(words)}){origin}"


@functools.cache
def _fields(kind: type) -> list[tuple[str, list[str]]]:
    """Public fields that are arrays, and the names of their axes."""
    found: list[tuple[str, list[str]]] = []
    for one in dataclasses.fields(kind):
        arrays = [part for part in flat(one.type) if _is_array(part)]
        if arrays and not one.name.startswith("_"):
            found.append((one.name, arrays[0].dim_str.split()))
    return found


@dataclass(frozen=True)
class _Argument(Argument):
    """An argument on its way in, that may be an array, a key or a matrix."""

    axes: _Axes
    itself: Any = None
    types_only: bool = False

    def is_rule(self, one: Any) -> bool:
        return isinstance(one, (Rule, Matrix, Own))

    def _mapping(self, value: Any, inside: tuple[Any, ...]) -> Any:
        # What is in it has better words of its own, as `named_predictors` has.
        return super()._mapping(value, ())

    def read(self, value: Any, annotation: Any) -> Any:
        found = super().read(value, annotation)
        if hasattr(type(found), "_see_finite"):  # of a prompt
            found._see_finite(self.owner, self.name)
        return found

    def typed(self, value: Any, options: list[Any], rules: list[Any]) -> Any:
        arrays = [one for one in options if _is_array(one)]
        shaped = [one for one in arrays if one.dim_str.split()]
        keys = [one for one in arrays if _holds(one, "key")]
        if keys:
            return self._key(value, many=any(one.dim_str for one in keys))
        real = float in options or any(_holds(one, "float") for one in arrays)
        if not real and not shaped and (int in options or arrays):
            whole = self._integer(value, rules)
            if int in options or isinstance(value, jax.Array):
                return whole if int in options else value
            try:
                return jnp.asarray(whole)
            except OverflowError:
                self.refuse("an integer of 64 bits", value)
        others = [one for one in options if one not in (int, float, *arrays)]
        if any(_is_other(value, one) for one in others):
            return value
        known = _known(value)
        axes = 0 if known is None else known.ndim
        scalar = len(shaped) < len(arrays) or int in options or float in options
        if shaped and (axes > 0 or not scalar):
            numpy = all(one.array_type is np.ndarray for one in shaped)
            return self._array(value, shaped[0], others, numpy=numpy)
        if real:
            plain = not arrays
            return self._number(value, plain, rules)
        return super().typed(value, options, [r for r in rules if isinstance(r, Rule)])

    def _integer(self, value: Any, rules: list[Any]) -> Any:
        if is_traced(value):
            return value
        rule = rules[0].words if rules else "an integer"
        try:
            integer = None if isinstance(value, bool) else operator.index(value)
        except TypeError:
            integer = None
        if integer is None:
            self.refuse(rule, value)
        if abs(integer) > LARGEST_INTEGER:
            self.refuse("an integer of at most 50 digits", value)
        return integer

    def _number(self, value: Any, plain: bool, rules: list[Any]) -> Any:
        """A number; where the annotation has no array, a `float`."""
        if is_traced(value):
            return value if value.ndim == 0 else self.refuse("a number", value)
        known = _known(value)
        if known is None or known.dtype.kind not in "iuf":
            self.refuse("a number", value)
        if known.ndim > 0:
            self.refuse("a number", f"shape {known.shape}")
        number = float(known)
        if self.types_only:
            return value if isinstance(value, jax.Array) else number
        infinite = any(rule.infinite for rule in rules if isinstance(rule, Rule))
        if math.isnan(number) or (math.isinf(number) and not infinite):
            self.refuse(rules[0].words if rules else "finite", number)
        if plain or not isinstance(value, jax.Array):
            whole = isinstance(value, int) and abs(value) < 2**53
            return value if whole and not plain else number
        return value if known.dtype.kind == "f" else value.astype(float)

    def _array(
        self, value: Any, annotation: Any, others: list[Any], *, numpy: bool
    ) -> Any:
        whole = not _holds(annotation, "float")
        names = annotation.dim_str.split()
        rule = self.axes.rule(names, "integers" if whole else "numbers")
        others = [one for one in others if not _is_collection(one)]
        rule = " or ".join([rule, *([in_words(others)] if others else [])])
        array = value
        if not isinstance(value, jax.Array):
            known = _known(value)
            if known is None:
                self.refuse(rule, value)
            array = known
            if not numpy:
                with jax.ensure_compile_time_eval():  # a constant stays one in `jit`
                    array = jnp.asarray(known)
        kind = jnp.integer if whole else jnp.floating
        if not whole and jnp.issubdtype(array.dtype, jnp.integer):
            array = array.astype(float)
        if not jnp.issubdtype(array.dtype, kind):
            self.refuse(rule, f"{array.dtype} of shape {array.shape}")
        if self.types_only:
            return array
        if not self.axes.fit(array.shape, names, f"`{self.name}`"):
            self.refuse(rule, f"shape {array.shape}")
        finite_array(array, self.owner, self.name)
        return array

    def _key(self, value: Any, *, many: bool) -> Any:
        dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
        new = dtype is not None and jnp.issubdtype(dtype, jax.dtypes.prng_key)
        old = dtype == jnp.uint32 and shape in ((2,), (4,))
        if not old and not (new and (many or shape == ())):
            self.refuse("a random key, as `jax.random.key(0)` makes one", value)
        return value

    def ruled(self, value: Any, rule: Any) -> Any:
        if isinstance(rule, Matrix):
            if rule.kind == "symmetric":
                return symmetric_matrix(value, self.owner, self.name)
            singular = rule.kind == "positive semi-definite"
            return covariance_matrix(value, self.owner, self.name, singular=singular)
        if isinstance(rule, Own):
            try:
                return rule.fitted(self.itself, value)
            except (ValueError, TypeError, OverflowError):
                self.refuse(rule.words, value)
        if not is_traced(value) and not rule.holds(value):
            self.refuse(rule.words, value)
        return value


def _finite(result: Any) -> bool:
    leaves = [leaf for leaf in jax.tree.leaves(result) if _is_number(leaf, "f")]
    return all(np.all(np.isfinite(np.asarray(leaf, float))) for leaf in leaves)


def _is_memory(error: Exception) -> bool:
    """Whether arrays were asked for that no memory holds."""
    compiled = isinstance(error, jax.errors.JaxRuntimeError)
    full = compiled and str(error).startswith("RESOURCE_EXHAUSTED")
    return full or isinstance(error, MemoryError)


def _beyond(
    owner: str, arguments: Mapping[str, Any], what: str = "float64"
) -> ValueError:
    """What to raise when numbers overflow: which arguments it may come from."""
    itself = arguments.get("self")
    whole = {} if itself is None else dict(getattr(itself, "__dict__", {}))
    whole |= {name: value for name, value in arguments.items() if value is not itself}
    largest = {
        name: max(float(np.max(np.abs(leaf))) for leaf in numbers)
        for name, value in whole.items()
        if (numbers := [x for x in jax.tree.leaves(value) if _is_number(x, "iuf")])
    }
    named = ", ".join(f"`{name}` up to {size:.3g}" for name, size in largest.items())
    return ValueError(f"{owner}: the result is beyond {what}, with {named}")


def _is_number(leaf: Any, kinds: str) -> bool:
    """Whether there are numbers of these kinds in a leaf, and known ones."""
    if not isinstance(leaf, (int, float, np.ndarray, np.generic, jax.Array)):
        return False
    if is_traced(leaf) or np.size(leaf) == 0:
        return False
    kind = {int: "i", float: "f"}.get(type(leaf))
    dtype = getattr(leaf, "dtype", None)
    if kind is None and dtype is not None:
        kind = (
            "f" if jnp.issubdtype(dtype, jnp.floating) else getattr(dtype, "kind", "")
        )
    return bool(kind) and kind in kinds


def _known(value: Any) -> np.ndarray | None:
    """`value` as NumPy understands it; None where that is no array of real numbers."""
    if is_traced(value):
        return np.empty((0,) * value.ndim)
    try:
        array = np.asarray(value)
        if array.dtype.kind == "O" and isinstance(value, int):
            array = np.asarray(float(value))
    except OverflowError:
        return np.asarray(math.inf)
    except (ValueError, TypeError):
        return None
    floating = array.dtype.kind in "iuf" or jnp.issubdtype(array.dtype, jnp.floating)
    return array if floating else None


def _is_other(value: Any, annotation: Any) -> bool:
    """Whether `value` is the function, word or object that may stand for numbers.

    Collections may not: numbers are in them too.
    """
    origin = get_origin(annotation) or annotation
    if origin is Literal:
        return isinstance(value, (str, int)) and value in get_args(annotation)
    if origin is collections.abc.Callable:
        return callable(value)
    if not isinstance(origin, type) or origin is bool or _is_collection(annotation):
        return False
    return is_one(value, origin)


def _is_collection(annotation: Any) -> bool:
    """Whether it names lists or the like, as which arrays may be given too."""
    origin = get_origin(annotation) or annotation
    return (
        isinstance(origin, type)
        and issubclass(origin, collections.abc.Collection)
        and origin is not str
    )


def _is_array(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, AbstractArray)


def _holds(annotation: Any, kind: str) -> bool:
    """Whether an array type is one of keys, floats or integers."""
    return any(kind in str(dtype) for dtype in annotation.dtypes)
