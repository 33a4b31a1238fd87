"""Results as jobs: what a process needs to check a claim or compute a figure."""

import csv
import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iclab.evidence import (
    Entry,
    Evidence,
    Figure,
    FigureResult,
    Given,
    MissingTable,
    Scale,
    Sentence,
    Tables,
    judge_figure,
)
from iclab.papers._catalog import load_figure, module_name
from iclab.runs import Device, Job, Result

if TYPE_CHECKING:
    import matplotlib.figure

# Kinds of picture, and what to leave out of them: the same numbers give the same bytes.
_FORMATS: Mapping[str, Mapping[str, None]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
    "png": {},
}


def claim_job(entry: Entry, scale: Scale, seed: int) -> Job:
    """The job that checks a claim."""
    module = module_name(entry)
    config = {"claim": module, "scale": scale}
    return Job(
        "iclab.papers._job_functions:check_claim", config, seed, (module,), entry.id
    )


def claim_record(entry: Entry, result: Result, seed: int) -> dict[str, Any]:
    """A checked claim as the JSON object that the command line prints."""
    numbers = result.get("numbers", {})
    return {
        "id": entry.id,
        "kind": "claim",
        "verdict": result["verdict"],
        "statement": entry.filled(numbers).statement,
        "correction": entry.filled(numbers).correction,
        "cases": result["cases"],
        "seconds": result["seconds"],
        "seed": seed,
        "numbers": numbers,
        "slips": result.get("slips", []),
        **_slip(entry, numbers),
    }


def failed_record(
    entry: Entry, error: str, seconds: float, seed: int
) -> dict[str, Any]:
    """An item whose program stopped: nothing was decided, and `error` says why."""
    body = {"cases": []} if entry.kind == "claim" else {"evidence": [], "files": []}
    return {
        "id": entry.id,
        "kind": entry.kind,
        "verdict": "undecided",
        "statement": entry.filled({}).statement,
        "correction": entry.filled({}).correction,
        **body,
        "seconds": seconds,
        "seed": seed,
        "error": error,
    }


def figure_jobs(
    entry: Entry,
    scale: Scale,
    seed: int,
    *,
    retrain: bool = False,
    changes: Mapping[str, Any] = {},
    device: Device = "cpu",
    precision: str | None = None,
) -> dict[str, Job]:
    """The jobs that compute a figure's tables, by the table's name.

    Figures that compute the same tables with the same function share their jobs. With
    `retrain` what comes trained with the package is trained anew; `changes` are
    settings in place of those of the scale. `device` and `precision` are for units that
    train: with others than usual they are other jobs.
    """
    figure = load_figure(entry)
    module = figure.compute.__module__
    compute = f"{module}:{figure.compute.__qualname__}"

    def changed(settings: Mapping[str, Any]) -> dict[str, Any]:
        anew = retrain and settings.get("shipped") is True
        own = {**settings, "shipped": False} if anew else dict(settings)
        return own | {"seed": seed} if figure.seeded else own

    def job(name: str, values: Mapping[str, Any]) -> Job:
        config = {"compute": compute, "table": name, "settings": changed(values)}
        trains = figure.trains(values)
        unusual = {
            "device": device if device != "cpu" else None,
            "precision": precision,
        }
        if trains:
            config |= {name: word for name, word in unusual.items() if word}
        return Job(
            "iclab.papers._job_functions:compute_table",
            config,
            seed,
            (module,),
            f"{entry.id} · {name}",
            device=device if trains else "cpu",
            precision=precision if trains else None,
        )

    units = figure.jobs(figure.settings_at(scale, changes))
    return {name: job(name, values) for name, values in units.items()}


def finish_figure(
    entry: Entry,
    tables: Mapping[str, Mapping[str, Any]],
    folder: Path,
) -> tuple[FigureResult, list[str]]:
    """Judge a figure, draw it and write its pictures and data into `folder`."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = load_figure(entry)
    result = judge_figure(figure, tables, exploratory=entry.is_variant)
    target = folder / entry.paper
    target.mkdir(parents=True, exist_ok=True)
    stem = target / entry.id.partition("/")[2]
    picture = draw_figure(figure, tables)
    files = []
    for suffix, metadata in _FORMATS.items():
        path = stem.with_name(f"{stem.name}.{suffix}")
        with matplotlib.rc_context({"svg.hashsalt": entry.id}):
            picture.savefig(path, bbox_inches="tight", metadata=dict(metadata))
        files.append(path)
    plt.close(picture)
    data = stem.with_name(f"{stem.name}.csv")
    _write_csv(data, tables)
    return result, [str(path.relative_to(folder.parent)) for path in [*files, data]]


def draw_figure(figure: Figure, tables: Tables) -> "matplotlib.figure.Figure":
    """A figure's picture; where a table that it needs is missing, a page that says so.

    Figures draw what they are given, as far as that makes a picture.
    """
    try:
        return figure.draw(Given(tables))
    except MissingTable as absent:
        from iclab.papers._drawing import sheet

        there = ", ".join(tables) or "none"
        return sheet(
            1.5, figure.title, f"Not drawn: it needs {absent} (there: {there})."
        )


def figure_record(
    entry: Entry, result: FigureResult, files: list[str], seconds: float, seed: int
) -> dict[str, Any]:
    """A finished figure as the JSON object that the command line prints."""
    return {
        "id": entry.id,
        "kind": "figure",
        "verdict": result.verdict,
        "statement": entry.filled(result.numbers).statement,
        "evidence": [_evidence(one) for one in result.evidence],
        "files": files,
        "seconds": seconds,
        "seed": seed,
        "said": [_sentence(one) for one in result.said],
        "numbers": result.numbers,
    }


def _slip(entry: Entry, numbers: Mapping[str, Any]) -> dict[str, Any]:
    """What is wrong with a statement, or beside it, with the numbers of a run."""
    entry = entry.filled(numbers)
    return {
        "erratum": entry.erratum,
        "erratum_class": entry.erratum_class,
        "remark": entry.remark,
        "credit": entry.credit,
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return dataclasses.asdict(evidence) | {"holds": evidence.holds}


def _sentence(sentence: Sentence) -> dict[str, Any]:
    return {
        "statement": sentence.statement,
        "place": sentence.place,
        "state": sentence.state,
        "main": sentence.main,
        "blame": sentence.blame,
        "note": sentence.note,
        "tests": [_evidence(test) for test in sentence.tests],
    }


def _write_csv(path: Path, tables: Mapping[str, Mapping[str, Any]]) -> None:
    """All tables in long form: one row a number, whatever the arrays' shapes."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["table", "column", "index", "value"])
        for table, columns in tables.items():
            for column, values in columns.items():
                for index, value in np.ndenumerate(np.asarray(values)):
                    place = " ".join(map(str, index))
                    writer.writerow([table, column, place, value.item()])
