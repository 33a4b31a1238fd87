"""Items as jobs, and what comes back as records."""

import dataclasses
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from iclab import papers
from iclab._files import now
from iclab.cli._mistake import UserMistake
from iclab.evidence import Entry, Scale
from iclab.results import Record, Settle, claim_record
from iclab.runs import Job, Outcome, Store, provenance, reread_sources

if TYPE_CHECKING:
    from iclab.cli._figures import FigureFolder


class Work:
    """The items of a command, their jobs, and how far they are."""

    def __init__(
        self,
        entries: Sequence[Entry],
        scale: Scale,
        seed: int,
        *,
        store: Store | None,
        figures: "FigureFolder | None" = None,
    ):
        reread_sources()  # a process that lives long may see its rooms edited
        self._entries = {entry.id: entry for entry in entries}
        self._scale: Scale = scale
        self._seed = seed
        self._store, self._figures = store, figures
        self.jobs: dict[str, dict[str, Job]] = {}
        self.unplanned: dict[str, str] = {}
        for entry in entries:
            try:
                self.jobs[entry.id] = self._plan(entry)
            except Exception:
                self.unplanned[entry.id] = traceback.format_exc()
        # Figures may share a job: it is run once, for all of them.
        self._owners: dict[str, list[tuple[str, str]]] = {}
        for id, group in self.jobs.items():
            for name, job in group.items():
                self._owners.setdefault(job.digest, []).append((id, name))
        self._ended: dict[str, dict[str, Outcome]] = {id: {} for id in self.jobs}

    @property
    def entries(self) -> list[Entry]:
        """All items, in the papers' order."""
        return list(self._entries.values())

    def entry(self, id: str) -> Entry:
        """The item of this id."""
        return self._entries[id]

    @property
    def scale(self) -> Scale:
        """How large the work is."""
        return self._scale

    @property
    def ids(self) -> list[str]:
        """All items, in the papers' order."""
        return list(self._entries)

    @property
    def every_job(self) -> list[Job]:
        """All jobs, in the order in which to begin them: figures, then claims.

        Figures take longer, and a long job that begins last leaves the others idle.
        """
        return [job for id in self.order for job in self.jobs[id].values()]

    @property
    def order(self) -> list[str]:
        """Items that have jobs, in the order in which they are begun."""
        return sorted(self.jobs, key=lambda id: self._entries[id].kind == "claim")

    def owners(self, job: Job) -> list[str]:
        """Items that a job works for."""
        return [id for id, _ in self._owners[job.digest]]

    def take(self, outcome: Outcome) -> list[str]:
        """Note how a job has ended; returns the items that have now all they need."""
        ready = []
        for id, name in self._owners[outcome.job.digest]:
            self._ended[id][name] = outcome
            if len(self._ended[id]) == len(self.jobs[id]):
                ready.append(id)
        return ready

    def computed(self, id: str) -> float | None:
        """Seconds that an item took in this run; None if all came from the store."""
        if id in self.unplanned:
            return 0.0
        new = [one.seconds for one in self._ended[id].values() if not one.from_store]
        return sum(new) if new else None

    def record(
        self, id: str, state: Callable[[str], None] = lambda word: None
    ) -> tuple[Record, Settle | None]:
        """What an item has come to; a mistake in its own program is a result too.

        `state` hears what is being done: "judging", "drawing".
        """
        state("judging")
        entry = self._entries[id]
        outcomes = self._ended.get(id, {})
        seconds = sum(outcome.seconds for outcome in outcomes.values())
        errors = [outcome.error for outcome in outcomes.values() if outcome.error]
        errors += [self.unplanned[id]] if id in self.unplanned else []
        if not errors:
            try:
                record, settle = self._judged(entry, outcomes, seconds, state)
                return dataclasses.replace(record, **self._origin(id)), settle
            except UserMistake:
                raise
            except Exception:
                errors = [traceback.format_exc()]
        made = {"seed": self._seed, "scale": self._scale}
        record = papers.failed_record(entry, errors[0], seconds, **made)
        return dataclasses.replace(record, **self._now()), None

    def _plan(self, entry: Entry) -> dict[str, Job]:
        if entry.kind == "claim":
            return {"": papers.claim_job(entry, self._scale, self._seed)}
        assert self._figures is not None
        return self._figures.jobs(entry)

    def _judged(
        self,
        entry: Entry,
        outcomes: Mapping[str, Outcome],
        seconds: float,
        state: Callable[[str], None],
    ) -> tuple[Record, Settle | None]:
        results = {name: outcomes[name].result or {} for name in self.jobs[entry.id]}
        made: Any = {"seed": self._seed, "scale": self._scale}
        if entry.kind == "claim":
            return claim_record(entry, results[""], **made), None
        assert self._figures is not None
        judged, files, settle = self._figures.finish(entry, results, state)
        record = papers.figure_record(entry, judged, files, seconds, **made)
        jobs = {name: job.digest for name, job in self.jobs[entry.id].items()}
        settings = self._figures.settings(entry)
        return dataclasses.replace(record, settings=settings, jobs=jobs), settle

    def _origin(self, id: str) -> dict[str, Any]:
        """When, and by which iclab, an item was computed: its last job says that."""
        if self._store is None:
            return self._now()
        found = [self._store.manifest(job) for job in self.jobs[id].values()]
        last = max(found, key=lambda manifest: manifest["finished"])
        return _made(last["finished"], last)

    def _now(self) -> dict[str, Any]:
        return _made(now(), provenance())


def _made(finished: str, by: Mapping[str, Any]) -> dict[str, Any]:
    """When a record was made, and by what."""
    versions = {"iclab": by["versions"]["iclab"], "commit": by["commit"]}
    return {"finished": finished, **versions}
