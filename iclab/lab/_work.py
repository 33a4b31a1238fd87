"""Items as jobs, and what comes back as records."""

import dataclasses
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from iclab import papers
from iclab._files import now
from iclab.evidence import Entry
from iclab.lab._figures import Figures
from iclab.lab._request import Request
from iclab.results import Record, Settle, claim_record, scatter
from iclab.runs import Cache, Job, Outcome, Store, provenance, reread_sources

# A job among those of its item: its seed and its name, which a claim's has none of.
Key = tuple[int, str]


class Work:
    """The items of a request, their jobs, and how far they are.

    With several seeds a record is that of the first, and says how the others end.
    """

    def __init__(
        self,
        request: Request,
        entries: Sequence[Entry],
        *,
        store: Store | None = None,
        cache: Cache | None = None,
    ):
        reread_sources()  # a process that lives long may see its papers edited
        self.request = request
        self.entries = {entry.id: entry for entry in entries}
        self._store, self._figures = store, Figures(request, cache)
        self.jobs: dict[str, dict[Key, Job]] = {}
        self.unplanned: dict[str, str] = {}
        for id, entry in self.entries.items():
            try:
                self.jobs[id] = {
                    (seed, name): job
                    for seed in request.every_seed
                    for name, job in self._plan(entry, seed).items()
                }
            except Exception:
                self.unplanned[id] = traceback.format_exc()
        # Figures may share a job: it is run once, for all of them.
        self._owners: dict[str, list[tuple[str, Key]]] = {}
        for id, group in self.jobs.items():
            for key, job in group.items():
                self._owners.setdefault(job.digest, []).append((id, key))
        self._ended: dict[str, dict[Key, Outcome]] = {id: {} for id in self.jobs}

    @property
    def order(self) -> list[str]:
        """Items that have jobs, in the order in which to begin them: figures first.

        Figures take longer, and a long job that begins last leaves the others idle.
        """
        return sorted(self.jobs, key=lambda id: self.entries[id].kind == "claim")

    @property
    def every_job(self) -> list[Job]:
        """All jobs, in that order."""
        return [job for id in self.order for job in self.jobs[id].values()]

    @property
    def claim_jobs(self) -> list[Job]:
        """The jobs that check claims."""
        claims = [id for id in self.jobs if self.entries[id].kind == "claim"]
        return [job for id in claims for job in self.jobs[id].values()]

    def owners(self, job: Job) -> list[str]:
        """Items that a job works for."""
        return [id for id, _ in self._owners[job.digest]]

    @property
    def problems(self) -> list[str]:
        """Sentences about what was there and had to be made again."""
        store = [] if self._store is None else self._store.problems
        return [*(f"{one}; computed again" for one in store), *self._figures.problems]

    def take(self, outcome: Outcome) -> list[str]:
        """Note how a job has ended; returns the items that have now all they need."""
        ready = []
        for id, key in self._owners[outcome.job.digest]:
            self._ended[id][key] = outcome
            if len(self._ended[id]) == len(self.jobs[id]):
                ready.append(id)
        return ready

    def computed(self, id: str) -> float | None:
        """Seconds that an item took in this run; None if all of it was cached."""
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
        entry, (first, *others) = self.entries[id], self.request.every_seed
        record, settle = self._record(entry, first, state)
        if others and not record.failed:
            every = [record, *(self._record(entry, one)[0] for one in others)]
            record = dataclasses.replace(record, scatter=scatter(every))
        return record, settle

    def _record(
        self, entry: Entry, seed: int, state: Callable[[str], None] | None = None
    ) -> tuple[Record, Settle | None]:
        """What an item has come to with a seed; it is drawn where there is `state`."""
        ended = {
            name: outcome
            for (own, name), outcome in self._ended.get(entry.id, {}).items()
            if own == seed
        }
        seconds = sum(outcome.seconds for outcome in ended.values())
        errors = [outcome.error for outcome in ended.values() if outcome.error]
        errors += [self.unplanned[entry.id]] if entry.id in self.unplanned else []
        made: Any = {"seed": seed, "scale": self.request.scale}
        settle = None
        if not errors:
            try:
                names = [name for own, name in self.jobs[entry.id] if own == seed]
                tables = {name: ended[name].result or {} for name in names}
                if entry.kind == "claim":
                    record = claim_record(entry, tables[""], **made)
                elif state is None:
                    judged = papers.judged(entry, tables)
                    record = papers.figure_record(entry, judged, (), seconds, **made)
                else:
                    found, files, settle = self._figures.finish(entry, tables, state)
                    record = papers.figure_record(entry, found, files, seconds, **made)
                    jobs = {name: ended[name].job.digest for name in names}
                    settings = self._figures.settings(entry)
                    record = dataclasses.replace(record, settings=settings, jobs=jobs)
                return dataclasses.replace(record, **self._origin(entry.id)), settle
            except Exception:
                errors = [traceback.format_exc()]
        record = papers.failed_record(entry, errors[0], seconds, **made)
        return dataclasses.replace(record, **_made(now(), provenance())), None

    def _plan(self, entry: Entry, seed: int) -> dict[str, Job]:
        if entry.kind == "claim":
            return {"": papers.claim_job(entry, self.request.scale, seed)}
        return self._figures.jobs(entry, seed)

    def _origin(self, id: str) -> dict[str, Any]:
        """When, and by which iclab, an item was computed: its last job says that."""
        jobs = self.jobs[id].values()
        found = [] if self._store is None else map(self._store.origin, jobs)
        there = [manifest for manifest in found if manifest is not None]
        if not there:
            return _made(now(), provenance())
        last = max(there, key=lambda manifest: manifest["finished"])
        return _made(last["finished"], last)


def _made(finished: str, by: Mapping[str, Any]) -> dict[str, Any]:
    """When a record was made, and by what."""
    versions = {"iclab": by["versions"]["iclab"], "commit": by["commit"]}
    return {"finished": finished, **versions}
