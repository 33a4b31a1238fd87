"""Run items to their records, until all have ended or something stops them."""

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from iclab.cli._costs import announcement, known as costs_of, plan
from iclab.cli._live import Row, Silent, display
from iclab.cli._mistake import UserMistake, keeping
from iclab.cli._predictions import Predictions
from iclab.cli._signals import Stopped, stoppable
from iclab.cli._terminal import tell
from iclab.cli._work import Work
from iclab.results import Record, ResultsFolder
from iclab.runs import (
    Cache,
    Cluster,
    Engine,
    EngineProblem,
    Event,
    Processes,
    Started,
    Store,
    Told,
    count_gpus,
    run_jobs,
    usable_cores,
)


@dataclass
class Progress:
    """A command at work: what it has found so far, and the signal that stopped it."""

    work: Work
    show: Silent
    results: ResultsFolder | None = None
    records: dict[str, Record] = field(default_factory=dict)
    computed: dict[str, float] = field(default_factory=dict)
    stopped: Stopped | None = None

    def take(self, event: Event) -> None:
        """Something has happened to a job."""
        owners, job = self.work.owners(event.job), event.job.digest
        if isinstance(event, Started):
            for id in owners:
                self.show.started(id, job)
            return
        if isinstance(event, Told):
            for id in owners:
                self.show.told(id, job, event.fraction, event.words)
            return
        for id in owners:
            self.show.job_ended(id, event.seconds, from_store=event.from_store, job=job)
        for id in self.work.take(event):
            self.finish(id)

    def finish(self, id: str) -> None:
        """Give an item its record."""
        record, settle = self.work.record(id, lambda word: self.show.state(id, word))
        seconds = self.work.computed(id)
        if seconds is not None:
            # Not what a fresh process needs before it can begin.
            self.computed[id] = min(seconds, record.seconds)
        if self.results is not None:
            with keeping(self.results.folder):
                self.results.add(record, settle)
        self.records[id] = record
        self.show.finished(record, from_store=seconds is None)


def run_items(
    work: Work,
    options: argparse.Namespace,
    store: Store | None = None,
    results: ResultsFolder | None = None,
    cache: Cache | None = None,
    *,
    after: Callable[[Progress], None] = lambda run: None,
) -> Progress:
    """Run every job of `work` and give every item its record; then do what is `after`.

    Before, say how long it will take, where that is worth saying.
    """
    known = {} if results is None else results.records
    processes = options.jobs or usable_cores()
    foreseen = plan(
        work,
        work.entries,
        options.scale,
        store=store,
        cores=processes,
        force=options.force,
    )
    words = announcement(foreseen, options.command, options.scale, options.out)
    if words and options.cluster is None and not getattr(options, "quiet", False):
        tell(words)
    today = Predictions(work, None if options.force else store, cache)
    _say_predictions(len(today.jobs), options)
    rows = {id: _row(id, work, known, options.scale) for id in work.ids}
    with _display(rows, options, processes) as show:
        run = Progress(work, show, results)
        try:
            for id in work.unplanned:
                run.finish(id)
            if today.jobs:
                asking = run_jobs(today.jobs, engine=engine(options, cache))
                with stoppable(asking) as events:
                    for event in events:
                        today.take(event)
            events = run_jobs(
                work.every_job,
                store=store,
                engine=engine(options, cache),
                force=options.force,
                sound=work.sound,
            )
            with stoppable(events) as events:
                for event in events:
                    today.take(event)
                    run.take(event)
        except Stopped as stopped:
            run.stopped = stopped
        except EngineProblem as problem:
            if results is not None and run.records:
                # Where that fails too, the first reason is the one to say.
                with contextlib.suppress(UserMistake), keeping(results.folder):
                    results.flush()
            raise UserMistake(str(problem)) from None
        finally:
            if cache is not None:
                cache.trim()
        show.reporting()
        after(run)
    return run


def _say_predictions(count: int, options: argparse.Namespace) -> None:
    """Say what comes before the items; where the cache knows it, nothing does."""
    if count and not getattr(options, "quiet", False):
        claims = (
            "a stored claim predicts"
            if count == 1
            else f"{count} stored claims predict"
        )
        tell(f"iclab {options.command}: computing, once, what {claims} here")


def _display(
    rows: Mapping[str, Row], options: argparse.Namespace, processes: int
) -> Silent:
    """What shows how far a run is; `quiet` and `notebook` are Python's to ask for."""
    if getattr(options, "quiet", False):
        return Silent()
    if getattr(options, "notebook", False):
        from iclab.cli._notebook import NotebookTable

        return NotebookTable(rows, processes)
    return display(rows, json=options.json, processes=processes)


def engine(options: argparse.Namespace, cache: Cache | None) -> Engine | None:
    """What runs the jobs: processes on this machine, or a cluster."""
    if options.cluster is not None:
        if getattr(options, "device", "cpu") == "gpu":
            raise UserMistake("--device gpu is for this machine, not for a --cluster")
        return Cluster(options.cluster)
    # Whoever has told JAX where to keep its programs is not contradicted.
    told = options.cache is None and "JAX_COMPILATION_CACHE_DIR" in os.environ
    programs = None if cache is None or told else cache.programs
    gpus = 0
    if getattr(options, "device", "cpu") == "gpu":
        gpus = count_gpus()
        if not gpus:
            raise UserMistake(
                "--device gpu: JAX sees no GPU here; install the JAX that is made for"
                " yours, or leave --device away"
            )
    return Processes(options.jobs or usable_cores(), cache=programs, gpus=gpus)


def open_cache(options: argparse.Namespace) -> Cache | None:
    """The user's own cache, None where there can be none.

    What is read from it runs, so it is never a folder that came with results.
    """
    try:
        return Cache(options.cache)
    except EngineProblem as problem:
        if options.cache is not None:
            raise UserMistake(str(problem)) from None
        print(f"iclab {options.command}: {problem}; going on without", file=sys.stderr)
        return None


def _row(id: str, work: Work, known: Mapping[str, Record], scale: str) -> Row:
    """An item in the table, with the time that it took at this scale before, here or
    elsewhere.
    """
    before = known.get(id)
    jobs = max(len(work.jobs.get(id, ())), 1)
    if before is not None and before.scale == scale and not before.failed:
        return Row(id, jobs, before.seconds)
    costs = costs_of(work.entry(id), work.scale)
    names = work.jobs.get(id, {})
    return Row(id, jobs, costs and sum(costs.job(name) for name in names))
