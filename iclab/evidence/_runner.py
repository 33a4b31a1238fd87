"""The one runner: turns claims and figures into verdicts and JSON."""

import dataclasses
import functools
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from iclab._reader import Numbers, Seconds, Seed, checked, require, short
from iclab.evidence._case import CaseResult, Verdict
from iclab.evidence._claim import (
    Claim,
    Measured,
    Printed,
    Relation,
    Scale,
    Value,
    with_named,
)
from iclab.evidence._distance import beyond
from iclab.evidence._figure import (
    Evidence,
    Figure,
    Given,
    MissingTable,
    Sentence,
    Tables,
)
from iclab.evidence._html import claim_html, figure_html
from iclab.evidence._numbers import as_json

_T = TypeVar("_T")

# What is left to do for one case.
Step = Callable[[], CaseResult]


@checked
@dataclass(frozen=True)
class ClaimResult:
    """All cases of a claim and the verdict that they add up to."""

    id: str
    verdict: Verdict
    cases: tuple[CaseResult, ...]
    seconds: Seconds
    seed: Seed
    numbers: Mapping[str, Any] = field(default_factory=dict)
    slips: tuple[CaseResult, ...] = ()

    def _repr_html_(self) -> str:
        return claim_html(self)


@checked
@dataclass(frozen=True)
class FigureResult:
    """What a figure's tables show of what its paper says, and of what we find.

    `missing` names what could not be judged, because tables or parts of them lack.
    """

    id: str
    verdict: Verdict
    evidence: tuple[Evidence, ...]
    paper_statements: tuple[Sentence, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def numbers(self) -> dict[str, Any]:
        """The numbers that have a name, for the texts that quote them."""
        tests = [test for one in self.paper_statements for test in one.tests]
        tests = [*self.evidence, *tests]
        return {test.name: as_json(test.value) for test in tests if test.name}

    def _repr_html_(self) -> str:
        return figure_html(self)


@checked
def run_claim(
    claim: Claim,
    scale: Scale,
    seed: Seed,
    *,
    each: Callable[[list[Step]], Iterable[Step]] = iter,
) -> ClaimResult:
    """Measure every case of `claim`, as printed too where that is known to fail.

    `each` passes the steps of this on, one after the other, and may note how far it is.
    """
    start = time.perf_counter()
    steps = _steps(claim, scale, seed)
    if claim.printed is not None:
        steps += _steps(_as_printed(claim, claim.printed), scale, seed, printed=True)
    every = [step() for step in each(steps)]
    cases = [case for case in every if not case.printed]
    printed = [case for case in every if case.printed]
    numbers = {}
    if claim.numbers is not None:
        named, others = ({one.case: one for one in found} for found in (cases, printed))
        numbers = with_named(claim.numbers, named, printed=others)
    nearby = claim.printed is not None and claim.printed.nearby
    cases, slips = (cases, printed) if nearby else (every, [])
    return ClaimResult(
        claim.id,
        claim_verdict(cases, slips),
        tuple(cases),
        time.perf_counter() - start,
        seed,
        as_json(dict(numbers)),
        tuple(slips),
    )


@checked
def judge_figure(
    figure: Figure, tables: Tables, *, exploratory: bool = False
) -> FigureResult:
    """Compare a figure's tables with what its paper says of it, and what we find.

    Bounds are stated for the figure's own settings: with others the evidence is shown,
    and the verdict is `exploratory`.
    """
    given, missing = Given(tables), []
    found: Sequence[Evidence] = ()
    stated: Sequence[Sentence] = ()
    try:
        found = _all_of(Evidence, figure.expect(given), "expect")
    except MissingTable as absent:
        missing.append(f"what we find in the figure: that needs {absent}")
    try:
        statements = figure.paper_statements or (lambda tables: ())
        stated = _all_of(Sentence, statements(given), "paper_statements")
    except MissingTable as absent:
        missing.append(f"what the paper says of the figure: that needs {absent}")
    missing += [one.statement for one in found if one.value is None]
    evidence = tuple(one for one in found if one.value is not None)
    stated = tuple(map(_tested, stated))
    verdict = figure_verdict(evidence, stated, exploratory=exploratory)
    return FigureResult(figure.id, verdict, evidence, stated, tuple(missing))


def _all_of(kind: type[_T], found: Any, name: str) -> Sequence[_T]:
    """What a function of a figure returned, if that is a list of what it should."""
    right = isinstance(found, (list, tuple)) and all(isinstance(x, kind) for x in found)
    rule = f"a Figure whose `{name}` returns a list of {kind.__name__}"
    require(right, "figure", rule, short(found))
    return found


def _tested(sentence: Sentence) -> Sentence:
    """A sentence with those of its tests that have a number."""
    tests = tuple(test for test in sentence.tests if test.value is not None)
    lost = sentence.tests and not tests
    note = "nothing in these tables shows it" if lost else sentence.note
    return dataclasses.replace(sentence, tests=tests, note=note)


@checked
def figure_verdict(
    evidence: Sequence[Evidence],
    paper_statements: Sequence[Sentence],
    *,
    exploratory: bool = False,
) -> Verdict:
    """Verdict of a figure from what we find in it and what its paper says of it.

    `fails`: what we find is not there. `corrected`: a sentence of the paper is not
    confirmed, and no difference of size or setting may be why. `holds`: every main
    sentence is confirmed. `exploratory`: neither, so that these sizes decide nothing,
    and so it is if the settings are not the figure's own (`exploratory`).
    """
    if exploratory:
        return "exploratory"
    if not evidence and not paper_statements:
        return "undecided"
    if not all(one.holds for one in evidence):
        return "fails"
    if any(one.state == "not confirmed" and not one.caveat for one in paper_statements):
        return "corrected"
    if any(one.main and one.state != "confirmed" for one in paper_statements):
        return "exploratory"
    return "holds"


@checked
def case_verdict(
    measured: Measured, relation: Relation, predicted: Numbers, decoy: Numbers | None
) -> Verdict:
    """`holds`: prediction inside the error bar and decoy outside.

    `fails`: prediction outside. `undecided`: the bar is too wide to tell the two apart.
    """
    rule = f"of the shape of what was measured, {np.shape(measured.value)}"
    for name, side in {"predicted": predicted, "decoy": decoy}.items():
        if side is not None:
            require(_fits(measured, side), name, rule, f"shape {np.shape(side)}")
    if not _compatible(measured, relation, predicted):
        return "fails"
    if decoy is not None and _compatible(measured, relation, decoy):
        return "undecided"
    return "holds"


def _fits(measured: Measured, side: Value) -> bool:
    """Whether numbers can be compared with a measurement and its bar."""
    try:
        np.broadcast_shapes(*map(np.shape, (measured.value, measured.error, side)))
    except ValueError:
        return False
    return True


@checked
def claim_verdict(
    cases: Sequence[CaseResult], slips: Sequence[CaseResult] = ()
) -> Verdict:
    """Verdict of a claim from its cases, and from `slips` near a statement that holds.

    A printed statement that was expected to fail and did not leaves the claim
    undecided, and so does a claim in which no decoy was rejected.
    """
    ours = [case for case in cases if not case.printed]
    printed = [case for case in cases if case.printed]
    wrong = [*printed, *slips]
    if any(case.verdict == "fails" for case in ours):
        return "fails"
    undecided = any(case.verdict == "undecided" for case in ours)
    if undecided or all(case.decoy is None for case in ours):
        return "undecided"
    if wrong and not any(case.verdict == "fails" for case in wrong):
        return "undecided"
    return "corrected" if printed else "holds"


def _steps(
    claim: Claim, scale: Scale, seed: int, *, printed: bool = False
) -> list[Step]:
    found = claim.cases(scale)
    cases = _returned(claim.id, "cases", found, Mapping, "a dict by name")
    run = functools.partial(_run_case, claim, scale=scale, seed=seed, printed=printed)
    return [functools.partial(run, name, case) for name, case in cases.items()]


def _as_printed(claim: Claim, printed: Printed) -> Claim:
    """The claim that the paper makes, which has no decoy: it is expected to fail."""
    return Claim(
        claim.id,
        cases=printed.cases or claim.cases,
        predict=printed.predict,
        measure=printed.measure or claim.measure,
        decoy=lambda case: None,
        relation=printed.relation or claim.relation,
        labels=printed.labels or (claim.labels if printed.measure is None else None),
    )


def _run_case(
    claim: Claim, name: str, case: Any, *, scale: Scale, seed: int, printed: bool
) -> CaseResult:
    found = claim.measured(case, case_key(seed, name), scale)
    rule = "a Measured(value, error, reason), as `averaged` makes one"
    measured = _returned(claim.id, "measure", found, Measured, rule)
    predicted, decoy = claim.predict(case), claim.decoy(case)
    return CaseResult(
        case=name,
        relation=claim.relation,
        predicted=predicted,
        measured=measured.value,
        error=measured.error,
        decoy=decoy,
        reason=measured.reason,
        verdict=case_verdict(measured, claim.relation, predicted, decoy),
        printed=printed,
        labels=_labels(claim, name, case, measured, predicted),
    )


def _labels(
    claim: Claim, name: str, case: Any, measured: Measured, predicted: Value
) -> tuple[str, ...]:
    """Names of the entries of a case, one for each; none if the claim has none."""
    found = () if claim.labels is None else tuple(map(str, claim.labels(case)))
    count = np.broadcast(measured.value, measured.error, predicted).size
    if found and len(found) != count:
        raise ValueError(
            f"{claim.id}: `labels` must name all {count} numbers of the case {name!r},"
            f" got {len(found)}"
        )
    return found


def _returned(id: str, name: str, found: Any, kind: type[_T], rule: str) -> _T:
    """What a function of a claim returned, which a user may have written otherwise."""
    if not isinstance(found, kind):
        other = type(found).__name__
        raise TypeError(f"{id}: `{name}` of a claim must return {rule}, got a {other}")
    return found


@checked
def case_key(seed: Seed, name: str) -> Any:
    """The random key of a case: it depends on the seed and the case's name alone."""
    import jax

    return jax.random.fold_in(jax.random.key(seed), zlib.crc32(name.encode()))


def _compatible(measured: Measured, relation: Relation, statement: Value) -> bool:
    """Whether a statement survives the measurement; NaN survives nothing."""
    outside = beyond(relation, measured.value, statement)
    return bool(np.all(outside <= np.asarray(measured.error)))
