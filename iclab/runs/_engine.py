"""Run jobs with any engine, and keep what they find."""

from collections.abc import Callable, Iterator, Sequence

from iclab._reader import checked
from iclab.runs._events import Engine, Event, Outcome, here
from iclab.runs._job import Job, Result
from iclab.runs._store import Kept, Store


@checked
def run_jobs(
    jobs: Sequence[Job],
    *,
    store: Store | None = None,
    engine: Engine | None = None,
    force: bool = False,
    sound: Callable[[Job, Result], None] | None = None,
) -> Iterator[Event]:
    """Yield what happens to every job; finished jobs come from the store.

    Jobs with equal digests are the same work: the first of them stands for all. With no
    engine the work is done here, one job after the other. `force` runs finished jobs
    again and replaces their results. `sound` raises ValueError for a result from the
    store that cannot be one of its job: that is as if it were not there. With a store
    every job has a folder there, in which it may keep what it has done so far.
    """
    distinct: dict[str, Job] = {}
    for job in jobs:
        distinct.setdefault(job.digest, job)
    waiting: list[Job] = []
    for job in distinct.values():
        kept = None if store is None or force else _found(store, job, sound)
        if kept is None:
            waiting.append(_with_folder(job, store, force))
        else:
            yield Outcome(job, kept.result, None, kept.seconds, from_store=True)
    events = (engine or here)(waiting)
    try:
        for event in events:
            if store is not None and isinstance(event, Outcome):
                _keep(store, event, force)
            yield event
    finally:
        # Whoever stops listening, by Ctrl-C too, ends what is still running.
        close = getattr(events, "close", None)
        if close is not None:
            close()


def _found(
    store: Store, job: Job, sound: Callable[[Job, Result], None] | None
) -> Kept | None:
    kept = store.find(job)
    if kept is not None and sound is not None:
        try:
            sound(job, kept.result)
        except ValueError as reason:
            store.refuse(job, str(reason))
            return None
    return kept


def _with_folder(job: Job, store: Store | None, force: bool) -> Job:
    if store is None:
        return job
    if force:
        store.forget_work(job)
    return job.kept_in(store.work_folder(job).resolve())


def _keep(store: Store, outcome: Outcome, force: bool) -> None:
    if outcome.result is not None:
        store.save(
            outcome.job,
            outcome.result,
            outcome.seconds,
            cpu_seconds=outcome.cpu_seconds,
            replace=force or store.refused(outcome.job),
        )
    elif outcome.error is not None:
        store.save_failure(outcome.job, outcome.error, outcome.seconds)
