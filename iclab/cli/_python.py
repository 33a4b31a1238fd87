"""`iclab.check` and `iclab.reproduce`: the commands as functions that give records."""

import argparse
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from iclab import papers as known
from iclab._reader import Natural, Seed, checked
from iclab.cli._main import _parser
from iclab.cli._mistake import UserMistake
from iclab.cli._reproduce import Ended, run_check, run_reproduce
from iclab.evidence import Scale, setting_text
from iclab.papers import PaperProblem
from iclab.report import Findings

Names = str | Iterable[str]
Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


@checked
def check(
    ids: Names,
    papers: Paths,
    *,
    scale: Scale,
    seed: Seed,
    out: str | os.PathLike[str] | None,
    jobs: Natural | None,
    cluster: str | os.PathLike[str] | None,
    force: bool,
    quiet: bool,
) -> Findings:
    """Run claims, as `iclab check` does."""
    asked = {"scale": scale, "seed": seed, "force": force, "jobs": jobs}
    where = {"out": out, "cluster": cluster}
    options = _options("check", ids, papers, quiet, asked, where)
    return Findings(_run(run_check, options).records)


@checked
def reproduce(
    ids: Names,
    papers: Paths,
    *,
    scale: Scale,
    seed: Seed,
    out: str | os.PathLike[str],
    settings: Mapping[str, Any],
    weights: Mapping[str, str | os.PathLike[str]],
    retrain: bool,
    jobs: Natural | None,
    cluster: str | os.PathLike[str] | None,
    force: bool,
    quiet: bool,
) -> Findings:
    """Run claims and figures and write the report, as `iclab reproduce` does."""
    asked: dict[str, Any] = {"scale": scale, "seed": seed, "force": force, "jobs": jobs}
    asked["retrain"] = retrain
    asked["set"] = [f"{name}={setting_text(one)}" for name, one in settings.items()]
    asked["weights"] = [f"{name}={os.fspath(one)}" for name, one in weights.items()]
    where = {"out": out, "cluster": cluster}
    options = _options("reproduce", ids, papers, quiet, asked, where)
    ended = _run(run_reproduce, options)
    return Findings(ended.records, Path(options.out), ended.page)


def _run(
    command: Callable[[argparse.Namespace], Ended], options: argparse.Namespace
) -> Ended:
    try:
        ended = command(options)
    except UserMistake as mistake:
        raise ValueError(_in_python(str(mistake))) from None
    if ended.run.stopped is not None:
        raise ended.run.stopped
    return ended


def _in_python(text: str) -> str:
    """A message with the names of arguments where the command line has its options."""
    named = {"set": "settings", "paper": "papers"}
    return re.sub(r"--(\w+)", lambda one: f"`{named.get(one[1], one[1])}`", text)


@checked
def entries(ids: Names, papers: Paths) -> tuple[Any, ...]:
    """What there is to check and to draw, as `iclab list` names it."""
    named = open_papers(ids, papers)
    return tuple(entry.filled({}) for entry in known.select(named))


def open_papers(ids: Names, papers: Paths) -> list[str]:
    """Open papers that are folders, or here; gives the ids as a list."""
    named = [ids] if isinstance(ids, str) else list(ids)
    single = isinstance(papers, (str, os.PathLike))
    folders = [papers] if single else list(papers)
    for folder in folders:
        before = known.paper_problems()
        new = [one for one in known.open_papers([folder]) if one not in before]
        if new:
            raise PaperProblem(_in_python(new[0]))
    known.open_papers_here(named)
    return named


def reproduce_options(
    ids: Names, asked: Mapping[str, Any], where: Mapping[str, str]
) -> argparse.Namespace:
    """What `iclab reproduce` would be told, from plain values."""
    return _options("reproduce", ids, (), False, asked, where)


def _options(
    command: str,
    ids: Names,
    papers: Paths,
    quiet: bool,
    asked: Mapping[str, Any],
    where: Mapping[str, str | os.PathLike[str] | None],
) -> argparse.Namespace:
    """What the command line would make of these arguments."""
    options = _parser().parse_args([command])
    for name, value in asked.items():
        setattr(options, name, value)
    for name, given in where.items():
        setattr(options, name, None if given is None else os.fspath(given))
    options.ids = open_papers(ids, papers)
    # Standard output is the user's: what there is to see goes elsewhere.
    options.json, options.quiet = True, quiet
    return options
