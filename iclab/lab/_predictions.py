"""What stored claims predict today: a result is believed only if it says the same."""

from collections.abc import Iterable, Sequence
from typing import Any

from iclab import papers
from iclab.evidence import CaseResult
from iclab.results import (
    Prediction,
    Wrong,
    last_line,
    read_predictions,
    see_predicted,
)
from iclab.runs import Cache, Event, Job, Outcome, Store


class Predictions:
    """What those `claims` that are in a store predict today.

    This comes from the user's own cache, where every claim that was computed here has
    left it, or from `jobs`, which compute it: never from the folder of results.
    """

    def __init__(self, claims: Iterable[Job], store: Store | None, cache: Cache | None):
        self._cache = cache
        self._claims = {job.digest: job for job in claims}
        # By the digest of a claim's job: what it predicts, or why that is not known.
        self._today: dict[str, Sequence[Prediction] | str] = {}
        self._asked: dict[str, list[str]] = {}  # claims that a job of ours predicts
        asked = {}
        for digest, job in self._claims.items():
            there = store is not None and store.seems_finished(job)
            if there and not self._noted(digest):
                ask = papers.prediction_job(job)
                asked[ask.digest] = ask
                self._asked.setdefault(ask.digest, []).append(digest)
        self.jobs = list(asked.values())

    def see(self, job: Job, cases: Sequence[CaseResult]) -> None:
        """See that the cases of a stored claim are those that it has today."""
        today = self._today.get(job.digest, "what it predicts is not known")
        if isinstance(today, str):
            raise ValueError(today)
        see_predicted(cases, today)

    def take(self, event: Event) -> None:
        """One of `jobs` has ended, or a claim was computed: both say what it predicts.

        Other events are of no interest.
        """
        if not isinstance(event, Outcome) or event.from_store:
            return
        digest, result = event.job.digest, event.result
        asked = self._asked.get(digest, [])
        if asked and result is None:
            reason = last_line(event.error or "")
            self._today |= dict.fromkeys(asked, f"it predicts nothing: {reason}")
        elif asked and result:
            for claim in asked:
                self._keep(claim, result["cases"])
        elif digest in self._claims and result:  # one that is none is said later
            names = Prediction.__dataclass_fields__
            cases = [*result["cases"], *result["slips"]]
            self._keep(digest, [{n: one[n] for n in names} for one in cases])

    def _noted(self, digest: str) -> bool:
        """Look whether the cache knows what a claim predicts."""
        found = None if self._cache is None else self._cache.note(_key(digest))
        try:
            self._today[digest] = read_predictions(found)
        except Wrong:
            return False
        return True

    def _keep(self, digest: str, cases: Any) -> None:
        self._today[digest] = read_predictions(cases)
        if self._cache is not None:
            self._cache.keep(_key(digest), cases)


def _key(digest: str) -> str:
    return f"predictions of {digest}"
