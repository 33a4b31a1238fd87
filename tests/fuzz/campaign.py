"""Make calls, one after the other, and say which ended as they should not."""

import contextlib
import inspect
import re
import signal
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from tests.fuzz.arguments import Draws, callables, described

# A call may take this long; compiling is part of it.
SECONDS = 20

# Functions with an infinite answer that means something.
UNBOUNDED = ("distinct_coordinate",)  # of one token: nothing is near it


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


def calls(first: int, last: int, only: str = "") -> Iterator[Surprise | None]:
    """Make the calls number `first` to `last` - 1; the number decides all of a call."""
    chosen = {name: f for name, f in callables().items() if only in name}
    names = list(chosen)
    for number in range(first, last):
        name = names[number % len(names)]
        yield _call(number, name, chosen[name])


def serve(pipe: Connection, first: int, last: int, only: str) -> None:
    """Make calls and send what was found of each through a pipe."""
    for surprise in calls(first, last, only):
        pipe.send(surprise)


def _call(number: int, name: str, function: Any) -> Surprise | None:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arguments = Draws(number, Path(folder)).arguments(function)
        found = outcome(function, arguments)
    return (
        None if found is None else Surprise(number, name, described(arguments), found)
    )


def outcome(function: Any, arguments: dict[str, Any]) -> str | None:
    """What is wrong with how a call ended."""
    try:
        with _in_time():
            result = function(**arguments)
            known = isinstance(function, type) or function.__name__ in UNBOUNDED
            bad = not known and not _finite(result)
    except TooLong:
        return f"no answer in {SECONDS} s"
    except (ValueError, TypeError, eqx.EquinoxRuntimeError) as error:
        # The last is how a solver says, from inside compiled code, that it gave up.
        names = inspect.signature(function).parameters
        text = str(error)
        if any(re.search(rf"\b{name}\b", text) for name in names):
            return None
        if type(error).__module__.startswith("iclab."):
            return None
        return f"{type(error).__name__} without a name: {' '.join(text.split())[:200]}"
    except Exception as error:
        if type(error).__module__.startswith("iclab."):
            return None
        return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    return "an answer that is not finite" if bad else None


def _finite(result: Any) -> bool:
    numbers = (float, complex, np.ndarray, jax.Array)
    leaves = [leaf for leaf in jax.tree.leaves(result) if isinstance(leaf, numbers)]
    inexact = [x for x in leaves if jnp.issubdtype(jnp.result_type(x), jnp.inexact)]
    return all(np.all(np.isfinite(np.asarray(leaf))) for leaf in inexact)


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
