"""Run jobs in processes of this machine."""

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
import time
import types
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from iclab._memory import give_back, keep_freed_memory
from iclab._reader import Natural, Whole, checked
from iclab.runs._cache import CACHE_FOLDER, compilation_cache, replace_damaged
from iclab.runs._environment import SAFE_PATH, on_cpu, on_gpu, one_thread
from iclab.runs._events import (
    EngineProblem,
    Event,
    Outcome,
    Progressed,
    Started,
    attempt,
)
from iclab.runs._job import Device, Job

# What a process says first.
_THERE = "there"


@checked
class Processes:
    """An engine: `count` processes, each with one compute thread.

    So they do not fight over the cores, and results do not depend on `count`, to the
    last bit: sums over several threads do. A process that dies loses only the job that
    it was doing; one that cannot even start is a problem of the engine. Compiled
    programs are shared through the folder `cache`, if there is one. No process imports
    the program that is running: a script needs no `if __name__ == "__main__"`.

    They compute on the CPU, whatever is installed. With `gpus` there is one process
    more for each card, alone on it, for the jobs that ask for one.
    """

    def __init__(
        self,
        count: Natural,
        *,
        cache: Path | None = None,
        gpus: Whole = 0,
    ):
        self.count = count
        self.cache = cache
        self.gpus = gpus

    def __call__(self, jobs: Sequence[Job]) -> Iterator[Event]:
        """Yield what happens to the jobs; no process outlives this."""
        devices: tuple[Device, ...] = ("gpu", "cpu")
        lines = {
            device: _Line(job for job in jobs if job.device == device)
            for device in devices
        }
        if lines["gpu"] and not self.gpus:
            raise EngineProblem("jobs ask for a GPU, and there is none")
        shared = {} if self.cache is None else compilation_cache(self.cache)
        cards, cores = range(self.gpus), range(self.count)
        seats = [_Seat(shared | on_gpu(card), lines["gpu"]) for card in cards]
        seats += [_Seat(shared | on_cpu(), lines["cpu"]) for _ in cores]
        try:
            yield from _begin(seats)
            while busy := [seat for seat in seats if seat.job is not None]:
                for event in _news(busy):
                    # The next job does not wait until this one was looked at.
                    begun: list[Started] = []
                    try:
                        if isinstance(event, Outcome):
                            lines[event.job.device].ended(event.job)
                            begun = _begin(seats)
                    finally:
                        yield event
                    yield from begun
        finally:
            for seat in seats:
                seat.end()


class _Line:
    """Jobs that wait, in their order, but of each kind one goes ahead of the others.

    Most of a job's time may be compilation, and jobs of a kind differ by numbers: those
    that begin after the first has ended read what it has compiled. Meanwhile there is
    other work; where there is none, nobody waits.
    """

    def __init__(self, jobs: Iterable[Job]):
        self._jobs = list(jobs)
        self._ahead: set[Hashable] = set()
        self._ended: set[Hashable] = set()

    def __len__(self) -> int:
        return len(self._jobs)

    def next(self) -> Job:
        """Take the job to begin now out of the line."""
        first, waits = self._jobs[0], self._ahead - self._ended
        # Processes begin anew between jobs that are compiled in two ways.
        fit = (job for job in self._jobs if job.quick == first.quick)
        job = next((job for job in fit if _kind(job) not in waits), first)
        self._jobs.remove(job)
        self._ahead.add(_kind(job))
        return job

    def ended(self, job: Job) -> None:
        """Others of its kind need not wait any more."""
        self._ended.add(_kind(job))


def _kind(job: Job) -> Hashable:
    """What jobs have in common that differ by numbers only."""
    return job.function, job.code, _names(job.config)


def _names(value: Any) -> Hashable:
    if not isinstance(value, Mapping):
        return None
    return tuple((name, _names(one)) for name, one in sorted(value.items()))


class _Seat:
    """A process that does one job of a line at a time, started when it is needed."""

    job: Job | None = None
    _process: SpawnProcess | None = None

    def __init__(self, environment: Mapping[str, str], line: _Line):
        self._environment, self.line = environment, line

    @property
    def signals(self) -> tuple[Connection, int]:
        """Ready when the job reports or has ended, or the process has died."""
        assert self._process is not None
        return self._pipe, self._process.sentinel

    def begin(self) -> Started:
        """Begin the next job; whether that went well is seen in its outcome."""
        self.job = job = self.line.next()
        # How programs are compiled is settled when a process begins.
        fits = self._process and self._process.is_alive() and self._quick == job.quick
        if not fits:
            self.end()
            self._start(job.quick)
        self._begun = time.perf_counter()
        with contextlib.suppress(OSError):
            self._pipe.send(job)
        return Started(job)

    def _start(self, quick: bool) -> None:
        self._quick, self._there = quick, False
        # `spawn`, because JAX does not survive a fork.
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        variables = one_thread(quick=quick) | dict(self._environment)
        known = (SAFE_PATH in os.environ, variables.get(CACHE_FOLDER))
        process = context.Process(target=_serve, args=(theirs, *known), daemon=True)
        with _surroundings({**variables, SAFE_PATH: "1"}), _interrupts_held():
            process.start()
            self._process = process
        theirs.close()

    def event(self) -> Progressed | Outcome | None:
        """How far the job is or how it ended, once `signals` are ready.

        None if the process says that it is there. One that ends by itself before that
        will not be helped by another: this raises.
        """
        job = self.job
        assert job is not None
        try:
            if self._pipe.poll():
                message = self._pipe.recv()
                if message == _THERE:
                    self._there = True
                    return None
                if not isinstance(message, Outcome):
                    return Progressed(job, *message)
                self.job = None
                return message
        except (EOFError, OSError):
            pass
        self.job, code = None, self.end()
        if not self._there and (code or 0) >= 0:
            raise EngineProblem(
                f"a process for the work could not be started ({_death(code)}): it has"
                " printed why"
            )
        error = f"the process of this job died: {_death(code)}"
        return Outcome(job, None, error, time.perf_counter() - self._begun)

    def end(self) -> int | None:
        """Leave no process behind; the exit code of the one that was there."""
        if self._process is None:
            return None
        # Nothing is lost: results are handed over whole, and what a job keeps in its
        # folder is written whole.
        self._process.kill()
        self._process.join()
        self._pipe.close()
        code, self._process = self._process.exitcode, None
        return code


def _begin(seats: Sequence[_Seat]) -> list[Started]:
    """Give every free seat its next job."""
    return [seat.begin() for seat in seats if seat.line and seat.job is None]


def _news(busy: Sequence[_Seat]) -> Iterator[Progressed | Outcome]:
    """Wait until a process reports, has ended its job or died."""
    ready = multiprocessing.connection.wait(
        [one for seat in busy for one in seat.signals]
    )
    for seat in busy:
        if any(one in ready for one in seat.signals):
            event = seat.event()
            if event is not None:
                yield event


def _death(code: int | None) -> str:
    if code is None or code >= 0:
        return f"exit code {code}"
    hint = " (was there enough memory?)" if -code == signal.SIGKILL else ""
    return f"killed by {signal.Signals(-code).name}{hint}"


def _serve(pipe: Connection, safe_path: bool, programs: str | None) -> None:
    """Do the jobs that come through the pipe, until it or the parent is gone."""
    keep_freed_memory()
    if not safe_path:
        # What a job starts itself is as its user has it.
        del os.environ[SAFE_PATH]
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    # A damaged program, as a killed process may leave it, is compiled afresh.
    warnings.filterwarnings("ignore", "Error .*persistent compilation cache")
    if programs is not None:
        replace_damaged(Path(programs))
    # The pipe breaks when the parent has gone, or wants no more.
    with contextlib.suppress(EOFError, OSError):
        pipe.send(_THERE)
        while True:
            pipe.send(attempt(pipe.recv(), lambda *progress: pipe.send(progress)))
            give_back()


def _leave_with_parent() -> None:
    """End this process, in the middle of its work too, when the parent is gone."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@contextlib.contextmanager
def _surroundings(variables: Mapping[str, str]) -> Iterator[None]:
    """Let processes started inside have these variables, look for modules in the
    current folder last, and know nothing of the running program's file.

    The current folder may be a stranger's: nothing in it must run because it has the
    name of a library. So each process that we start begins without it (`SAFE_PATH`, or
    `-P`), and `python -m iclab` takes it off its own path at once. A job's process then
    takes over the path of the program that runs. Where the current folder is on that,
    in a notebook, say, it moves to the end: what lies beside the notebook can be
    imported there and hides no library. Only the folder of a script that the user runs,
    and that of iclab itself, keep their place: these programs run anyway.
    """
    environment = {name: os.environ.get(name) for name in variables}
    path, main = sys.path, sys.modules["__main__"]
    here = os.path.realpath(os.curdir)
    script = os.path.realpath(getattr(main, "__file__", None) or "")
    home = Path(__file__).resolve().parents[2]
    try:
        os.environ.update(variables)
        if here not in (os.path.dirname(script), str(home)):
            # Sorting leaves the others in their order.
            sys.path = sorted(path, key=lambda one: os.path.realpath(one) == here)
        sys.modules["__main__"] = types.ModuleType("__main__")
        yield
    finally:
        sys.path, sys.modules["__main__"] = path, main
        for name, value in environment.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let processes started inside never hear Ctrl-C, and the parent only afterwards.

    It is the parent that answers, and a start must not stop half way.
    """
    # Starting this helper of Python's ends the blocking of signals: before, not inside.
    resource_tracker.ensure_running()
    heard: list[int] = []
    in_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT)
    if in_main:
        # Blocking alone is not enough: another thread may receive the signal.
        signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if in_main:
            signal.signal(signal.SIGINT, handler)
        if heard:
            signal.raise_signal(signal.SIGINT)
