"""Arguments that fit an annotation, and arguments that do not."""

import collections.abc
import contextlib
import functools
import importlib
import inspect
import math
import os
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import AbstractArray

import iclab
from iclab import evidence, papers, training

# Nothing to call, and why.
LEFT_OUT = {
    "training.join_processes": "waits for other processes",
    "runs.Processes.__call__": "starts processes; `sweep` is called without them",
    "runs.Cluster.__call__": "waits for a scheduler",
    "runs.Job.run": "what it calls is not ours, and may raise what it likes",
    "explore.serve": "serves until somebody ends it",
    "core.read": "takes a type, which may be anything",
    "core.refuse": "says what it is told to",
    "core.require": "says what it is told to",
    "core.same_dimension": "is for predictors, whose prompts were read",
    "core.checked": "takes a function whose arguments are the question",
    "core.if_finite": "calls a function of somebody else's",
    "core.nan_unless_finite": "takes a method, which it calls",
}

# Arguments that are never right: with right ones these run for minutes or hours, and
# that is what tests of claims and figures are for.
ALWAYS_WRONG = {
    "iclab.check": "ids",
    "iclab.reproduce": "ids",
    "testing.check_paper": "paper",
    "probes.probe": "prompts",
}

# Arguments that are right and take a minute, and what is given instead: the exact loss
# of three loops is a sum over ten thousand pairings.
MODEST: dict[str, dict[str, tuple[Any, Any]]] = {
    "training.looped_gradient_flow": {"loops": (3, 2)},
}

NUMBERS = (0.5, 1.0, 2, 3.0, 0.1, np.float32(0.25), np.float64(1.5), np.int64(2))
# Sizes that no memory holds; not of those arguments that only ask for long work.
HUGE = (10**6, 10**9, 10**18)
LONG = {"draws", "iterations", "max_steps", "prompts", "steps"}
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


@dataclass(frozen=True)
class Callee:
    """Something public to call: a function, a class, or a method of a class."""

    name: str
    function: Callable[..., Any]
    owner: type | None = None

    @property
    def folder(self) -> str:
        """The folder that it belongs to."""
        return self.name.partition(".")[0]


@functools.cache
def callables() -> dict[str, Callee]:
    """Everything public that can be called, by `folder.name`, from the package alone.

    Methods of classes are among them, by `folder.Class.method`; those that a class has
    from another one are called on it too.
    """
    found: dict[str, Callee] = {}
    for folder in ("iclab", *iclab._FOLDERS):
        inside = "iclab" if folder == "iclab" else f"iclab.{folder}"
        module = importlib.import_module(inside)
        for name in dir(module):
            value = getattr(module, name) if not name.startswith("_") else None
            if inspect.isfunction(value) and _is_ours(value):
                found[f"{folder}.{name}"] = Callee(f"{folder}.{name}", value)
            elif isinstance(value, type) and _is_ours(value) and _is_concrete(value):
                for callee in _of_class(f"{folder}.{name}", value):
                    found[callee.name] = callee
    return {
        name: one
        for name, one in found.items()
        if name not in LEFT_OUT and not _is_about_another(one)
    }


def _of_class(name: str, kind: type) -> Iterator[Callee]:
    yield Callee(name, kind)
    for method in dir(kind):
        if method.startswith("_") and method != "__call__":
            continue
        value = inspect.getattr_static(kind, method)
        static = isinstance(value, (classmethod, staticmethod))
        inner = value.__func__ if static else value
        inner = getattr(inner, "__wrapped__", inner)
        if callable(inner) and _is_ours(inner) and not isinstance(inner, type):
            owner = None if static else kind
            yield Callee(f"{name}.{method}", getattr(kind, method), owner)


def _made(callee: Callee) -> Any:
    """The class of what this makes, where it is a class or one of its makers."""
    if isinstance(callee.function, type):
        return callee.function
    maker = getattr(callee.function, "__self__", None)
    said = inspect.signature(callee.function).return_annotation
    return maker if isinstance(maker, type) and said == maker.__name__ else None


def _is_ours(value: Any) -> bool:
    home = str(getattr(value, "__module__", ""))
    return home == "iclab" or home.startswith("iclab.")


def _is_concrete(kind: type) -> bool:
    """Whether there are objects of this class that somebody makes by calling it."""
    abstract = inspect.isabstract(kind) or kind.__name__.startswith("Abstract")
    protocol = getattr(kind, "_is_protocol", False)
    plain = issubclass(kind, (BaseException, dict))  # made as errors and dicts are
    return not abstract and not protocol and not plain


def _is_about_another(callee: Callee) -> bool:
    """Whether it reads an argument of somebody else's, whom it names."""
    return callee.folder == "core" and "owner" in _parameters(callee.function)


def _parameters(function: Any) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


def work(config: Any, seed: int) -> dict[str, float]:
    """What drawn jobs do."""
    return {"value": 1.0 + seed}


# Objects that a call may try to make, the parts of others among them.
_ATTEMPTS = 100


class NoObject(Exception):
    """There is nothing of this class to call a method of."""


def _hints(function: Any) -> dict[str, Any]:
    """Annotations by parameter, those in quotation marks too."""
    inner = function.__init__ if isinstance(function, type) else function
    space = getattr(inspect.unwrap(inner), "__globals__", {})
    found = {}
    for name, one in _parameters(function).items():
        hint = one.annotation
        if isinstance(hint, str):
            try:
                hint = eval(hint, space)
            except NameError:  # known to type checkers alone
                hint = Any
        found[name] = hint
    return found


def _options(annotation: Any) -> tuple[Any, ...]:
    """The types of a union, or the one that there is, without its rules."""
    if get_origin(annotation) is Annotated:
        return _options(get_args(annotation)[0])
    if get_origin(annotation) in (typing.Union, types.UnionType):
        return tuple(one for part in get_args(annotation) for one in _options(part))
    return (annotation,)


class Draws:
    """Arguments of one call. Axes with one name have one length in all of them."""

    def __init__(self, seed: int, folder: Path, wrong: float = 0.25, huge: float = 0.1):
        self._random = np.random.default_rng(seed)
        self._folder = folder
        self._wrong, self._huge = wrong, huge
        self._sizes: dict[str, int] = {}
        self._depth = 0
        self._attempts = 0

    def call(self, callee: Callee) -> tuple[Callable[..., Any], dict[str, Any]]:
        """What to call, a method of a drawn object perhaps, and with which arguments.

        Raises `NoObject` where eight attempts to make that object have failed, or as
        many as there may be in all.
        """
        function = callee.function
        if callee.owner is not None:
            function = getattr(self.instance(callee.owner), callee.name.split(".")[-1])
        arguments = self.arguments(function)
        for name, (long, short) in MODEST.get(callee.name, {}).items():
            if isinstance(arguments[name], (int, np.integer)):
                arguments[name] = short if arguments[name] == long else arguments[name]
        wrong = ALWAYS_WRONG.get(callee.name)
        if wrong is not None:
            arguments[wrong] = self._pick((*NONSENSE, "zhang2023/nonsense"))
        return function, arguments

    def arguments(self, function: Callable[..., Any]) -> dict[str, Any]:
        """Values for the parameters of `function`, by name."""
        found: dict[str, Any] = {}
        hints = _hints(function)
        for name, one in _parameters(function).items():
            if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
                continue
            optional = one.default is not one.empty
            if optional and self._chance(0.5):
                continue
            whole = int in _options(hints.get(name, Any)) and name not in LONG
            if self._depth == 0 and whole and self._chance(self._huge):
                found[name] = self._pick(HUGE)
            elif self._depth == 0 and self._chance(self._wrong):
                found[name] = self._pick(NONSENSE)
            else:
                found[name] = self.fitting(hints.get(name, Any), name)
        return found

    def fitting(self, annotation: Any, name: str = "") -> Any:
        """A value that the annotation allows."""
        if name == "dtype":
            return self._pick((jnp.float32, jnp.float64, "float32", float))
        rules: tuple[Any, ...] = ()
        if get_origin(annotation) is Annotated:
            annotation, *metadata = get_args(annotation)
            rules = tuple(metadata)
        if get_origin(annotation) in (typing.Union, types.UnionType):
            return self.fitting(self._pick(get_args(annotation)), name)
        if isinstance(annotation, type) and issubclass(annotation, AbstractArray):
            return self._array(annotation, rules)
        if isinstance(annotation, (str, typing.ForwardRef)):
            return object()
        if annotation in (int, float, bool):
            return self._pick(
                {int: COUNTS, float: NUMBERS, bool: (True, False)}[annotation]
            )
        if annotation is type(None):
            return None
        origin = get_origin(annotation) or annotation
        if origin is Literal:
            return self._pick(get_args(annotation))
        if origin is collections.abc.Callable and name == "draw":
            return lambda key, count: jax.random.normal(key, (count,))
        if origin is collections.abc.Callable:
            return self._pick((_squares, lambda *_: jnp.asarray(0.5)))
        if origin in (tuple, list, collections.abc.Sequence, collections.abc.Iterable):
            inside = [a for a in get_args(annotation) if a is not Ellipsis] or [float]
            if origin is tuple and Ellipsis not in get_args(annotation):
                return tuple(self.fitting(one, name) for one in inside)
            return tuple(self.fitting(inside[0], name)
                         for _ in range(self._size("length")))  # fmt: skip
        if origin in (collections.abc.Mapping, dict):
            inside = (get_args(annotation) or (str, float))[1]
            return {"one": self.fitting(inside), "two": self.fitting(inside)}
        if origin is type:
            return self._pick((int, evidence.Entry))
        if annotation is optax.GradientTransformation:
            return optax.sgd(0.1)
        if annotation is str:
            return self._text(name)
        if annotation is bytes:
            return b"bytes"
        if annotation in (Path, os.PathLike) or origin is os.PathLike:
            return self._folder / self._pick(("a", "b", "missing"))
        if isinstance(origin, type) and _is_ours(origin):
            with contextlib.suppress(NoObject):
                return self.instance(origin)
            return object()
        some = (0.5, 2, "text", [1, 2], {"text": 1.0}, jnp.ones(2), jnp.eye(2))
        return self._pick(some)

    def _text(self, name: str) -> str:
        if name == "function":
            return self._pick((f"{__name__}:work", "no_module:work", "nonsense"))
        if name in ("digest", "source", "sha256"):
            return "0123456789abcdef" * 4
        if name in ("folder", "path", "out", "root", "cache"):
            return str(self._folder / self._pick(("a", "b", "missing")))
        if name in ("id", "ids", "word", "key", "paper", "order"):
            return self._pick(("zhang2023", "ahn2023/figure-1", "ahn2023/nonsense"))
        return self._pick(("text", "two words", "a «{value:.2f}» b", "", "x/y"))

    def instance(self, kind: type) -> Any:
        """An object of a class, or of one below it; some kinds have theirs here.

        Raises `NoObject` where none of several attempts has made one.
        """
        if kind in (evidence.Entry, papers.OpenPaper):
            known = papers.select() if kind is evidence.Entry else papers.every_paper()
            return self._pick(known)
        if kind is training.TrainingRun:
            return _training_run()
        choices = [one.function for one in callables().values()
                   if isinstance(_made(one), type)
                   and issubclass(_made(one), kind)]  # fmt: skip
        choices = choices or ([kind] if _is_concrete(kind) else [])
        self._depth += 1
        try:
            for _ in range(8 if choices and self._depth < 5 else 0):
                if self._attempts >= _ATTEMPTS:  # a thing of things of things
                    break
                self._attempts += 1
                chosen = self._pick(choices)
                try:
                    return chosen(**self.arguments(chosen))
                except Exception:
                    continue
        finally:
            self._depth -= 1
        raise NoObject(kind.__name__)

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


def _training_run() -> training.TrainingRun[Any]:
    """A small training: what it is made of must fit together in many ways."""
    return training.TrainingRun(
        "fuzz",
        training.Exact(_squares),
        jnp.ones(2),
        optax.sgd(0.1),
        steps=3,
        batch=1,
        key=jax.random.key(0),
        runs=(),
        hooks=(),
        limit=math.inf,
        precision=None,
    )


def _squares(*arguments: Any) -> Any:
    """A loss of anything that has numbers in it."""
    leaves = [leaf for leaf in jax.tree.leaves(arguments) if eqx.is_inexact_array(leaf)]
    return sum((jnp.sum(leaf**2) for leaf in leaves), start=jnp.asarray(0.0))


def described(arguments: Mapping[str, Any]) -> str:
    """Arguments in a line."""
    return ", ".join(f"{name}={' '.join(repr(value).split())[:60]}"
                     for name, value in arguments.items())  # fmt: skip
