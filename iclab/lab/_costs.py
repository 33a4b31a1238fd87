"""What runs cost: seconds that jobs took elsewhere, at the speed of this machine."""

import functools
import heapq
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iclab._reader import checked
from iclab.evidence import Entry, Scale
from iclab.show import counted, duration, of

if TYPE_CHECKING:
    from iclab.lab._request import Request
    from iclab.lab._work import Work
    from iclab.runs import Store

# Processor seconds of jobs, by scale, item and job; `benchmarks/costs.py` writes it.
FILE = Path(__file__).with_name("costs.json")

# A run that takes longer than a minute says so first; one longer than an hour says
# besides how it becomes shorter.
_WORTH_SAYING, _LONG = 60.0, 3600.0
# Rounds of the calibration, and how far a machine may be from the reference.
_ROUNDS, _MOST = 5, 20.0


@checked
@dataclass(frozen=True)
class Cost:
    """What jobs of an item cost on one core of this machine, and whether that was ever
    measured from beginning to end.
    """

    jobs: Mapping[str, float]
    measured: bool

    @property
    def seconds(self) -> float:
        """All jobs, one after the other."""
        return sum(self.jobs.values())

    def job(self, name: str) -> float:
        """One job; a new one costs what the others do."""
        return self.jobs.get(name, self.seconds / len(self.jobs))


@checked
def cost(entry: Entry, scale: Scale) -> Cost | None:
    """What an item costs at a scale; None if that is unknown, as of new settings."""
    table = _table()
    jobs = table["seconds"].get(scale, {}).get(entry.id)
    if not jobs:
        return None
    slower = speed()
    estimated = entry.id in table["estimated"].get(scale, ())
    return Cost({name: s * slower for name, s in jobs.items()}, not estimated)


@functools.cache
def speed() -> float:
    """Seconds here for a second of the machine on which costs were recorded."""
    ratio = calibration() / _table()["calibration"]
    return min(max(ratio, 1 / _MOST), _MOST)


def calibration() -> float:
    """Seconds that a fixed piece of work takes here: the least of a few rounds.

    Plain Python, because `iclab list` loads nothing else; processor seconds, because
    other programs are no part of a machine's speed.
    """
    return min(_round() for _ in range(_ROUNDS))


def _round() -> float:
    start = time.process_time()
    x = 0.5
    for _ in range(100_000):
        x = 3.7 * x * (1.0 - x)
    return time.process_time() - start


@checked
@dataclass(frozen=True)
class Left:
    """How many jobs an item has, and the seconds of those that are left to run, None
    where that is unknown.
    """

    jobs: int
    to_run: tuple[float | None, ...]

    @property
    def seconds(self) -> float | None:
        """All that are left; None if one is unknown."""
        known = [one for one in self.to_run if one is not None]
        return sum(known) if len(known) == len(self.to_run) else None


@checked
@dataclass(frozen=True)
class Forecast:
    """What a request would run: what is left of every item, in the order of its run.

    `cached` of `jobs` different ones are not run. `measured` says that no cost is an
    estimate.
    """

    items: Mapping[str, Left]
    jobs: int
    cached: int
    cores: int
    measured: bool = True

    @property
    def wall(self) -> float:
        """Seconds until the last job of known cost ends, on so many cores."""
        free = [0.0] * self.cores
        for left in self.items.values():
            for one in left.to_run:
                heapq.heapreplace(free, free[0] + (one or 0.0))
        return max(free)

    def words(self) -> str:
        """About how long, where, and what is done already."""
        text = f"about {duration(self.wall)} on {counted(self.cores, 'core')}"
        text += "" if self.measured else " (in part an estimate from single steps)"
        unknown = [id for id, left in self.items.items() if left.seconds is None]
        if unknown:
            these = unknown[0] if len(unknown) == 1 else counted(len(unknown), "item")
            known = f"{text}, " if len(unknown) < len(self.items) else ""
            text = f"{known}duration unknown for {these}"
        if self.cached:
            text += f"; {of(self.cached, self.jobs, 'job')} cached"
        return text

    def announcement(self, scale: Scale, out: Path | None) -> str:
        """What to say before a run: nothing, how long it takes, how to shorten it."""
        if self.wall < _WORTH_SAYING:
            return ""
        if self.wall < _LONG:
            return self.words()
        shorter = ["name single IDs (`iclab list --times` says what each takes)"]
        shorter += ["use the scale desk"] if scale == "paper" else []
        shorter += ["use more processes or a cluster"]
        lines = [self.words(), f"to shorten it: {', '.join(shorter)}"]
        kept = (
            f"what is done is kept in {out}: stop at any time, and ask again to go on"
        )
        return "\n    ".join([*lines, *([] if out is None else [kept])])


def forecast(work: "Work", store: "Store | None", cores: int) -> Forecast:
    """What is left to run of `work`, in the order in which it is begun."""
    request: Request = work.request
    items: dict[str, Left] = {}
    cached, measured, seen = 0, True, set[str]()
    for id in work.order:
        costs, left = cost(work.entries[id], request.scale), list[float | None]()
        for (_, name), job in work.jobs[id].items():
            if job.digest in seen:
                continue
            seen.add(job.digest)
            if store is not None and not request.force and store.seems_finished(job):
                cached += 1
            else:
                left.append(None if costs is None else costs.job(name))
                measured = measured and (costs is None or costs.measured)
        items[id] = Left(len(work.jobs[id]), tuple(left))
    return Forecast(items, len(seen), cached, cores, measured)


@functools.cache
def _table() -> dict[str, Any]:
    return json.loads(FILE.read_text(encoding="utf-8"))
