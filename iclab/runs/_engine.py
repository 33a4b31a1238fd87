"""Run jobs: here, or in processes of this machine."""

import contextlib
import multiprocessing
import os
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass

from iclab.runs._job import Job, Result
from iclab.runs._store import Store


@dataclass(frozen=True)
class Outcome:
    """How a job ended: with a result, or with the traceback of what stopped it."""

    job: Job
    result: Result | None
    error: str | None
    seconds: float
    from_store: bool = False


def run_jobs(
    jobs: Sequence[Job], *, store: Store | None = None, processes: int = 1
) -> Iterator[Outcome]:
    """Yield the outcome of every job as it ends; finished jobs come from the store.

    One job's failure never stops the others. With `processes` > 1 each process has one
    compute thread, so that they do not fight over the cores.
    """
    waiting: list[Job] = []
    for job in jobs:
        if store is not None and store.has(job):
            seconds = store.manifest(job)["seconds"]
            yield Outcome(job, store.load(job), None, seconds, from_store=True)
        else:
            waiting.append(job)
    if processes <= 1 or len(waiting) <= 1:
        outcomes = map(_attempt, waiting)
    else:
        outcomes = _in_processes(waiting, min(processes, len(waiting)))
    for outcome in outcomes:
        if store is not None and outcome.result is not None:
            store.save(outcome.job, outcome.result, outcome.seconds)
        yield outcome


def _attempt(job: Job) -> Outcome:
    start = time.perf_counter()
    try:
        result, error = job.run(), None
    except Exception:
        result, error = None, traceback.format_exc()
    return Outcome(job, result, error, time.perf_counter() - start)


def _in_processes(jobs: Sequence[Job], processes: int) -> Iterator[Outcome]:
    # `spawn`, because JAX does not survive a fork. Submitting starts the processes.
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"))
    with _one_thread():
        futures: dict[Future[Outcome], Job]
        futures = {pool.submit(_attempt, job): job for job in jobs}
    try:
        for future in as_completed(futures):
            failure = future.exception()
            if failure is None:
                yield future.result()
            else:
                message = f"the process of this job died: {failure}"
                yield Outcome(futures[future], None, message, 0.0)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Let processes started inside have one compute thread each."""
    flags = os.environ.get("XLA_FLAGS", "")
    single = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    libraries = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    wanted = {"XLA_FLAGS": f"{flags} {single}".strip(), **dict.fromkeys(libraries, "1")}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
