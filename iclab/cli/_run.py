"""Run items to their records, until all have ended or something stops them."""

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from iclab.cli._costs import announcement, known as costs_of, plan
from iclab.cli._lines import result_lines
from iclab.cli._mistake import UserMistake, keeping
from iclab.cli._predictions import Predictions
from iclab.cli._signals import Stopped, stoppable
from iclab.cli._work import Work
from iclab.results import Record, ResultsFolder
from iclab.runs import (
    Cache,
    Cluster,
    Engine,
    EngineProblem,
    Event,
    Outcome,
    Processes,
    Progressed,
    Started,
    Store,
    count_gpus,
    run_jobs,
    usable_cores,
)
from iclab.show import Display, counted, display as usual_display, of, tell


@dataclass
class Progress:
    """A command at work: what it has found so far, and the signal that stopped it."""

    work: Work
    show: Display
    results: ResultsFolder | None = None
    records: dict[str, Record] = field(default_factory=dict)
    computed: dict[str, float] = field(default_factory=dict)
    stopped: Stopped | None = None
    # How much is done of an item's jobs that have begun, by item and job.
    shares: dict[str, dict[str, float]] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        """Something has happened to a job."""
        for id in self.work.owners(event.job):
            if isinstance(event, Started):
                self.show.started(id)
                continue
            shares, jobs = self.shares.setdefault(id, {}), len(self.work.jobs[id])
            reported = isinstance(event, Progressed)
            shares[event.job.digest] = event.fraction if reported else 1.0
            ended = sum(share == 1.0 for share in shares.values())
            words = (
                event.words if reported else of(ended, jobs, "job") if jobs > 1 else ""
            )
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
            with keeping(self.results.folder):
                self.results.add(record, settle)
        self.records[id] = record
        cached, how = seconds is None, record.verdict
        self.show.ended(id, how, seconds=record.seconds, cached=cached)
        lines = result_lines(record, ", from the store" if cached else "")
        self.show.note("\n".join(lines), minor=record.good, how=how)


def run_items(
    work: Work,
    options: argparse.Namespace,
    store: Store | None = None,
    results: ResultsFolder | None = None,
    cache: Cache | None = None,
    *,
    after: Callable[[Progress], None] = lambda run: None,
    display: Display | None = None,
) -> Progress:
    """Run every job of `work` and give every item its record; then do what is `after`.

    Before, say how long it will take, where that is worth saying. `display` shows how
    far it is, by default as fits where the output goes.
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
    expected = {id: _expected(id, work, known, options.scale) for id in work.ids}
    with display or _display(options) as show:
        run = Progress(work, show.begin(expected), results)
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
        if results is not None:
            show.progressed("", 1.0, "writing the report")
        after(run)
    return run


def _say_predictions(count: int, options: argparse.Namespace) -> None:
    """Say what comes before the items; where the cache knows it, nothing does."""
    if count and not getattr(options, "quiet", False):
        claims = counted(count, "stored claim")
        tell(f"iclab {options.command}: computing, once, the predictions of {claims}")


def _display(options: argparse.Namespace) -> Display:
    """What shows how far a run is; JSON has standard output for itself."""
    quiet, out = getattr(options, "quiet", False), None if options.json else sys.stdout
    return usual_display(quiet=quiet, stream=out or sys.stderr, out=out)


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


def _expected(
    id: str, work: Work, known: Mapping[str, Record], scale: str
) -> float | None:
    """Seconds that an item took at this scale before, here or elsewhere."""
    before = known.get(id)
    if before is not None and before.scale == scale and not before.failed:
        return before.seconds
    costs = costs_of(work.entry(id), work.scale)
    return costs and sum(costs.job(name) for name in work.jobs.get(id, {}))
