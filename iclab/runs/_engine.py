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
        if kept is not None:
            yield Outcome(job, kept.result, None, kept.seconds, from_store=True)
            continue
        if store is not None and force:
            store.forget_work(job)
        folder = store and store.work_folder(job).resolve()
        waiting.append(job.kept_in(folder) if folder else job)
    events = (engine or here)(waiting)
    try:
        for event in events:
            if store is not None and isinstance(event, Outcome):
                job, seconds = event.job, event.seconds
                if event.error is not None:
                    store.save_failure(job, event.error, seconds)
                elif event.result is not None:
                    again = force or store.refused(job)
                    cpu = event.cpu_seconds
                    store.save(
                        job, event.result, seconds, cpu_seconds=cpu, replace=again
                    )
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
