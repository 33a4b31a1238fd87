"""Results as jobs: what a process needs to check a claim or compute a figure."""

import csv
import dataclasses
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from iclab._reader import Seconds, Seed, checked
from iclab.evidence import (
    Entry,
    Figure,
    FigureResult,
    Given,
    MissingTable,
    Scale,
    Tables,
    judge_figure,
)
from iclab.papers._catalog import contents_say, load_figure, module_name
from iclab.results import Record
from iclab.runs import Device, Job
from iclab.show import visible

if TYPE_CHECKING:
    import matplotlib.figure

# Kinds of picture, and what to leave out of them: the same numbers give the same bytes.
_FORMATS: Mapping[str, Mapping[str, None]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
    "png": {},
}


@checked
def claim_job(entry: Entry, scale: Scale, seed: Seed) -> Job:
    """The job that checks a claim, which is mostly compilation below paper scale."""
    module = module_name(entry)
    config = {"claim": module, **contents_say(entry), "scale": scale}
    function = "iclab.papers._job_functions:check_claim"
    return Job(function, config, seed, (module,), entry.id, quick=scale != "paper")


@checked
def prediction_job(claim: Job) -> Job:
    """The job that says what a claim predicts, whatever the seed, from the claim's."""
    function = "iclab.papers._predictions:predict_claim"
    return dataclasses.replace(claim, function=function, seed=0)


@checked
def failed_record(
    entry: Entry, error: str, seconds: Seconds, *, seed: Seed, scale: Scale
) -> Record:
    """An item whose program stopped: nothing was decided, and `error` says why."""
    told = entry.filled({})
    return Record(
        id=entry.id,
        kind=entry.kind,
        verdict="undecided",
        statement=told.statement,
        correction=told.correction,
        seconds=seconds,
        seed=seed,
        scale=scale,
        error=visible(error),  # as it may be read again
    )


@checked
def figure_jobs(
    entry: Entry,
    scale: Scale,
    seed: Seed,
    *,
    retrain: bool = False,
    changes: Mapping[str, Any] = {},
    device: Device = "cpu",
    precision: str | None = None,
) -> dict[str, Job]:
    """The jobs that compute a figure's tables, by the table's name.

    Figures that compute the same tables with the same function share their jobs. With
    `retrain` the bundled models are trained again; `changes` are
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
            quick=scale == "smoke",
        )

    try:
        settings = figure.settings_at(scale, changes)
    except (ValueError, TypeError) as error:
        raise type(error)(f"figure_jobs: `changes` do not fit: {error}") from error
    units = figure.jobs(settings)
    return {name: job(name, values) for name, values in units.items()}


@checked
def judged(entry: Entry, tables: Tables) -> FigureResult:
    """A figure held against what its paper says, and what we find."""
    return judge_figure(load_figure(entry), tables, exploratory=entry.is_variant)


@checked
def drawn(entry: Entry, tables: Tables) -> dict[str, bytes]:
    """A figure's pictures and data: what each file holds, by its name in a folder."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    # A `matplotlibrc` in the current folder may be a stranger's: it starts no LaTeX.
    with matplotlib.rc_context({"text.usetex": False}):
        picture = draw_figure(load_figure(entry), tables)
    # Laid out once for all formats: that takes longer than drawing them.
    picture.draw_without_rendering()
    picture.set_layout_engine(None)
    box = picture.get_tightbbox().padded(matplotlib.rcParams["savefig.pad_inches"])
    files = {}
    for kind, metadata in _FORMATS.items():
        file, how = io.BytesIO(), {"format": kind, "metadata": dict(metadata)}
        with matplotlib.rc_context({"svg.hashsalt": entry.id}):
            picture.savefig(file, bbox_inches=box, **how)
        files[kind] = file.getvalue()
    plt.close(picture)
    files["csv"] = _csv(tables).encode()
    return {f"figures/{entry.id}.{kind}": data for kind, data in files.items()}


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


@checked
def figure_record(
    entry: Entry,
    result: FigureResult,
    files: Sequence[str],
    seconds: Seconds,
    *,
    seed: Seed,
    scale: Scale,
) -> Record:
    """The record of a finished figure."""
    return Record(
        id=entry.id,
        kind="figure",
        verdict=result.verdict,
        statement=entry.filled(result.numbers).statement,
        seconds=seconds,
        seed=seed,
        scale=scale,
        evidence=result.evidence,
        paper_statements=result.paper_statements,
        missing=result.missing,
        files=tuple(files),
        numbers=result.numbers,
    )


def _csv(tables: Tables) -> str:
    """All tables in long form: one row a number, whatever the arrays' shapes."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(["table", "column", "index", "value"])
    for table, columns in tables.items():
        for column, values in columns.items():
            for index, value in np.ndenumerate(np.asarray(values)):
                place = " ".join(map(str, index))
                writer.writerow([table, column, place, value.item()])
    return file.getvalue()
