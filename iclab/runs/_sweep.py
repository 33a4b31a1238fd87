"""Sweeps: a function of one's own at every point of a grid, as jobs of the engine."""

import contextlib
import inspect
import itertools
import json
import math
import operator
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from iclab._files import is_signed, now, read_inside, see_free, signed
from iclab._reader import Natural, Seed, checked, read, refuse, require
from iclab.runs._cache import CACHE_FOLDER, Cache
from iclab.runs._cluster import Cluster
from iclab.runs._engine import run_jobs
from iclab.runs._environment import usable_cores
from iclab.runs._events import Engine, EngineProblem, Event, Outcome
from iclab.runs._function_code import function_digest
from iclab.runs._job import Job
from iclab.runs._processes import Processes
from iclab.runs._store import Named, Store
from iclab.runs._sweep_result import Point, Sweep, label
from iclab.show import Display, display as usual_display, of, tell

_FORMAT = 1
_PLAN, _STORE = "sweep.json", "store"
_WORK = "iclab.runs._points:compute_point"
_RESERVED = ("seed", "key", "point")


@checked
def sweep(
    function: Callable[..., Any],
    grid: Mapping[str, Any],
    seeds: Any = 3,
    out: str | os.PathLike[str] = "sweep",
    *,
    jobs: Natural | None = None,
    cluster: str | os.PathLike[str] | None = None,
    force: bool = False,
    quiet: bool = False,
    display: Display | None = None,
    engine: Engine | None = None,
) -> Sweep:
    """Call `function` at every point of `grid`, with every seed, and keep the answers.

    It is called as `function(**point, seed=seed)`, or, if it has the two parameters
    `point` and `key`, as `function(point, key)` with JAX's key of the seed. It returns
    a number, an array, or a dict of these. It may come from a module, a script or a
    notebook's cell, and its code is part of the name under which an answer is kept: in
    the folder `out` nothing is computed twice, a sweep that was stopped goes on, and a
    function that was changed is called again. A point whose call fails is kept as a
    failure, the others go on, and the next sweep tries it again.

    `jobs` processes do the work, one for each core by default, or the workers of a Dask
    scheduler at `cluster`. `seeds` are 0, 1, … of a number, or a list of their own.
    `force` computes again what is there. `quiet` shows no progress. A `display` and an
    `engine` of one's own show the progress and do the work instead.
    """
    import cloudpickle

    axes = {str(name): _values(str(name), values) for name, values in grid.items()}
    known = {
        "function": _name(function),
        "code": function_digest(function),
        "keyed": _keyed(function, axes),
    }
    plan = {**known, "grid": axes, "seeds": _seeds(seeds), "begun": now()}
    if cluster is not None and jobs is not None:
        refuse("`jobs` and `cluster` cannot both be given")
    folder = Path(out)
    if not _plan_in(folder):  # a file of this name is not a sweep's
        try:
            see_free(folder, [_PLAN])
        except OSError as error:
            refuse(f"`out`: {error.strerror}")
    store = Store(folder / _STORE)
    # Of a cell or a script the function itself, of a module its name.
    packed = cloudpickle.dumps(function)
    work = [
        Job(_WORK, known | {"point": at}, seed, label=label(at, seed), packed=packed)
        for at, seed in _points(plan)
    ]
    plan = {"format": _FORMAT, **plan, "jobs": [job.digest for job in work]}
    store.write(folder / _PLAN, (json.dumps(signed(plan), indent=1) + "\n").encode())
    if engine is None and cluster is not None:
        engine = Cluster(cluster)
    elif engine is None:
        engine = Processes(jobs or usable_cores(), cache=_programs())
    events = run_jobs(work, store=store, engine=engine, force=force)
    usual = usual_display(quiet=quiet, out=sys.stderr, patience=0.0)
    with display or usual as show:
        _follow(events, show.begin(len(work), "sweep", "point"), folder)
    for problem in store.problems:
        tell(f"iclab: {problem}; computed again")
    return open_sweep(folder)


@checked
def open_sweep(folder: str | os.PathLike[str]) -> Sweep:
    """What a sweep has found so far, from its folder; this computes nothing."""
    folder = Path(folder)
    plan = _plan_in(folder)
    try:
        sizes = map(len, [*plan["grid"].values(), plan["seeds"]])
        names = [Named(digest) for digest in plan["jobs"]]
        whole = plan["format"] == _FORMAT and math.prod(sizes) == len(names)
        places = list(_points(plan)) if whole else []
    except (ValueError, LookupError, TypeError, AttributeError):
        refuse(f"`folder` must be that of a sweep: {folder} holds none")
    if not whole:
        refuse(f"{folder} was written by another version of iclab")
    if not is_signed(plan):
        reason = "it has no checksum, or another one than it should"
        refuse(f"{folder / _PLAN} is not used: {reason}")
    store = Store(folder / _STORE, read_only=True)
    points: list[Point] = []
    for name, (at, seed) in zip(names, places, strict=True):
        kept = store.find(name)
        result, seconds = (None, None) if kept is None else (kept.result, kept.seconds)
        error = store.failure(name) if kept is None else None
        points.append(Point(at, seed, result, error, seconds))
    return Sweep(folder, plan["function"], plan["grid"], plan["seeds"], tuple(points))


def _plan_in(folder: Path) -> dict[str, Any]:
    """What the plan of a sweep in `folder` says; nothing if there is none."""
    try:
        plan = json.loads(read_inside(folder, _PLAN))
    except (OSError, ValueError, RecursionError):
        return {}
    ours = isinstance(plan, dict) and {"format", "grid", "jobs"} <= plan.keys()
    return plan if ours else {}


def _follow(events: Iterator[Event], show: Display, folder: Path) -> None:
    """Show how the points end; say what is kept if that stops."""
    kept = 0
    try:
        for event in events:
            if not isinstance(event, Outcome):
                continue
            name, how = event.job.label, ""
            if event.error is None:
                kept += 1
            else:
                how = "failed"
                show.note(f"failed: {name}: {event.error.strip().splitlines()[-1]}")
            show.ended(name, how, cached=event.from_store)
    except BaseException:
        points = f"{of(kept, show.total, 'point')} are kept in {folder}"
        show.note(f"sweep stopped: {points}; called again it goes on")
        raise


def _programs() -> Path | None:
    """Where processes keep what they compile, so that a killed sweep need not again."""
    if CACHE_FOLDER in os.environ:
        return None  # the user has set JAX's own variable
    try:
        cache = Cache()
    except EngineProblem as problem:
        tell(f"iclab: {problem}; going on without")
        return None
    cache.trim()
    return cache.programs


def _points(plan: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], int]]:
    """Every point with every seed, the last axis fastest, seeds fastest of all."""
    for values in itertools.product(*plan["grid"].values()):
        for seed in plan["seeds"]:
            yield dict(zip(plan["grid"], values, strict=True)), seed


def _values(name: str, values: Any) -> list[Any]:
    if name in _RESERVED or not name.isidentifier():
        refuse(f"`grid` must not name an axis {name!r}")
    if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__iter__"):
        refuse(f"`grid` must have a list of values for {name}, got {values!r}")
    found = [_value(name, value) for value in values]
    if not found or len({json.dumps(value) for value in found}) < len(found):
        rule = f"different values for {name}, and at least one"
        refuse(f"`grid` must have {rule}, got {found}")
    return found


def _value(name: str, value: Any) -> Any:
    """A value of an axis as JSON has it: numbers of NumPy and JAX become Python's."""
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, (list, tuple)):
        return [_value(name, one) for one in value]
    if value is not None and not isinstance(value, (bool, int, float, str)):
        rule = f"numbers, words or lists of them for {name}"
        refuse(f"`grid` must have {rule}, got {value!r}")
    return value


def _seeds(seeds: Any) -> list[int]:
    with contextlib.suppress(TypeError):
        seeds = range(operator.index(seeds))
    several = hasattr(seeds, "__iter__") and not isinstance(seeds, (str, bytes))
    require(several, "seeds", "a number or a list", repr(seeds))
    found = [read(seed, Seed, "seeds") for seed in seeds]
    distinct = len(set(found)) == len(found) > 0
    require(distinct, "seeds", "different numbers ≥ 0, at least one", found)
    return found


def _keyed(function: Callable[..., Any], axes: Mapping[str, Any]) -> bool:
    """Whether the function takes (point, key); its parameters must fit the grid."""
    signature = inspect.signature(function)
    if list(signature.parameters) == ["point", "key"]:
        return True
    try:
        signature.bind(**axes, seed=0)
    except TypeError as error:
        rule = f"take ({', '.join([*axes, 'seed'])}) or (point, key)"
        found = f"{_name(function)}{signature} does not ({error})"
        refuse(f"`function` must {rule}: {found}")
    return False


def _name(function: Callable[..., Any]) -> str:
    inner = getattr(function, "func", function)  # of a functools.partial
    return str(getattr(inner, "__qualname__", type(inner).__qualname__))
