"""Make calls, one after the other, and say which ended as they should not."""

import contextlib
import dataclasses
import inspect
import io
import itertools
import os
import re
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from iclab import results
from iclab._memory import give_back
from iclab.core import Prompt
from iclab.runs import _sweep
from iclab.runs._events import here
from tests.compilation import QUICK_COMPILATION, ROOM
from tests.fuzz.arguments import Callee, Draws, NoObject, callables, described

# A call may take this long; compiling is part of it.
SECONDS = 20

# Answers that are not finite and mean something, and of which arguments.
UNBOUNDED: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    # Of one token: nothing is near it.
    "distinct_coordinate": lambda arguments: True,
    # What was measured may be no number: it keeps no bound then.
    "averaged": lambda arguments: True,
    # Of numbers of which one is infinite, that one.
    "largest": lambda arguments: not np.all(np.isfinite(arguments["values"])),
    "smallest": lambda arguments: not np.all(np.isfinite(arguments["values"])),
    # Never.
    "leaves_at": lambda arguments: True,
    # What a user's own `record` sees is not ours to judge.
    "descent_path": lambda arguments: "record" in arguments,
    # Tell what they are given, one by one.
    "parts": lambda arguments: True,
    "rows_of": lambda arguments: True,
    "rounded": lambda arguments: True,
    "solved": lambda arguments: True,
    # Of a bar of zero: anything is infinitely many of it.
    "compare": lambda arguments: True,
}

# How a call may end well, and that an object to call a method of could not be made.
ANSWERED, REFUSED, NOTHING = "answered", "refused", "no object"


@dataclass(frozen=True)
class Surprise:
    """A call that neither gave finite numbers nor refused an argument by name."""

    number: int
    function: str
    arguments: str
    found: str

    def __str__(self) -> str:
        return f"#{self.number} {self.function}({self.arguments}): {self.found}"


class TooLong(BaseException):
    """A call that did not end in time."""


@dataclass(frozen=True)
class Ended:
    """How a call ended: answered, refused or not made, and what was wrong with that."""

    callee: str
    how: str
    surprise: Surprise | None = None


def calls(first: int, last: int, only: str = "", every: int = 1) -> Iterator[Ended]:
    """Make the calls number `first` to `last` - 1; the number decides all of a call.

    Only `every` so many of them, if told.
    """
    chosen = {name: one for name, one in callables().items() if only in name}
    names = list(chosen)
    with _alone():
        for number in range(first, last, every):
            name = names[number % len(names)]
            yield _call(number, chosen[name])
            give_back(ROOM)  # most programs are of shapes that never come again


def lost(number: int, only: str, why: str) -> Ended:
    """A call that ended the process, or did not end."""
    names = [name for name in callables() if only in name]
    name = names[number % len(names)]
    return Ended(name, REFUSED, Surprise(number, name, "", why))


def serve(pipe: Connection, first: int, last: int, only: str) -> None:
    """Make calls and send how each ended through a pipe."""
    # Most of a call's time is compilation.
    os.environ["XLA_FLAGS"] = f"{os.environ['XLA_FLAGS']} {QUICK_COMPILATION}"
    for ended in calls(first, last, only):
        pipe.send(ended)


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Let nothing outside a temporary folder be written, and no process be started."""
    before, home = os.getcwd(), dict(os.environ)
    engine = _sweep.Processes
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"HOME": folder, "ICLAB_CACHE": f"{folder}/cache"}
        _sweep.Processes = lambda *_, **__: here
        try:
            yield
        finally:
            _sweep.Processes = engine
            os.environ.clear()
            os.environ |= home
            os.chdir(before)


def _call(number: int, callee: Callee) -> Ended:
    with (
        tempfile.TemporaryDirectory() as folder,
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        before = os.getcwd()
        os.chdir(folder)
        try:
            function, arguments = Draws(number, Path(folder)).call(callee)
        except NoObject:
            return Ended(callee.name, NOTHING)
        else:
            how, found = outcome(function, arguments)
        finally:
            os.chdir(before)
    if found is None:
        return Ended(callee.name, how)
    surprise = Surprise(number, callee.name, described(arguments), found)
    return Ended(callee.name, how, surprise)


def outcome(function: Any, arguments: dict[str, Any]) -> tuple[str, str | None]:
    """Whether a call was answered or refused, and what is wrong with how it was."""
    try:
        with _in_time():
            result = _whole(function(**arguments))
            exempt = UNBOUNDED.get(getattr(function, "__name__", ""))
            # An object that was made holds what it was given: no answer to anything.
            made = isinstance(function, type)
            # For what is not there a caller may want any value.
            default = "default" in arguments and result is arguments["default"]
            known = made or default or (exempt is not None and exempt(arguments))
            bad = not known and not _finite(result)
        return ANSWERED, "an answer that is not finite" if bad else None
    except TooLong:
        return REFUSED, f"no answer in {SECONDS} s"
    except AssertionError as error:
        # What `iclab.testing` finds is how it answers.
        found = None if _is_found(function) else _said(error)
        return ANSWERED if found is None else REFUSED, found
    except Exception as error:
        return REFUSED, None if _is_named(error, function, arguments) else _said(error)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def _is_found(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).startswith("iclab.testing")


def _is_named(error: Exception, function: Any, arguments: Mapping[str, Any]) -> bool:
    """Whether an error says which argument it is about, or which function.

    That is a ValueError or TypeError with the argument's name, or with a note that has
    the function's, or one that names a function and its argument. Kinds of errors of
    our own, and files, modules and results that are not there, may have the argument's
    value in the place of its name: they are about that, and say what it is.
    """
    text = str(error)
    names = [*inspect.signature(function).parameters, *_fields(function)]
    named = any(re.search(rf"\b{name}\b", text) for name in names)
    called = getattr(function, "__qualname__", "").rpartition(".")[2]
    named = named or any(called in note for note in getattr(error, "__notes__", ()))
    # An object among the arguments refuses in its own name: `Ridge.at: `x` must …`.
    named = named or re.match(r"[\w.]+: `[^`]+` ", text) is not None
    if isinstance(error, (ValueError, TypeError, eqx.EquinoxRuntimeError)) and named:
        # The last is how a solver says, from inside compiled code, that it gave up.
        return True
    if isinstance(error, results.Wrong) and re.search(r"`.*`", text):
        return True  # it says which key of a JSON object is wrong
    ours = type(error).__module__.startswith("iclab.")
    world = isinstance(error, (OSError, ImportError)) or type(error) is LookupError
    values = [*arguments.values(), *_fields(function).values()]
    words = [word for value in values for word in (*_words(value), _shown(value))]
    return (ours or world) and (named or any(word in text for word in words))


def _fields(function: Any) -> dict[str, Any]:
    """What the object of a method is made of: it is an argument as others are."""
    itself = getattr(function, "__self__", None)
    if itself is None or isinstance(itself, type):
        return {}
    return dict(getattr(itself, "__dict__", {}))


def _shown(value: Any) -> str:
    return " ".join(repr(value).split())[:30]


def _words(value: Any) -> Iterator[str]:
    """Texts and paths that an argument is made of."""
    if isinstance(value, (str, os.PathLike)):
        word = os.fspath(value)
        word = word.partition(":")[0] if isinstance(word, str) else ""  # of module:name
        yield from [word] if len(word) > 1 else []
    elif isinstance(value, (list, tuple, dict)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _words(one)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from _words(list(vars(value).values()))


def _whole(result: Any) -> Any:
    """A result to its end: what is given one by one, and what is entered and left."""
    if isinstance(result, Iterator):
        return list(itertools.islice(result, 1000))
    if isinstance(result, contextlib.AbstractContextManager):
        with result as inside:
            return inside
    return result


def _finite(result: Any) -> bool:
    numbers = (float, complex, np.ndarray, jax.Array)
    leaves = [leaf for leaf in _leaves(result) if isinstance(leaf, numbers)]
    # Arrays may hold texts, or anything.
    kinds = [getattr(getattr(x, "dtype", None), "kind", "f") for x in leaves]
    leaves = [x for x, kind in zip(leaves, kinds, strict=True) if kind not in "OSU"]
    inexact = [x for x in leaves if jnp.issubdtype(jnp.result_type(x), jnp.inexact)]
    return all(np.all(np.isfinite(np.asarray(leaf))) for leaf in inexact)


def _leaves(result: Any) -> Iterator[Any]:
    """Numbers and arrays in a result; those in objects of ours too."""
    for leaf in jax.tree.leaves(result, is_leaf=lambda one: isinstance(one, Prompt)):
        if isinstance(leaf, Prompt):  # its target is NaN where nobody knows it
            yield from (leaf.examples, leaf.labels, leaf.query, leaf.count)
        elif dataclasses.is_dataclass(leaf) and not isinstance(leaf, type):
            yield from _leaves(dict(vars(leaf)))
        else:
            yield leaf


@contextlib.contextmanager
def _in_time() -> Iterator[None]:
    def late(*_: Any) -> None:
        raise TooLong

    # The processor's time, so that a busy machine is not taken for a slow function.
    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
