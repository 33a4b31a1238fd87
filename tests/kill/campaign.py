"""Kill, look, go on; at the end everything must be as if nothing had happened."""

import itertools
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.kill.targets import Target

# A process that has not begun a job by then never will.
_PATIENCE = 600


@dataclass
class Tally:
    """What was done to a target until it came to its end, and what it lost."""

    name: str
    kills: int = 0
    hit_work: int = 0
    too_early: int = 0
    kept: int = 0
    compared: int = 0
    lost: list[str] = field(default_factory=list)


def campaign(
    target: Target, times: int, moments: Callable[[int], random.Random], first: int = 0
) -> Iterator[Tally]:
    """Kill a command `times` times after its first job has begun.

    It is started again in the same folder until it ends by itself, and then in a new
    one: there is a tally of each. The `first` one has this number, and `moments` of a
    number says when to kill. A kill counts if the run had begun a job and was still
    running.
    """
    began = time.monotonic()
    expected = _undisturbed(target)
    span = min(time.monotonic() - began, target.seconds * target.jobs / 2)
    for number in itertools.count(first):
        if times <= 0:
            return
        tally, out = Tally(target.name), target.folder / f"out-{number}"
        chosen, finished = moments(number), False
        while not finished:
            finished = _one_run(target, out, tally, times, chosen, span)
        found = target.result(out)
        tally.compared = len(found)
        tally.lost += differences(expected, found)
        shutil.rmtree(out, ignore_errors=True)
        times -= tally.kills
        yield tally


def differences(expected: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """Files in which a folder is not what an undisturbed run leaves."""
    names = sorted(expected.keys() | found.keys())
    odd = {name: (name in expected, name in found) for name in names}
    said = {(True, False): "is not there", (False, True): "should not be there"}
    return [
        f"{name} {said.get(there, 'is another')}"
        for name, there in odd.items()
        if there != (True, True) or expected[name] != found[name]
    ]


def _undisturbed(target: Target) -> dict[str, Any]:
    out = target.folder / "undisturbed"
    shutil.rmtree(out, ignore_errors=True)
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
    tally.lost += [f"{name} was finished, and is gone or another" for name in gone]
    tally.kept += len(now.keys() - before.keys())
    if ended and run.returncode:
        tally.lost.append(f"exit code {run.returncode}: {error[-300:]}")
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
