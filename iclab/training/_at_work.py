"""Training inside of a job: its state is kept, and others hear how far it is."""

import time
from typing import Any

import jax
import numpy as np

from iclab.core import read
from iclab.runs import Bench, assigned_devices, bench, provenance
from iclab.training._checkpoint import Checkpoints
from iclab.training._hooks import Hook
from iclab.training._plan import Precision

# Seconds from one checkpoint to the next: at least these, at most those, and between
# them a twentieth of what the job has taken, so that little is done twice.
_SHORTEST, _LONGEST, _SHARE = 5.0, 300.0, 0.05
# How much longer than a checkpoint takes the work between two must be.
_COST = 20.0
# A piece of work that lasted so long is not done again when the next one is killed.
_WORTH = 1.0


class Keeper:
    """The state of one piece of a job, kept so that a killed job goes on from it.

    The folder belongs to the job's name, which says all that decides the numbers but
    the versions of what computes: these are held against the checkpoint's. What cannot
    be read or written is passed over. A checkpoint saves time and decides nothing.
    """

    def __init__(self, here: Bench, name: str):
        place = here.place(name)
        self._checkpoints = None if place is None else Checkpoints(place)
        self._job = here
        self._begun = self._saved = time.monotonic()
        self._cost = 0.0
        self._step: int | None = None

    def load(self, like: dict[str, Any]) -> tuple[int, dict[str, Any]] | None:
        """Step and state to go on from, a tree as `like`; None at the beginning."""
        if self._checkpoints is None or not self._checkpoints.steps():
            return None
        try:
            known = _configuration()
            found = self._checkpoints.load(like, known, warn=lambda text: None)
        except (OSError, ValueError):
            return None
        self._step = None if found is None else found[0]
        return found

    def due(self, *, last: bool) -> bool:
        """Whether it is time to save."""
        if self._checkpoints is None:
            return False
        now = time.monotonic()
        if last:
            return now - self._begun >= _WORTH
        share = min(_SHARE * (now - self._job.begun), _LONGEST)
        return now - self._saved >= max(_SHORTEST, share, _COST * self._cost)

    def save(self, step: int, state: dict[str, Any]) -> None:
        """Keep a state; where it cannot be written, work goes on without."""
        if self._checkpoints is None or step == self._step:
            return
        start = time.monotonic()
        try:
            self._checkpoints.save(step, state, _configuration())
        except OSError:
            pass
        else:
            self._step = step
            self._job.kept()
        self._saved = time.monotonic()
        self._cost = self._saved - start


class AtWork(Hook):
    """Keeps a training in the folder of its job, and tells how far it is."""

    def __init__(self, here: Bench):
        self._bench, self._keeper = here, Keeper(here, "training")

    def begin(self, run: Any) -> None:
        found = self._keeper.load(run.state)
        if found is not None and found[0] <= run.steps:
            run.restore(*found)

    def __call__(self, run: Any) -> None:
        words = ""
        if run.step > run.first:
            words = f"loss {np.mean(run.losses[-1]):.3g}"
        self._bench.progress(run.step / run.steps, words)
        last = run.step == run.steps
        if run.step > run.first and self._keeper.due(last=last):
            self._keeper.save(run.step, run.state)

    def stopped(self, run: Any) -> None:
        self._keeper.save(run.step, run.state)


def at_work() -> list[Hook]:
    """What a training needs besides where it is part of a job."""
    here = bench()
    return [] if here is None else [AtWork(here)]


def asked_precision(usual: Precision | None) -> Precision | None:
    """The precision that whoever runs the job asks for, or else the usual one."""
    here = bench()
    asked = None if here is None else here.precision
    return usual if asked is None else read(asked, Precision, "precision")


def _configuration() -> dict[str, Any]:
    known = provenance()
    versions = {f"version of {name}": v for name, v in known["versions"].items()}
    return versions | {
        "platform": known["platform"],
        "backend": jax.default_backend(),
        "devices": len(assigned_devices()),
    }
