"""What stored claims predict today: a result is believed only if it says the same."""

from typing import Any

from iclab import papers
from iclab.cli._work import Work
from iclab.results import Prediction, Wrong, last_line, read_predictions
from iclab.runs import Cache, Event, Outcome, Store


class Predictions:
    """What the claims of a command that are in its store predict today.

    This comes from the user's own cache, where every claim that was computed here has
    left it, or from `jobs`, which compute it: never from the folder of results.
    """

    def __init__(self, work: Work, store: Store | None, cache: Cache | None):
        self._work, self._cache = work, cache
        self._claims: dict[str, list[str]] = {}  # for which a job of ours predicts
        asked = {}
        for job in work.claim_jobs:
            there = store is not None and store.seems_finished(job)
            if there and not self._noted(job.digest):
                ask = papers.prediction_job(job)
                asked[ask.digest] = ask
                self._claims.setdefault(ask.digest, []).append(job.digest)
        self.jobs = list(asked.values())

    def take(self, event: Event) -> None:
        """One of `jobs` has ended, or something has happened to another job."""
        if not isinstance(event, Outcome) or event.from_store:
            return
        asked = self._claims.get(event.job.digest)
        if asked is None:
            self._take_claim(event)
        elif event.result is None:
            reason = last_line(event.error or "")
            self._work.today |= dict.fromkeys(asked, f"it predicts nothing: {reason}")
        else:
            for digest in asked:
                self._keep(digest, event.result["cases"])

    def _take_claim(self, outcome: Outcome) -> None:
        """A claim that was computed here says what it predicts, too."""
        if outcome.result is None or outcome.job not in self._work.claim_jobs:
            return
        cases = [*outcome.result["cases"], *outcome.result["slips"]]
        names = Prediction.__dataclass_fields__
        self._keep(outcome.job.digest, [{n: one[n] for n in names} for one in cases])

    def _noted(self, digest: str) -> bool:
        """Look whether the cache knows what a job predicts."""
        found = None if self._cache is None else self._cache.note(_key(digest))
        try:
            self._work.today[digest] = read_predictions(found)
        except Wrong:
            return False
        return True

    def _keep(self, digest: str, cases: Any) -> None:
        self._work.today[digest] = read_predictions(cases)
        if self._cache is not None:
            self._cache.keep(_key(digest), cases)


def _key(digest: str) -> str:
    return f"predictions of {digest}"
