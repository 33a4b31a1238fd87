"""iclab: a laboratory for the theory of in-context learning.

Importing iclab turns JAX's 64-bit mode on: theory is float64. JAX itself is loaded
only when a folder that needs it is touched, so `iclab --help` stays quick.
"""

import importlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from iclab.evidence import Entry
    from iclab.report import Findings
    from iclab.runs import Sweep

    Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

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


def check(
    ids: str | Iterable[str] = (),
    *,
    scale: str = "desk",
    seed: int = 0,
    papers: "Paths" = (),
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    cluster: str | os.PathLike[str] | None = None,
    force: bool = False,
    quiet: bool = False,
) -> "Findings":
    """Run claims and give their records: `iclab check` as a function.

    `ids` name claims or whole papers; without any, all claims are run. `papers` are
    folders of papers of one's own: this runs the code in them. With a folder `out`,
    what it has is not run again. Progress is shown on a terminal and in a notebook,
    unless `quiet`; a notebook shows each record with its verdict and numbers.
    """
    from iclab.cli import check

    where: dict[str, Any] = {"jobs": jobs, "cluster": cluster, "out": out}
    how: dict[str, Any] = {"scale": scale, "seed": seed, "force": force, "quiet": quiet}
    return check(ids, papers, **where, **how)


def reproduce(
    ids: str | Iterable[str] = (),
    *,
    scale: str = "desk",
    seed: int = 0,
    papers: "Paths" = (),
    out: str | os.PathLike[str] = DEFAULT_FOLDER,
    settings: Mapping[str, Any] = {},
    weights: Mapping[str, str | os.PathLike[str]] = {},
    retrain: bool = False,
    jobs: int | None = None,
    cluster: str | os.PathLike[str] | None = None,
    force: bool = False,
    quiet: bool = False,
) -> "Findings":
    """Run claims, draw figures, write the report: `iclab reproduce` as a function.

    `settings` and `weights` are what `--set` and `--weights` are, for figures. All is
    kept in the folder `out`, and what that has is not run again; `iclab.load` reads
    arrays from it. The rest is as in `iclab.check`; a notebook shows pictures too.
    """
    from iclab.cli import reproduce

    where: dict[str, Any] = {"jobs": jobs, "cluster": cluster, "out": out}
    how: dict[str, Any] = {"scale": scale, "seed": seed, "force": force, "quiet": quiet}
    what: dict[str, Any] = {"settings": settings, "weights": weights}
    return reproduce(ids, papers, **what, retrain=retrain, **where, **how)


def entries(
    ids: str | Iterable[str] = (), *, papers: "Paths" = ()
) -> "tuple[Entry, ...]":
    """Every claim and figure, or those that `ids` name: `iclab list` as a function.

    `papers` are folders of papers of one's own, whose contents this reads by running
    them.
    """
    from iclab.cli import entries

    return entries(ids, papers)


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


def __getattr__(name: str) -> ModuleType:
    """Load a folder on first use, so that `iclab.theory` needs no import of its own."""
    if name in _FOLDERS:
        return importlib.import_module(f"iclab.{name}")
    raise AttributeError(f"module 'iclab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_FOLDERS]
