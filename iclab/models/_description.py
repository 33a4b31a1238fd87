"""Any model as arrays with names and a description in plain values, and back."""

import dataclasses
import inspect
import math
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np

from iclab._reader import Rule, read, refuse
from iclab.core import checked, require, write_tensors

_LARGEST = 2**20

# A number of a model may be infinite: a limit that is none.
_ENDLESS = Rule("a number", lambda value: True, infinite=True)

# Functions that models keep in their fields, by the name that a file gives them.
_FUNCTIONS: dict[str, Callable] = {
    f"jax.nn.{name}": getattr(jax.nn, name)
    for name in ("elu", "gelu", "leaky_relu", "relu", "sigmoid", "silu", "softplus")
} | {
    "jax.numpy.tanh": jnp.tanh,
    # What a network of Equinox has at its end, unless it is told otherwise.
    "identity": inspect.signature(eqx.nn.MLP).parameters["final_activation"].default,
}


@checked
class Savable(eqx.Module):
    """A model that writes itself to a file."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a safetensors file, for `iclab.models.load`."""
        write(self, path)


def write(model: eqx.Module, path: str | os.PathLike[str]) -> None:
    """Write arrays by their place in the model, and its description in the header."""
    arrays: dict[str, np.ndarray] = {}
    description = _described(model, "", arrays)
    write_tensors(path, arrays, {"model": description})


def rebuilt(
    description: Any, arrays: Mapping[str, np.ndarray], classes: Iterable[type]
) -> Any:
    """The model of a description, made of `classes` and of what their fields hold.

    Nothing in it is called but the checks of its classes: a file says which fields have
    which values, and is refused where they do not fit.
    """
    left, known = dict(arrays), tuple(classes)
    model = _rebuilt(description, "", left, _table(known))
    rule, found = "a file that describes a model", f"a {type(model).__name__}"
    require(isinstance(model, known), "path", rule, found)
    rule = "a file without arrays that belong nowhere"
    require(not left, "path", rule, f"{sorted(left)[:3]}")
    return model


def _described(value: Any, place: str, arrays: dict[str, np.ndarray]) -> Any:
    inner = lambda name, one: _described(one, _join(place, name), arrays)  # noqa: E731
    if isinstance(value, int) and not isinstance(value, bool):
        return _small("model", value, place)
    if value is None or isinstance(value, (bool, float, str)):
        return value
    if isinstance(value, eqx.Module):
        names = [field.name for field in dataclasses.fields(value)]
        fields = {name: inner(name, getattr(value, name)) for name in names}
        return {"class": type(value).__name__, "fields": fields}
    if isinstance(value, (np.ndarray, np.generic, jax.Array)):
        # Keys for random numbers have a type of their own, and bfloat16 is no NumPy's.
        extended = jnp.issubdtype(value.dtype, jax.dtypes.extended)
        storable = not extended and np.dtype(value.dtype).kind in "biuf"
        rule = "a model of numbers, whole, real or true and false"
        found = f"`{place}` of type {value.dtype}"
        require(storable, "model", rule, found)
        arrays[place] = np.asarray(value)
        return {"array": place}
    if isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [inner(str(i), one) for i, one in enumerate(value)]}
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {"dict": {name: inner(name, one) for name, one in value.items()}}
    known = [name for name, one in _FUNCTIONS.items() if one is value]
    rule = f"made of modules, arrays, plain values and {', '.join(_FUNCTIONS)}"
    require(bool(known), "model", rule, f"`{place}` = {value!r}")
    return {"function": known[0]}


def _rebuilt(
    value: Any,
    place: str,
    arrays: dict[str, np.ndarray],
    classes: Mapping[str, type[eqx.Module]],
) -> Any:
    inner = lambda name, one: _rebuilt(one, _join(place, name), arrays, classes)  # noqa: E731
    match value:
        case None | bool() | float() | str():
            known = not isinstance(value, float) or not math.isnan(value)
            require(known, "path", f"a file whose `{place}` is a number", value)
            return value
        case int():
            return _small("path", value, place)
        case {"class": str(name), "fields": dict(fields)}:
            if name not in classes:
                word = name.isidentifier() and len(name) < 80
                require(word, "path", "a file with names of classes", repr(name[:80]))
                refuse(
                    f"`classes` must be given {name}, which the file holds and"
                    f" iclab.models does not have: load(path, {name})"
                )
            parts = {field: inner(field, one) for field, one in fields.items()}
            return instance(classes[name], parts, place)
        case {"array": str(name)}:
            rule = f"a file with the array `{place}`, once"
            require(name == place and name in arrays, "path", rule, f"{name!r}")
            array = arrays.pop(name)
            bad = int(np.sum(~np.isfinite(array)))
            rule = f"a file whose `{place}` is finite"
            require(bad == 0, "path", rule, f"{bad} entries that are not")
            return jnp.asarray(array)
        case {"tuple": list(items)}:
            return tuple(inner(str(i), one) for i, one in enumerate(items))
        case {"list": list(items)}:
            return [inner(str(i), one) for i, one in enumerate(items)]
        case {"dict": dict(items)}:
            return {name: inner(name, one) for name, one in items.items()}
        case {"function": str(name)} if name in _FUNCTIONS:
            return _FUNCTIONS[name]
        case _:
            rule = "a file that describes a model"
            return refuse(f"`path` must be {rule}, got another at `{place}`")


def instance(cls: type[eqx.Module], values: Mapping[str, Any], place: str = "") -> Any:
    """A module with these fields, which its annotations and its own checks accept."""
    fields: Any = dataclasses.fields(cls)
    names = [field.name for field in fields]
    rule = f"a file whose {cls.__name__} has the fields {', '.join(names)}"
    require(set(values) == set(names), "path", rule, ", ".join(values))
    module = object.__new__(cls)
    with jaxtyping.jaxtyped("context"):  # equal letters are equal sizes
        for field in fields:
            given, name = values[field.name], _join(place, field.name)
            endless = isinstance(given, float) and math.isinf(given)
            kind = Annotated[field.type, _ENDLESS] if endless else field.type
            value = read(given, kind, name)
            if isinstance(given, jax.Array):  # which stays the array that it was
                rule = f"an array that fits the other fields of {cls.__name__}"
                found = f"{given.dtype} of shape {given.shape}"
                require(isinstance(given, field.type), name, rule, found)
                value = given
            object.__setattr__(module, field.name, value)
    for parent in reversed(cls.__mro__):
        if "__check_init__" in vars(parent):
            parent.__check_init__(module)
    return module


def _table(classes: Iterable[type]) -> dict[str, type[eqx.Module]]:
    """Classes by name, with those that the types of their fields mention."""
    found: dict[str, type[eqx.Module]] = {}
    waiting = list(classes)
    while waiting:
        kind: Any = waiting.pop()
        module = isinstance(kind, type) and issubclass(kind, eqx.Module)
        if module and kind.__name__ not in found:
            found[kind.__name__] = kind
            waiting += [field.type for field in dataclasses.fields(kind)]
        waiting += get_args(kind)
    return found


def _small(name: str, value: int, place: str) -> int:
    """Whole numbers are sizes, and nothing is to be made of a size without end."""
    rule = f"one whose whole numbers are at most {_LARGEST}"
    require(abs(value) <= _LARGEST, name, rule, f"`{place}` = {value}")
    return value


def _join(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
