"""Kill, look, go on; at the end everything must be as if nothing had happened."""

import os
import random
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.kill.targets import Target

# A process that has not begun a job by then never will.
_PATIENCE = 600


@dataclass
class Tally:
    """What was done to a target, and what it lost."""

    name: str
    kills: int = 0
    hit_work: int = 0
    too_early: int = 0
    runs: int = 0
    kept: int = 0
    lost: list[str] = field(default_factory=list)

    HEAD = ("command", "kills", "hit work", "not counted", "runs", "kept", "lost")

    def row(self) -> tuple[str, ...]:
        """The cells of a table."""
        numbers = (self.kills, self.hit_work, self.too_early, self.runs, self.kept)
        return (self.name, *map(str, numbers), str(len(self.lost)))


def campaign(target: Target, times: int, moments: random.Random) -> Tally:
    """Kill a command `times` times after its first job has begun.

    It is started again in the same folder until it ends by itself, and then in a new
    one. A kill counts if the run had begun a job and was still running.
    """
    tally = Tally(target.name)
    began = time.monotonic()
    expected = _undisturbed(target, tally)
    span = min(time.monotonic() - began, target.seconds * target.jobs / 2)
    while tally.kills < times:
        out = target.folder / f"out-{tally.runs}"
        finished = False
        while not finished:
            finished = _one_run(target, out, tally, times, moments, span)
        tally.runs += 1
        if target.result(out) != expected:
            tally.lost.append(f"{out} does not hold what an undisturbed run does")
    return tally


def _undisturbed(target: Target, tally: Tally) -> object:
    out = target.folder / "undisturbed"
    run = _start(target, out)
    _, error = run.communicate(timeout=_PATIENCE)
    if run.returncode:
        raise RuntimeError(f"{target.name} cannot run at all: {error}")
    return target.result(out)


def _one_run(
    target: Target,
    out: Path,
    tally: Tally,
    times: int,
    moments: random.Random,
    span: float,
) -> bool:
    """Start the command and kill it; whether it ended by itself, and well."""
    before = target.kept(out)
    target.forget()
    begun = target.begun(out)
    run = _start(target, out)
    killing = tally.kills < times
    deadline = time.monotonic() + _PATIENCE
    while killing and run.poll() is None and target.begun(out) <= begun:
        if time.monotonic() > deadline:
            break
        time.sleep(0.005)
    if killing and run.poll() is None:
        # Many kills soon after a beginning, some late: jobs end, files are written.
        time.sleep(moments.uniform(0, span) * moments.random() ** 2)
    ended, at_work = not killing or run.poll() is not None, False
    if not ended:
        at_work = target.at_work(out)
        os.killpg(run.pid, signal.SIGKILL)
    _, error = run.communicate(timeout=_PATIENCE)
    if not ended:
        tally.kills += 1
        tally.hit_work += at_work
    elif killing:
        tally.too_early += 1
    now = target.kept(out)
    gone = [name for name, what in before.items() if now.get(name) != what]
    tally.lost += [f"{out}: {name} is gone or another" for name in gone]
    tally.kept += len(now.keys() - before.keys())
    if ended and run.returncode:
        tally.lost.append(f"{out}: exit code {run.returncode}: {error[-300:]}")
        return True
    return ended


def _start(target: Target, out: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        target.command(out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=target.environment,
        cwd=target.folder,
        start_new_session=True,
    )
