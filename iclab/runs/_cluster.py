"""Run jobs on a cluster, through a Dask scheduler."""

import contextlib
import dataclasses
import json
import logging
import os
import queue
import sys
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iclab._reader import checked
from iclab.runs._environment import one_thread
from iclab.runs._events import (
    EngineProblem,
    Event,
    Outcome,
    Progressed,
    Started,
    attempt,
)
from iclab.runs._identity import Identity, differences, identity, outside
from iclab.runs._job import Job

if TYPE_CHECKING:
    from distributed import Client, Future

# Seconds to wait for a scheduler that does not answer.
_PATIENCE = 10.0


@checked
class Cluster:
    """An engine: the workers of a Dask scheduler, at an address or named by a file.

    A worker that dies loses nothing: its job goes to another. Workers must have the
    same iclab, and the same versions of what computes, as the process that sends jobs.
    Results come back to that process, which keeps them.
    """

    def __init__(self, address_or_scheduler_file: str | os.PathLike[str]):
        self.name = os.fspath(address_or_scheduler_file)
        if not self.name:
            raise EngineProblem("`address_or_scheduler_file` must not be empty")
        self._address = _address(self.name)
        try:
            import distributed  # noqa: F401
        except ImportError:
            need = "a cluster needs Dask: pip install 'iclab[cluster]'"
            raise EngineProblem(need) from None

    def __call__(self, jobs: Sequence[Job]) -> Iterator[Event]:
        """Yield what happens to the jobs; with nobody listening, no new one begins."""
        if not jobs:
            return
        with _quiet(), self._connected() as client:
            packages = outside(jobs)
            _check_workers(client, packages)
            yield from _follow(client, jobs, packages)

    @contextlib.contextmanager
    def _connected(self) -> Iterator["Client"]:
        from distributed import CancelledError, Client

        try:
            client = Client(
                self._address, timeout=_PATIENCE, set_as_default=False, name="iclab"
            )
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise EngineProblem(f"no Dask scheduler at {self.name}: {reason}") from None
        try:
            yield client
        except (CancelledError, OSError):
            lost = f"lost the connection to the Dask scheduler at {self.name}"
            raise EngineProblem(f"{lost}: what is finished is kept") from None
        finally:
            client.close(timeout=2)


def work(
    job: Job, wanted: Identity, packages: tuple[str, ...], topic: str, key: str
) -> Outcome | str:
    """What a worker does: say that it begins, and do the job.

    It answers with a sentence if the job is for another iclab, or another paper, than
    its own.
    """
    from distributed import get_worker

    worker = get_worker()
    difference = differences(identity(packages), wanted) or _other_sources(job)
    if difference:
        return _refusal(worker.address, difference)
    if "jax" not in sys.modules:
        # As in local processes: the same bytes, and no fight over the cores.
        os.environ.update(one_thread())
    worker.log_event(topic, key)
    # Its folder is on the machine that sent it.
    here = job.kept_in(None)
    return attempt(here, lambda *progress: worker.log_event(topic, [key, *progress]))


def _other_sources(job: Job) -> str:
    """In words, that a job means something else here, if it does."""
    try:
        same = dataclasses.replace(job).digest == job.digest
    except ImportError:
        same = False
    return "" if same else f"other sources for {job.label or job.function}"


def _check_workers(client: "Client", packages: tuple[str, ...]) -> None:
    """Refuse unfit workers before any work is sent; `work` refuses later ones."""
    found: Any = client.run(identity, packages, on_error="return")
    for worker, theirs in found.items():
        if isinstance(theirs, OSError):
            continue  # it has just left
        if isinstance(theirs, Exception):
            problem = f"worker {worker} cannot load iclab ({theirs}): install it there"
            raise EngineProblem(problem)
        if difference := differences(theirs, identity(packages)):
            raise EngineProblem(_refusal(worker, difference))


def _follow(
    client: "Client", jobs: Sequence[Job], packages: tuple[str, ...]
) -> Iterator[Event]:
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    topic = f"iclab-{uuid.uuid4().hex}"
    client.subscribe_topic(topic, lambda event: inbox.put(event[1]))
    waiting = {f"{topic}-{job.digest}": job for job in jobs}
    futures = {
        key: client.submit(work, job, identity(packages), packages, topic, key, key=key)
        for key, job in waiting.items()
    }
    for future in futures.values():
        future.add_done_callback(inbox.put)
    started: set[str] = set()
    while waiting:
        item = inbox.get()
        progress: list[Any] = []
        if isinstance(item, (list, tuple)):
            item, *progress = item
        key = item if isinstance(item, str) else str(item.key)
        if key not in waiting:
            continue  # a job whose worker died may begin twice
        if key not in started:
            started.add(key)
            yield Started(waiting[key])
        if progress:
            yield Progressed(waiting[key], *progress)
        elif not isinstance(item, str):
            outcome = _outcome(item, waiting.pop(key))
            # Lets the worker forget the result.
            del item, futures[key]
            yield outcome


def _outcome(future: "Future", job: Job) -> Outcome:
    if future.status == "error":
        # Not from the job's function, whose errors come back as outcomes.
        from distributed import KilledWorker

        error = future.exception()
        reason = f"a worker could not take this job: {error!r}"
        if isinstance(error, KilledWorker):
            reason = "the workers that took this job died, one after the other"
        return Outcome(job, None, reason, 0.0)
    found = future.result()
    if isinstance(found, str):
        raise EngineProblem(found)
    return found


def _refusal(worker: str, difference: str) -> str:
    return (
        f"worker {worker} has {difference}: install the same there and start it again"
    )


def _address(name: str) -> str:
    """Where the scheduler is: at `name`, or where its file of that name says."""
    if "://" in name or name.rpartition(":")[2].isdigit():
        return name
    try:
        return str(json.loads(Path(name).read_text(encoding="utf-8"))["address"])
    except OSError as error:
        reason = error.strerror or str(error)
        raise EngineProblem(
            f"{name} is no address (tcp://host:port), and as a scheduler's file it "
            f"cannot be read: {reason}"
        ) from None
    except (ValueError, LookupError, TypeError):
        raise EngineProblem(f"{name} is not the file of a Dask scheduler") from None


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask's log off the terminal: what matters is said in outcomes."""
    names = [n for n in logging.root.manager.loggerDict if n.startswith("distributed")]
    loggers = [logging.getLogger(name) for name in names]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
