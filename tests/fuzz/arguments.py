"""Arguments that fit an annotation, and arguments that do not."""

import collections.abc
import inspect
import math
import os
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import AbstractArray

FOLDERS = (
    "algorithms", "core", "evaluation", "models", "probes", "tasks", "theory",
    "training",
)  # fmt: skip

# Nothing to call, and why.
LEFT_OUT = {
    "training.join_processes": "waits for other processes",
    "core.write_whole": "writes where it is told; the disk answers, not the argument",
    "core.remove_drafts": "removes where it is told, likewise",
    "core.now": "takes nothing",
}

NUMBERS = (0.5, 1.0, 2, 3.0, 0.1, np.float32(0.25), np.float64(1.5), np.int64(2))
COUNTS = (1, 2, 3, 4, 5, 7, 12, 20, np.int64(3), np.int32(6))
NONSENSE: tuple[Any, ...] = (
    None, "nonsense", "", b"bytes", 1j, float("nan"), math.inf, -math.inf, -1, 0, -0.5,
    2.5, True, 10**18, 2**63 - 1, 2**63, 10**400, 1e308, 1e-308, [], {}, (), [[]],
    object(), [1, [2, 3]], ["a"], np.zeros(0), np.zeros((2, 0)), np.zeros((1, 1, 1, 1)),
    np.array([1.0, np.nan]), np.array([[1.0, np.inf], [0.0, 1.0]]), np.eye(3) * 1j,
    np.array("text"), np.array([True, False]), np.array([None, 1], dtype=object),
    np.array([[1.0, 2.0], [3.0, 4.0]]), -np.eye(2), np.zeros((2, 2)), np.eye(2, 3),
    np.full((2, 2), 1e300), lambda *_: "text", int, np.arange(3),
)  # fmt: skip


def callables() -> dict[str, Callable[..., Any]]:
    """Everything public that can be called, by `folder.name`."""
    import importlib

    found: dict[str, Callable[..., Any]] = {}
    for folder in FOLDERS:
        try:
            module = importlib.import_module(f"iclab.{folder}")
        except ModuleNotFoundError:
            continue
        for name, value in ((name, getattr(module, name)) for name in dir(module)):
            public = (
                not name.startswith(("_", "Abstract"))
                and callable(value)
                and not inspect.ismodule(value)
            )
            home = str(getattr(value, "__module__", ""))
            if not public or not home.startswith("iclab."):
                continue
            is_class = inspect.isclass(value)
            if is_class and (inspect.isabstract(value) or issubclass(value, Exception)):
                continue
            if is_class and getattr(value, "_is_protocol", False):
                continue
            if not is_class and not inspect.isfunction(value):
                continue
            parameters = inspect.signature(value).parameters
            if folder == "core" and "owner" in parameters:
                continue  # reads an argument of somebody else's, whom it names
            if f"{folder}.{name}" not in LEFT_OUT:
                found[f"{folder}.{name}"] = value
    return found


class Draws:
    """Arguments of one call. Axes with one name have one length in all of them."""

    def __init__(self, seed: int, folder: Path, wrong: float = 0.25):
        self._random = np.random.default_rng(seed)
        self._folder = folder
        self._wrong = wrong
        self._sizes: dict[str, int] = {}
        self._depth = 0

    def arguments(self, function: Callable[..., Any]) -> dict[str, Any]:
        """Values for the parameters of `function`, by name."""
        found: dict[str, Any] = {}
        for name, one in inspect.signature(function).parameters.items():
            if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
                continue
            optional = one.default is not one.empty
            if optional and self._chance(0.5):
                continue
            if self._depth == 0 and self._chance(self._wrong):
                found[name] = self._pick(NONSENSE)
            else:
                found[name] = self.fitting(one.annotation, name)
        return found

    def fitting(self, annotation: Any, name: str = "") -> Any:
        """A value that the annotation allows."""
        rules: tuple[Any, ...] = ()
        if get_origin(annotation) is Annotated:
            annotation, *metadata = get_args(annotation)
            rules = tuple(metadata)
        if get_origin(annotation) in (typing.Union, types.UnionType):
            return self.fitting(self._pick(get_args(annotation)), name)
        if isinstance(annotation, type) and issubclass(annotation, AbstractArray):
            return self._array(annotation, rules)
        if annotation in (int, float, bool):
            return self._pick(
                {int: COUNTS, float: NUMBERS, bool: (True, False)}[annotation]
            )
        if annotation is type(None):
            return None
        origin = get_origin(annotation) or annotation
        if origin is Literal:
            return self._pick(get_args(annotation))
        if origin is collections.abc.Callable:
            return self._pick((_squares, lambda *_: jnp.asarray(0.5)))
        if origin in (tuple, collections.abc.Sequence, list):
            inside = [a for a in get_args(annotation) if a is not Ellipsis] or [float]
            return tuple(self.fitting(inside[0]) for _ in range(self._size("length")))
        if origin in (collections.abc.Mapping, dict):
            inside = (get_args(annotation) or (str, float))[1]
            return {"one": self.fitting(inside), "two": self.fitting(inside)}
        if annotation is optax.GradientTransformation:
            return optax.sgd(0.1)
        if annotation in (str, Path, os.PathLike):
            return str(self._folder / self._pick(("a", "b", "missing")))
        if isinstance(origin, type) and origin.__module__.startswith("iclab."):
            return self._instance(origin)
        return self._pick((0.5, jnp.ones(2), jnp.eye(2)))

    def _instance(self, kind: type) -> Any:
        choices = [one for one in callables().values()
                   if isinstance(one, type) and issubclass(one, kind)]  # fmt: skip
        self._depth += 1
        try:
            for _ in range(8 if choices and self._depth < 5 else 0):
                chosen = self._pick(choices)
                try:
                    return chosen(**self.arguments(chosen))
                except Exception:
                    continue
        finally:
            self._depth -= 1
        return object()

    def _array(self, annotation: Any, rules: tuple[Any, ...]) -> Any:
        kinds = " ".join(map(str, annotation.dtypes))
        if "key" in kinds:
            return jax.random.key(int(self._random.integers(100)))
        shape = tuple(size for word in annotation.dim_str.split()
                      for size in self._axis(word))  # fmt: skip
        if "uint32" in kinds and "float" not in kinds:
            return jnp.zeros(shape, jnp.uint32)
        if "float" not in kinds:
            return jnp.asarray(self._random.integers(1, 4, shape))
        values = self._random.normal(size=shape)
        square = len(shape) == 2 and shape[0] == shape[1]
        if square and (rules or self._chance(0.6)):
            values = values @ values.T + 0.1 * np.eye(len(values))
        elif self._chance(0.3):
            values = np.abs(values)
        kind = self._pick(("jax", "jax", "numpy", "list"))
        makers = {"jax": jnp.asarray, "numpy": np.asarray, "list": lambda a: a.tolist()}
        return makers[kind](np.asarray(values))

    def _axis(self, word: str) -> Iterator[int]:
        if word[0] == "*" or word == "...":
            yield from ((), (2,))[int(self._chance(0.3))]
        elif word.isdigit():
            yield int(word)
        elif "+" in word:
            name, _, more = word.partition("+")
            yield self._size(name) + int(more)
        else:
            yield self._size(word)

    def _size(self, name: str) -> int:
        return self._sizes.setdefault(name, int(self._random.integers(1, 5)))

    def _pick(self, options: Any) -> Any:
        return list(options)[int(self._random.integers(len(list(options))))]

    def _chance(self, share: float) -> bool:
        return bool(self._random.random() < share)


def _squares(*arguments: Any) -> Any:
    """A loss of anything that has numbers in it."""
    leaves = [leaf for leaf in jax.tree.leaves(arguments) if eqx.is_inexact_array(leaf)]
    return sum((jnp.sum(leaf**2) for leaf in leaves), start=jnp.asarray(0.0))


def described(arguments: Mapping[str, Any]) -> str:
    """Arguments in a line."""
    return ", ".join(f"{name}={' '.join(repr(value).split())[:60]}"
                     for name, value in arguments.items())  # fmt: skip
