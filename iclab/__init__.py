"""iclab: a laboratory for the theory of in-context learning.

Importing iclab turns JAX's 64-bit mode on: theory is float64. JAX itself is loaded
only when a folder that needs it is touched, so `iclab --help` stays quick.
"""

import importlib
import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from iclab._requests import (
        check as check,
        entries as entries,
        reproduce as reproduce,
    )
    from iclab.runs import Sweep

__version__ = "0.1.0"

# Where `iclab reproduce` writes and all others look, if nobody says otherwise.
DEFAULT_FOLDER = "iclab-results"

# Gives names to what is in the folders: no part of the names of jobs.
__computes__ = False

if "jax" in sys.modules:
    sys.modules["jax"].config.update("jax_enable_x64", True)
else:
    os.environ["JAX_ENABLE_X64"] = "true"

# XLA for CPUs runs independent parts of a program at once, and two batched
# factorisations (an inverse and an eigenvalue problem, say) can then wait for each
# other's threads forever. In order, they cannot. Read when JAX first computes; in
# front, because XLA reads no further than to a word that is no flag.
_IN_ORDER = "--xla_cpu_enable_concurrency_optimized_scheduler"
if _IN_ORDER not in os.environ.get("XLA_FLAGS", ""):
    _flags = f"{_IN_ORDER}=false {os.environ.get('XLA_FLAGS', '')}"
    os.environ["XLA_FLAGS"] = _flags.strip()

_FOLDERS = (
    "algorithms",
    "core",
    "evaluation",
    "evidence",
    "explore",
    "lab",
    "models",
    "papers",
    "probes",
    "report",
    "results",
    "runs",
    "tasks",
    "testing",
    "theory",
    "training",
)
_COMMANDS = ("check", "entries", "reproduce")


def load(
    id: str, out: str | os.PathLike[str] = DEFAULT_FOLDER, *, frame: bool = False
) -> Any:
    """Arrays of a figure or a claim, from the folder that `iclab reproduce` wrote.

    A figure gives its tables and a claim its cases: a dict, by name, of dicts of NumPy
    arrays. With `frame` all numbers come as one pandas DataFrame in long form.
    """
    from iclab import papers, results

    try:
        return results.load(id, out, frame=frame)
    except results.NoResults:
        known = papers.select([id.partition("@")[0]])
        if id not in (entry.id for entry in known) and "@" not in id:
            raise papers.UnknownId(
                f"{id!r} is a paper: name one of its results, as in `iclab list`"
            ) from None
        raise


def sweep(
    function: Callable[..., Any],
    grid: Mapping[str, Any],
    seeds: Any = 3,
    out: str | os.PathLike[str] = "sweep",
    *,
    jobs: int | None = None,
    cluster: str | os.PathLike[str] | None = None,
    force: bool = False,
    quiet: bool = False,
) -> "Sweep":
    """Call `function` at every point of `grid`, with every seed, and keep the answers.

    It is called as `function(**point, seed=seed)` or as `function(point, key)`, in
    `jobs` processes or on the Dask `cluster` at an address, and returns a number, an
    array or a dict of these. In the folder `out` nothing is computed twice: a sweep
    that was stopped goes on. See docs/sweeps.md.
    """
    from iclab.runs import sweep

    where: dict[str, Any] = {"jobs": jobs, "cluster": cluster}
    return sweep(function, grid, seeds, out, **where, force=force, quiet=quiet)


def open_sweep(folder: str | os.PathLike[str]) -> "Sweep":
    """What a sweep has found so far, from its folder; this computes nothing."""
    from iclab.runs import open_sweep

    return open_sweep(folder)


def __getattr__(name: str) -> Any:
    """Load folders and commands on first use: `iclab.theory` needs no import of its own
    and `import iclab` loads no JAX.
    """
    if name in _FOLDERS:
        return importlib.import_module(f"iclab.{name}")
    if name in _COMMANDS:
        return getattr(importlib.import_module("iclab._requests"), name)
    raise AttributeError(f"module 'iclab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_FOLDERS, *_COMMANDS]
