"""One case of a claim, after it was run."""

from dataclasses import dataclass
from typing import Any, Literal

from iclab._reader import Listed, checked
from iclab.evidence._claim import Relation
from iclab.evidence._numbers import as_json

Verdict = Literal["holds", "corrected", "fails", "undecided", "exploratory"]

# Verdicts that count as success.
GOOD_VERDICTS: tuple[Verdict, ...] = ("holds", "corrected", "exploratory")


@checked
@dataclass(frozen=True)
class CaseResult:
    """One case of a claim: both sides, the error bar, the decoy, and what follows.

    A case that is `printed` tests the statement as printed, not its correction.
    `labels` name its entries, in the order of the arrays, if they have names.
    """

    case: str
    relation: Relation
    predicted: Listed
    measured: Listed
    error: Listed
    decoy: Listed | None
    reason: str
    verdict: Verdict
    printed: bool = False
    labels: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The name of the case, which no other case of its claim has."""
        return f"as printed: {self.case}" if self.printed else self.case

    def json(self) -> dict[str, Any]:
        """The case as plain JSON values."""
        return {
            "case": self.case,
            "printed": self.printed,
            "relation": self.relation,
            "predicted": as_json(self.predicted),
            "measured": as_json(self.measured),
            "error": as_json(self.error),
            "decoy": as_json(self.decoy),
            "reason": self.reason,
            "verdict": self.verdict,
            "labels": list(self.labels),
        }
