"""`iclab.check`, `iclab.reproduce` and `iclab.entries`: the commands as functions."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from iclab import DEFAULT_FOLDER, lab, papers as known, report
from iclab._reader import Natural, Seed, checked
from iclab.evidence import Entry, Scale
from iclab.papers import PaperProblem
from iclab.report import Findings
from iclab.show import display, tell

Names = str | Iterable[str]
Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

# Asks others to compute: no part of the names of jobs.
__computes__ = False


@checked
def check(
    ids: Names = (),
    *,
    scale: Scale = "desk",
    seed: Seed = 0,
    papers: Paths = (),
    out: str | os.PathLike[str] | None = None,
    jobs: Natural | None = None,
    cluster: str | os.PathLike[str] | None = None,
    force: bool = False,
    quiet: bool = False,
) -> Findings:
    """Run claims and give their records: `iclab check` as a function.

    `ids` name claims or whole papers; without any, all claims are run. `papers` are
    folders of papers of one's own: this runs the code in them. With a folder `out`,
    what it has is not run again. Progress is shown on a terminal and in a notebook,
    unless `quiet`; a notebook shows each record with its verdict and numbers.
    """
    how: Any = {"scale": scale, "seed": seed, "jobs": jobs, "force": force}
    how |= {"out": out and Path(out), "cluster": cluster and os.fspath(cluster)}
    request = lab.Request(command="check", ids=_opened(ids, papers), **how)
    return Findings(_run(request, quiet).records)


@checked
def reproduce(
    ids: Names = (),
    *,
    scale: Scale = "desk",
    seed: Seed = 0,
    papers: Paths = (),
    out: str | os.PathLike[str] = DEFAULT_FOLDER,
    settings: Mapping[str, Any] = {},
    weights: Mapping[str, str | os.PathLike[str]] = {},
    retrain: bool = False,
    jobs: Natural | None = None,
    cluster: str | os.PathLike[str] | None = None,
    force: bool = False,
    quiet: bool = False,
) -> Findings:
    """Run claims, draw figures, write the report: `iclab reproduce` as a function.

    `settings` and `weights` are what `--set` and `--weights` are, for figures, and run
    with exactly these values. All is kept in the folder `out`, and what that has is not
    run again; `iclab.load` reads arrays from it. The rest is as in `iclab.check`; a
    notebook shows pictures too.
    """
    how: Any = {"scale": scale, "seed": seed, "jobs": jobs, "force": force}
    how |= {"out": Path(out), "cluster": cluster and os.fspath(cluster)}
    how |= {"settings": settings, "retrain": retrain}
    how["weights"] = {name: Path(file) for name, file in weights.items()}
    request = lab.Request(command="reproduce", ids=_opened(ids, papers), **how)
    found = _run(request, quiet, pages=report)
    return Findings(found.records, Path(out), found.page)


@checked
def entries(ids: Names = (), *, papers: Paths = ()) -> tuple[Entry, ...]:
    """Every claim and figure, or those that `ids` name: `iclab list` as a function.

    `papers` are folders of papers of one's own, whose contents this reads by running
    them.
    """
    return tuple(entry.filled({}) for entry in known.select(_opened(ids, papers)))


def _run(request: lab.Request, quiet: bool, **more: Any) -> lab.Ran:
    """Run a request; standard output is the user's, and nothing is printed there."""

    def say(text: str) -> None:
        tell(f"iclab {request.command}: {text}")

    more |= {"say": say} | ({} if quiet else {"announce": say})
    ran = lab.run(request, display=display(quiet=quiet), **more)
    if ran.stopped is not None:
        raise ran.stopped
    return ran


def _opened(ids: Names, papers: Paths) -> tuple[str, ...]:
    """The ids as a tuple; opens papers that are folders, or that lie here."""
    named = (ids,) if isinstance(ids, str) else tuple(ids)
    single = isinstance(papers, (str, os.PathLike))
    for folder in [papers] if single else papers:
        before = known.paper_problems()
        new = [one for one in known.open_papers([folder]) if one not in before]
        if new:
            raise PaperProblem(new[0])
    known.open_papers_here(named)
    return named
