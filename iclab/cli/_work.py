"""Items as jobs, and what comes back as records."""

import dataclasses
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from iclab import papers
from iclab._files import now
from iclab.cli._mistake import UserMistake
from iclab.evidence import Entry, Scale
from iclab.results import (
    Prediction,
    Record,
    Settle,
    claim_record,
    scatter,
    see_predicted,
)
from iclab.runs import Job, Outcome, Store, provenance, reread_sources

if TYPE_CHECKING:
    from iclab.cli._figures import FigureFolder

# What stands between the name of a job and a seed that is not the first.
SEED = " · seed "


class Work:
    """The items of a command, their jobs, and how far they are.

    With several `seeds`, from `seed` on, a record is that of the first, and says how
    the others end.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        scale: Scale,
        seed: int,
        *,
        store: Store | None,
        figures: "FigureFolder | None" = None,
        seeds: int = 1,
    ):
        reread_sources()  # a process that lives long may see its papers edited
        self._entries = {entry.id: entry for entry in entries}
        self._scale: Scale = scale
        self._seed = seed
        self._others = range(seed + 1, seed + seeds)
        self._store, self._figures = store, figures
        self.jobs: dict[str, dict[str, Job]] = {}
        self.unplanned: dict[str, str] = {}
        # What claims predict today, by their jobs, or why that is not known.
        self.today: dict[str, Sequence[Prediction] | str] = {}
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
    def claim_jobs(self) -> list[Job]:
        """The jobs that check claims."""
        claims = [id for id in self.jobs if self._entries[id].kind == "claim"]
        return [job for id in claims for job in self.jobs[id].values()]

    @property
    def order(self) -> list[str]:
        """Items that have jobs, in the order in which they are begun."""
        return sorted(self.jobs, key=lambda id: self._entries[id].kind == "claim")

    def owners(self, job: Job) -> list[str]:
        """Items that a job works for."""
        return [id for id, _ in self._owners[job.digest]]

    @property
    def problems(self) -> list[str]:
        """Sentences about what was there and had to be made again."""
        store = [] if self._store is None else self._store.problems
        drawn = [] if self._figures is None else self._figures.problems
        return [*(f"{one}; computed again" for one in store), *drawn]

    def sound(self, job: Job, result: Mapping[str, Any]) -> None:
        """See that a result from the store is one that this job can have."""
        for id in self.owners(job):
            if self._entries[id].kind == "claim":
                made: Any = {"seed": self._seed, "scale": self._scale}
                record = claim_record(self._entries[id], result, **made)
                today = self.today.get(job.digest, "what it predicts is not known")
                if isinstance(today, str):
                    raise ValueError(today)
                see_predicted([*record.cases, *record.slips], today)
            elif not all(hasattr(column, "dtype") for column in result.values()):
                raise ValueError("a table of a figure must hold arrays")

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
        record, settle = self._record(self._entries[id], self._seed, state)
        if self._others and not record.failed:
            others = [self._record(self._entries[id], one)[0] for one in self._others]
            record = dataclasses.replace(record, scatter=scatter([record, *others]))
        return record, settle

    def _record(
        self, entry: Entry, seed: int, state: Callable[[str], None] | None = None
    ) -> tuple[Record, Settle | None]:
        """What an item has come to with a seed; it is drawn where there is `state`."""
        ended, jobs = self._ended.get(entry.id, {}), self._jobs_of(entry.id, seed)
        outcomes = {name: ended[key] for name, key in jobs.items()}
        seconds = sum(outcome.seconds for outcome in outcomes.values())
        errors = [outcome.error for outcome in outcomes.values() if outcome.error]
        errors += [self.unplanned[entry.id]] if entry.id in self.unplanned else []
        made: Any = {"seed": seed, "scale": self._scale}
        if not errors:
            try:
                tables = {name: one.result or {} for name, one in outcomes.items()}
                if entry.kind == "claim":
                    record, settle = claim_record(entry, tables[""], **made), None
                else:
                    record, settle = self._figure(entry, tables, seconds, made, state)
                return dataclasses.replace(record, **self._origin(entry.id)), settle
            except UserMistake:
                raise
            except Exception:
                errors = [traceback.format_exc()]
        record = papers.failed_record(entry, errors[0], seconds, **made)
        return dataclasses.replace(record, **self._now()), None

    def _figure(
        self,
        entry: Entry,
        tables: Mapping[str, Mapping[str, Any]],
        seconds: float,
        made: Any,
        state: Callable[[str], None] | None,
    ) -> tuple[Record, Settle | None]:
        assert self._figures is not None
        if state is None:
            judged = papers.judged(entry, tables)
            return papers.figure_record(entry, judged, (), seconds, **made), None
        judged, files, settle = self._figures.finish(entry, tables, state)
        record = papers.figure_record(entry, judged, files, seconds, **made)
        keys = self._jobs_of(entry.id, self._seed)
        jobs = {name: self.jobs[entry.id][key].digest for name, key in keys.items()}
        settings = self._figures.settings(entry)
        return dataclasses.replace(record, settings=settings, jobs=jobs), settle

    def _plan(self, entry: Entry) -> dict[str, Job]:
        found = {}
        for seed in (self._seed, *self._others):
            if entry.kind == "claim":
                jobs = {"": papers.claim_job(entry, self._scale, seed)}
            else:
                assert self._figures is not None
                jobs = self._figures.jobs(entry, seed)
            found |= {self._key(name, seed): job for name, job in jobs.items()}
        return found

    def _key(self, name: str, seed: int) -> str:
        """A job's name among all of its item."""
        return name if seed == self._seed else f"{name}{SEED}{seed}"

    def _jobs_of(self, id: str, seed: int) -> dict[str, str]:
        """Keys of the jobs of an item with a seed, by their names."""
        keys = self.jobs.get(id, {})
        names = [key for key in keys if SEED not in key]
        return {name: self._key(name, seed) for name in names}

    def _origin(self, id: str) -> dict[str, Any]:
        """When, and by which iclab, an item was computed: its last job says that."""
        if self._store is None:
            return self._now()
        found = [self._store.origin(job) for job in self.jobs[id].values()]
        there = [manifest for manifest in found if manifest is not None]
        if not there:
            return self._now()
        last = max(there, key=lambda manifest: manifest["finished"])
        return _made(last["finished"], last)

    def _now(self) -> dict[str, Any]:
        return _made(now(), provenance())


def _made(finished: str, by: Mapping[str, Any]) -> dict[str, Any]:
    """When a record was made, and by what."""
    versions = {"iclab": by["versions"]["iclab"], "commit": by["commit"]}
    return {"finished": finished, **versions}
