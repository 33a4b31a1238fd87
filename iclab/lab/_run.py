"""A request is planned and run, its items judged, and what they come to is kept."""

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from iclab import papers
from iclab._files import now, refuse_links
from iclab._reader import checked
from iclab.evidence import Entry
from iclab.lab._costs import Forecast, cost, forecast
from iclab.lab._lines import result_lines
from iclab.lab._mistake import Mistake, mistakes
from iclab.lab._predictions import Predictions
from iclab.lab._request import Request
from iclab.lab._signals import Stopped, stoppable
from iclab.lab._work import Work
from iclab.results import (
    STORE,
    Record,
    ResultsFolder,
    claim_record,
    first,
    see_drawable,
)
from iclab.runs import (
    Cache,
    Cluster,
    Engine,
    EngineProblem,
    Event,
    Job,
    Outcome,
    Processes,
    Progressed,
    Started,
    Store,
    count_gpus,
    parsed_sources,
    provenance,
    run_jobs,
    usable_cores,
)
from iclab.show import Display, counted, of

Say = Callable[[str], None]


@runtime_checkable
class Pages(Protocol):
    """What makes pages of a folder of results: the module `iclab.report`."""

    def see_report_place(
        self, folder: str | os.PathLike[str], ids: Iterable[str]
    ) -> None:
        """See that no file of others is where they would be."""

    def build_report(self, folder: str | os.PathLike[str], warn: Say) -> Path:
        """Write them; gives the first."""
        ...


@dataclass(frozen=True)
class Ran:
    """A request that was run to its end, or until a signal `stopped` it.

    `records` are in the papers' order; `computed` has the seconds of those that were
    not cached. `folder` keeps all records of its runs, and `page` is the first page of
    its report, where there are such.
    """

    work: Work = field(repr=False)
    records: Sequence[Record]
    computed: Mapping[str, float]
    stopped: Stopped | None = None
    folder: ResultsFolder | None = field(default=None, repr=False)
    page: Path | None = None

    @property
    def entries(self) -> list[Entry]:
        """The items that were asked for."""
        return list(self.work.entries.values())


@checked
@mistakes()
def plan(request: Request) -> Forecast:
    """What a request would run, and how long that would take; nothing is written."""
    entries, store = request.entries(), None
    if request.out is not None and (request.out / STORE).is_dir():
        store = Store(request.out / STORE, read_only=True)
    cache = open_cache(request.cache, lambda text: None)
    with parsed_sources(cache):
        work = Work(request, entries, store=store, cache=cache)
    return forecast(work, store, _processes(request))


@checked
@mistakes()
def run(
    request: Request,
    *,
    engine: Engine | None = None,
    display: Display | None = None,
    pages: Pages | None = None,
    say: Say = lambda text: None,
    announce: Say = lambda text: None,
) -> Ran:
    """Run a request; with a folder, everything is kept there as soon as it is done.

    The `engine` runs the jobs, by default processes of this machine or a cluster, as
    the request has it. `display` shows how far they are, and `pages` writes the report
    of the folder, at the end and when a signal stops the run. `say` gets sentences
    about what is wrong, and `announce` how long it will take, where that is long.
    """
    start = time.perf_counter()
    entries = request.entries()  # mistakes first: they leave no folder
    store = results = page = None
    if request.out is not None:
        store, results = _open(request, request.out, entries, pages, say)
    cache = open_cache(request.cache, say)
    with parsed_sources(cache):
        work = Work(request, entries, store=store, cache=cache)
    words = forecast(work, store, _processes(request)).announcement(
        request.scale, request.out
    )
    if words and request.cluster is None:
        announce(words)
    predictions = Predictions(work.claim_jobs, None if request.force else store, cache)
    if predictions.jobs:
        claims = counted(len(predictions.jobs), "stored claim")
        announce(f"computing, once, the predictions of {claims}")
    engine = engine or usual_engine(request, cache)
    with display or Display() as show:
        show.begin({id: _expected(work, id, results) for id in work.entries})
        session = _Session(work, show, results, predictions)
        try:
            session.run(engine, store)
        finally:
            if cache is not None:
                cache.trim()
        if results is not None:
            facts = {"finished": now(), "seconds": time.perf_counter() - start}
            with mistakes(f"to {results.folder}"):
                results.flush(**(facts if session.stopped is None else {}))
        if results is not None and pages is not None:
            show.progressed("", 1.0, "writing the report")
            with mistakes(f"the report in {results.folder}"):
                page = pages.build_report(results.folder, say)
    for problem in first(work.problems):
        say(problem)
    records = [session.records[id] for id in work.entries if id in session.records]
    return Ran(work, records, session.computed, session.stopped, results, page)


@dataclass
class _Session:
    """A request at work: what it has found so far, and the signal that stopped it."""

    work: Work
    show: Display
    results: ResultsFolder | None
    predictions: Predictions
    records: dict[str, Record] = field(default_factory=dict)
    computed: dict[str, float] = field(default_factory=dict)
    stopped: Stopped | None = None
    # How much is done of an item's jobs that have begun, by item and job.
    shares: dict[str, dict[str, float]] = field(default_factory=dict)

    def run(self, engine: Engine, store: Store | None) -> None:
        """Run every job and give every item its record, until a signal comes."""
        work = self.work
        try:
            for id in work.unplanned:
                self.finish(id)
            if self.predictions.jobs:
                with stoppable(
                    run_jobs(self.predictions.jobs, engine=engine)
                ) as events:
                    for event in events:
                        self.predictions.take(event)
            force = work.request.force
            where: Any = {"store": store, "engine": engine, "sound": self.sound}
            with stoppable(run_jobs(work.every_job, **where, force=force)) as events:
                for event in events:
                    self.predictions.take(event)
                    self.take(event)
        except Stopped as stopped:
            self.stopped = stopped
        except EngineProblem:
            if self.results is not None and self.records:
                # Where that fails too, the first reason is the one to say.
                with contextlib.suppress(Mistake), mistakes(self.results.folder):
                    self.results.flush()
            raise

    def sound(self, job: Job, result: Mapping[str, Any]) -> None:
        """See that a cached result is one that this job can have."""
        for id in self.work.owners(job):
            entry, request = self.work.entries[id], self.work.request
            if entry.kind == "claim":
                made: Any = {"seed": request.seed, "scale": request.scale}
                record = claim_record(entry, result, **made)
                self.predictions.see(job, [*record.cases, *record.slips])
            elif not all(hasattr(column, "dtype") for column in result.values()):
                raise ValueError("a table of a figure must hold arrays")

    def take(self, event: Event) -> None:
        """Something has happened to a job."""
        for id in self.work.owners(event.job):
            if isinstance(event, Started):
                self.show.started(id)
                continue
            shares, jobs = self.shares.setdefault(id, {}), len(self.work.jobs[id])
            going = isinstance(event, Progressed)
            shares[event.job.digest] = event.fraction if going else 1.0
            ended = sum(share == 1.0 for share in shares.values())
            words = event.words if going else of(ended, jobs, "job") if jobs > 1 else ""
            self.show.progressed(id, sum(shares.values()) / jobs, words)
        if isinstance(event, Outcome):
            for id in self.work.take(event):
                self.finish(id)

    def finish(self, id: str) -> None:
        """Give an item its record."""
        record, settle = self.work.record(
            id, lambda word: self.show.progressed(id, 1.0, word)
        )
        seconds = self.work.computed(id)
        if seconds is not None:
            # Not what a fresh process needs before it can begin.
            self.computed[id] = min(seconds, record.seconds)
        if self.results is not None:
            with mistakes(f"to {self.results.folder}"):
                self.results.add(record, settle)
        self.records[id] = record
        cached, how = seconds is None, record.verdict
        self.show.ended(id, how, seconds=record.seconds, cached=cached)
        lines = result_lines(record, cached=cached)
        self.show.note("\n".join(lines), minor=record.good, how=how)


def _open(
    request: Request,
    folder: Path,
    entries: Sequence[Entry],
    pages: Pages | None,
    say: Say,
) -> tuple[Store, ResultsFolder]:
    """The store and the records of a folder, where no file of others is in the way."""
    figures = [entry.id for entry in entries if entry.kind == "figure"]
    with mistakes(f"to {folder}"):
        refuse_links(folder, STORE)
        store = Store(folder / STORE)
        order = [entry.id for entry in papers.select()]
        results = ResultsFolder(folder, _facts(request), order)
        for problem in first(results.problems):
            say(problem)
        for id in figures:
            record = results.records.get(id)
            see_drawable(folder, id, () if record is None else record.files)
        if pages is not None:
            pages.see_report_place(folder, figures)
    return store, results


def _facts(request: Request) -> dict[str, Any]:
    """What is known of a run at its start."""
    cluster = request.cluster is not None
    return {
        "ids": list(request.ids),
        "scale": request.scale,
        "seed": request.seed,
        "started": now(),
        "cluster": cluster,
        "processes": None if cluster else _processes(request),
        "cores": usable_cores(),
        **provenance(),
    }


def _processes(request: Request) -> int:
    return request.jobs or usable_cores()


def usual_engine(request: Request, cache: Cache | None) -> Engine:
    """What runs the jobs: processes on this machine, or a cluster."""
    gpu = request.device == "gpu"
    if request.cluster is not None:
        if gpu:
            raise Mistake("the device gpu is for this machine, not for a cluster")
        return Cluster(request.cluster)
    gpus = count_gpus() if gpu else 0
    if gpu and not gpus:
        raise Mistake(
            "the device gpu needs one, and JAX sees none here: install the JAX that is"
            " made for yours, or use the device cpu"
        )
    # Whoever has told JAX where to keep its programs is not contradicted.
    elsewhere = request.cache is None and "JAX_COMPILATION_CACHE_DIR" in os.environ
    programs = None if cache is None or elsewhere else cache.programs
    return Processes(_processes(request), cache=programs, gpus=gpus)


def open_cache(folder: Path | None, say: Say) -> Cache | None:
    """The user's own cache, None where there can be none and no folder was named.

    What is read from it runs, so it is never a folder that came with results.
    """
    try:
        return Cache(folder)
    except EngineProblem as problem:
        if folder is not None:
            raise
        say(f"{problem}; going on without")
        return None


def _expected(work: Work, id: str, results: ResultsFolder | None) -> float | None:
    """Seconds that an item took at this scale before, here or elsewhere."""
    before, scale = results and results.records.get(id), work.request.scale
    if before is not None and before.scale == scale and not before.failed:
        return before.seconds
    costs = cost(work.entries[id], scale)
    return costs and sum(costs.job(name) for _, name in work.jobs.get(id, {}))
