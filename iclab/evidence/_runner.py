"""The one runner: turns claims and figures into verdicts and JSON."""

import dataclasses
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from iclab.evidence._claim import Claim, Measured, Relation, Scale, Value
from iclab.evidence._figure import Evidence, Figure, Tables

Verdict = Literal["holds", "corrected", "fails", "undecided"]

# Marks the cases that run a statement as printed, beside those of its correction.
AS_PRINTED = "as printed: "


@dataclass(frozen=True)
class CaseResult:
    """One case of a claim: both sides, the error bar, the decoy, and what follows."""

    case: str
    relation: Relation
    predicted: Value
    measured: Value
    error: Value
    decoy: Value | None
    reason: str
    verdict: Verdict
    printed: bool = False

    def json(self) -> dict[str, Any]:
        """The case as plain JSON values."""
        return {
            "case": self.case,
            "relation": self.relation,
            "predicted": _plain(self.predicted),
            "measured": _plain(self.measured),
            "error": _plain(self.error),
            "decoy": _plain(self.decoy),
            "reason": self.reason,
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class ClaimResult:
    """All cases of a claim and the verdict that they add up to."""

    id: str
    verdict: Verdict
    cases: tuple[CaseResult, ...]
    seconds: float
    seed: int


@dataclass(frozen=True)
class FigureResult:
    """The evidence that a figure's tables give for what its text says."""

    id: str
    verdict: Verdict
    evidence: tuple[Evidence, ...]


def run_claim(claim: Claim, scale: Scale, seed: int) -> ClaimResult:
    """Measure every case of `claim`, as printed too where that is known to fail."""
    start = time.perf_counter()
    cases = [
        _run_case(claim, name, case, scale, seed)
        for name, case in claim.cases(scale).items()
    ]
    if claim.printed is not None:
        cases += _run_printed(claim, scale, seed)
    seconds = time.perf_counter() - start
    return ClaimResult(claim.id, claim_verdict(cases), tuple(cases), seconds, seed)


def judge_figure(figure: Figure, tables: Tables) -> FigureResult:
    """Hold a figure's tables against what its text says a reader sees."""
    evidence = tuple(figure.expect(tables))
    if not evidence:
        return FigureResult(figure.id, "undecided", evidence)
    verdict = "holds" if all(one.holds for one in evidence) else "fails"
    return FigureResult(figure.id, verdict, evidence)


def case_verdict(
    measured: Measured, relation: Relation, predicted: Value, decoy: Value | None
) -> Verdict:
    """`holds`: prediction inside the error bar and decoy outside.

    `fails`: prediction outside. `undecided`: the bar is too wide to tell the two apart.
    """
    if not _compatible(measured, relation, predicted):
        return "fails"
    if decoy is not None and _compatible(measured, relation, decoy):
        return "undecided"
    return "holds"


def claim_verdict(cases: list[CaseResult]) -> Verdict:
    """Verdict of a claim from its cases.

    A printed statement that was expected to fail and did not leaves the claim
    undecided, and so does a claim in which no decoy was rejected.
    """
    ours = [case for case in cases if not case.printed]
    printed = [case for case in cases if case.printed]
    if any(case.verdict == "fails" for case in ours):
        return "fails"
    if any(case.verdict == "undecided" for case in ours):
        return "undecided"
    if all(case.decoy is None for case in ours):
        return "undecided"
    if not printed:
        return "holds"
    refuted = any(case.verdict == "fails" for case in printed)
    return "corrected" if refuted else "undecided"


def _run_case(
    claim: Claim, name: str, case: Any, scale: Scale, seed: int
) -> CaseResult:
    measured = claim.measure(case, case_key(seed, name), scale)
    return _judge(
        name, claim.relation, claim.predict(case), measured, claim.decoy(case)
    )


def _run_printed(claim: Claim, scale: Scale, seed: int) -> list[CaseResult]:
    printed = claim.printed
    assert printed is not None
    cases = (printed.cases or claim.cases)(scale)
    measure = printed.measure or claim.measure
    relation = printed.relation or claim.relation
    results = []
    for name, case in cases.items():
        measured = measure(case, case_key(seed, name), scale)
        result = _judge(
            AS_PRINTED + name, relation, printed.predict(case), measured, None
        )
        results.append(dataclasses.replace(result, printed=True))
    return results


def _judge(
    name: str,
    relation: Relation,
    predicted: Value,
    measured: Measured,
    decoy: Value | None,
) -> CaseResult:
    return CaseResult(
        case=name,
        relation=relation,
        predicted=predicted,
        measured=measured.value,
        error=measured.error,
        decoy=decoy,
        reason=measured.reason,
        verdict=case_verdict(measured, relation, predicted, decoy),
    )


def case_key(seed: int, name: str) -> Any:
    """The random key of a case: it depends on the seed and the case's name alone."""
    import jax

    return jax.random.fold_in(jax.random.key(seed), zlib.crc32(name.encode()))


def _compatible(measured: Measured, relation: Relation, statement: Value) -> bool:
    """Whether a statement survives the measurement; NaN survives nothing."""
    value, error = np.asarray(measured.value), np.asarray(measured.error)
    excess = value - np.asarray(statement)
    match relation:
        case "=":
            inside = np.abs(excess) <= error
        case "<=":
            inside = excess <= error
        case ">=":
            inside = excess >= -error
    return bool(np.all(inside))


def _plain(value: Value) -> Any:
    """Numbers and arrays as JSON can hold them; infinities and NaN as words."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(entry) for name, entry in value.items()}
    array = np.asarray(value)
    if array.ndim:
        return [_plain(entry) for entry in array]
    number = array.item()
    if isinstance(number, float) and not np.isfinite(number):
        return str(number)
    return number
