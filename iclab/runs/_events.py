"""What happens to jobs while they run, in the words that all engines share."""

import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from iclab._reader import Seconds, checked
from iclab.runs._bench import Bench, Report, at_bench
from iclab.runs._job import Job, Result, plain_result


class EngineProblem(Exception):
    """Something that the user can put right; the message is one line."""


@checked
@dataclass(frozen=True)
class Started:
    """A process or a worker took the job."""

    job: Job


@checked
@dataclass(frozen=True)
class Progressed:
    """How far a job says it is, from 0 to 1, and a few words of its own."""

    job: Job
    fraction: float
    words: str = ""


@checked
@dataclass(frozen=True)
class Outcome:
    """How a job ended: with a result, or with the traceback of what stopped it."""

    job: Job
    result: Result | None
    error: str | None
    seconds: Seconds
    from_store: bool = False
    # Of all processors, in all attempts: what the job costs on a quiet machine.
    cpu_seconds: Seconds | None = None


Event = Started | Progressed | Outcome

# What runs jobs. Each job ends with one outcome; one job's failure stops no other.
Engine = Callable[[Sequence[Job]], Iterator[Event]]


def attempt(job: Job, report: Report | None = None) -> Outcome:
    """Do a job here and now; what stops it becomes a traceback.

    While it runs, `report` is called with its progress.
    """
    start, cpu = time.perf_counter(), time.process_time()
    folder = None if job.folder is None else Path(job.folder)
    place = Bench(folder, report, job.precision)
    before = place.spent()
    try:
        with at_bench(place):
            result, error = plain_result(job.run()), None
    except Exception:
        result, error = None, traceback.format_exc()
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    return Outcome(job, result, error, before[0] + seconds, cpu_seconds=before[1] + cpu)


@checked
def here(jobs: Sequence[Job]) -> Iterator[Event]:
    """The simplest engine: one job after the other, in this process."""
    for job in jobs:
        yield Started(job)
        yield attempt(job)
