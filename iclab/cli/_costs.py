"""What runs cost: seconds that jobs took elsewhere, at the speed of this machine."""

import functools
import heapq
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iclab.evidence import Entry, Scale
from iclab.show import counted, duration, of

if TYPE_CHECKING:
    from iclab.cli._work import Work
    from iclab.runs import Store

# Processor seconds of jobs, by scale, item and job; `benchmarks/costs.py` writes it.
_FILE = Path(__file__).with_name("costs.json")

# A run that takes longer than a minute says so first; one longer than an hour says
# besides how it becomes shorter.
_WORTH_SAYING, _LONG = 60.0, 3600.0
# Rounds of the calibration, and how far a machine may be from the reference.
_ROUNDS, _MOST = 5, 20.0


@dataclass(frozen=True)
class Known:
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
        """One job, whatever its seed; a new one costs what the others do."""
        own = name.partition(" · seed ")[0]
        return self.jobs.get(own, self.seconds / len(self.jobs))


def known(entry: Entry, scale: Scale) -> Known | None:
    """What an item costs at a scale; None if nobody knows, as with other settings."""
    table = _table()
    jobs = table["seconds"].get(scale, {}).get(entry.id)
    if not jobs:
        return None
    slower = speed()
    estimated = entry.id in table["estimated"].get(scale, ())
    return Known({name: s * slower for name, s in jobs.items()}, not estimated)


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


@dataclass(frozen=True)
class Plan:
    """What a command would run: jobs by item, and seconds where they are known."""

    jobs: int
    finished: int
    items: Mapping[str, Sequence[float | None]]
    cores: int
    measured: bool

    @property
    def unknown(self) -> list[str]:
        """Items of which nobody knows how long they take."""
        return [id for id, left in self.items.items() if None in left]

    @property
    def work(self) -> float:
        """Seconds of all jobs that are known and left."""
        return sum(self.seconds(id) for id in self.items)

    def seconds(self, id: str) -> float:
        """Seconds of an item's jobs that are known and left."""
        return sum(one or 0.0 for one in self.items[id])

    @property
    def wall(self) -> float:
        """Seconds until the last job ends, on so many cores, begun in this order."""
        free = [0.0] * self.cores
        heapq.heapify(free)
        for left in self.items.values():
            for one in left:
                heapq.heapreplace(free, free[0] + (one or 0.0))
        return max(free)

    def words(self) -> str:
        """About how long, where, and what is done already."""
        text = f"about {duration(self.wall)} on {counted(self.cores, 'core')}"
        text += "" if self.measured else " (in part an estimate from single steps)"
        if self.unknown:
            some = len(self.unknown)
            text += f", and nobody knows how long {_these(self.unknown)} will take"
            text = text if some < len(self.items) else text.partition(", and ")[2]
        if self.finished:
            text += f"; {of(self.finished, self.jobs, 'job')} are in the store"
        return text


def _these(ids: Sequence[str]) -> str:
    return ids[0] if len(ids) == 1 else counted(len(ids), "item")


def plan(
    work: "Work",
    entries: Iterable[Entry],
    scale: Scale,
    *,
    store: "Store | None",
    cores: int,
    force: bool = False,
) -> Plan:
    """What is left to run of `work`, in the order in which it is begun."""
    by_id = {entry.id: entry for entry in entries}
    items: dict[str, list[float | None]] = {}
    jobs, finished, measured = 0, 0, True
    seen: set[str] = set()
    for id in work.order:
        costs = known(by_id[id], scale)
        left: list[float | None] = []
        for name, job in work.jobs[id].items():
            if job.digest in seen:
                continue
            seen.add(job.digest)
            jobs += 1
            if store is not None and not force and store.seems_finished(job):
                finished += 1
            else:
                left.append(None if costs is None else costs.job(name))
                measured = measured and (costs is None or costs.measured)
        items[id] = left
    return Plan(jobs, finished, items, max(cores, 1), measured)


def announcement(plan: Plan, command: str, scale: Scale, out: str | None) -> str:
    """What to say before a run: nothing, how long it takes, or how to shorten it."""
    if plan.wall < _WORTH_SAYING:
        return ""
    text = f"iclab {command}: {plan.words()}"
    if plan.wall < _LONG:
        return text
    kept = f"what is done is kept in {out}: stop at any time, and the same command"
    kept += " goes on" if out else ""
    shorter = ["name single IDs (`iclab list --times` says what each takes)"]
    shorter += ["--scale desk"] if scale == "paper" else []
    shorter += ["more --jobs, or --cluster"]
    text += f"\n{' ' * 4}to shorten it: {', '.join(shorter)}"
    return text + (f"\n{' ' * 4}{kept}" if out else "")


def times(entry: Entry) -> dict[str, float | None]:
    """Seconds of an item on one core of this machine, by scale."""
    found: dict[str, float | None] = {}
    for scale in ("smoke", "desk", "paper"):
        costs = known(entry, scale)
        found[scale] = None if costs is None else costs.seconds
    return found


def times_words(entry: Entry) -> str:
    """The same in words; empty where nothing is known."""
    words = [
        f"{duration(seconds)} ({scale})"
        for scale, seconds in times(entry).items()
        if seconds is not None
    ]
    return f"about {', '.join(words)} on one core of this machine" if words else ""


@functools.cache
def _table() -> dict[str, Any]:
    return json.loads(_FILE.read_text(encoding="utf-8"))
