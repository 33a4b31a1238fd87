"""Whether a claim's two sides are two, and its decoys near misses."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from iclab import papers, show
from iclab._reader import checked
from iclab.evidence import CaseResult, Entry, bars_off
from iclab.papers import run_by_decoy, theory_of_both
from iclab.results import read_run
from iclab.runs import package_folder
from iclab.testing._compare import fail

# A decoy that is farther away than so many error bars, and than this part of what was
# measured, would be rejected by much weaker evidence.
_BARS, _PART = 10, 0.1


@checked
def check_evidence(paper: str | os.PathLike[str]) -> None:
    """Check what can be seen of a paper's claims without running them.

    `predict` and `measure` lead to no common function of `iclab.theory`, by a graph of
    the names that each mentions, except those that the claim's `shares` names with a
    reason. `decoy` runs nothing that `measure` runs and `predict` does not, with the
    same exceptions: it is no function of the measurement. Claims that a factory makes
    (`CLAIM = …`) are not looked at.
    """
    for entry in opened_paper(paper).entries:
        if entry.kind == "claim":
            check_sides(entry)


def opened_paper(paper: str | os.PathLike[str]) -> papers.OpenPaper:
    """A paper by its key or its folder."""
    word = os.fspath(paper)
    for one in papers.every_paper():
        if one.key == word:
            return one
    folder = Path(word).resolve()
    problems = papers.open_papers([folder])
    try:
        package = package_folder(folder)
    except ValueError as reason:
        fail(f"the paper {word} cannot be opened: {reason}")
    for one in papers.every_paper():
        if one.folder == package:
            return one
    raise AssertionError("; ".join(problems))


def check_sides(entry: Entry) -> None:
    """What `check_evidence` says of one claim."""
    own = papers.find_paper(entry.paper)
    shares = papers.load_claim(entry).shares
    if problem := sides_problem(own.file(entry), own.package, shares):
        fail(f"{entry.id}: {problem}")


def sides_problem(file: Path, package: str, shares: Mapping[str, str]) -> str | None:
    """What is wrong with the sides of a claim's file, if anything is."""
    both, ran = theory_of_both(file, package), run_by_decoy(file, package)
    known = both | ran
    excused = {*shares}.union(*(known.get(one, ()) for one in shares))
    if common := [one for one in both if one not in excused]:
        return (
            f"`predict` and `measure` both reach {common[0]} of iclab.theory:"
            " measure otherwise, or say in `shares` why that is fair"
        )
    if runs := [one for one in ran if one not in excused]:
        return (
            f"`decoy` must be no function of what is measured: {runs[0]} (or say in"
            " `shares` why that is fair)"
        )
    if stale := [one for one in shares if one not in known]:
        return f"`shares` names {stale[0]}, which the sides do not share"
    return None


@checked
def weak_decoys(folder: str | os.PathLike[str]) -> list[str]:
    """Cases of a results folder whose decoys are farther away than they need be.

    A decoy is rejected from one error bar on. Named is, with its distance, what is more
    than ten bars and a tenth of the measured number away: a nearer miss would say more.
    """
    records = read_run(folder).records.values()
    return [line for one in records for line in weak_cases(one.id, one.cases)]


def weak_cases(id: str, cases: Sequence[CaseResult]) -> list[str]:
    """Lines that name the weak decoys of a claim."""
    found = []
    for case in cases:
        if case.decoy is None or case.printed:
            continue
        measured, decoy = np.asarray(case.measured), np.asarray(case.decoy)
        bars = float(np.max(bars_off("=", measured, decoy, case.error)))
        part = float(np.max(np.abs(measured - decoy)) / np.max(np.abs(measured)))
        if bars > _BARS and part > _PART:
            far = f"{show.number(bars, 3)} error bars, {show.share(part)}"
            found.append(f"{id} {case.title}: {far} of what was measured")
    return found
