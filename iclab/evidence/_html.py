"""Results of claims and figures as notebooks show them."""

import html
from typing import TYPE_CHECKING

from iclab import show

if TYPE_CHECKING:
    from iclab.evidence._runner import ClaimResult, FigureResult


def claim_html(result: "ClaimResult") -> str:
    """Verdict, and every case with both sides, the error bar and the decoy."""
    rows = [
        (
            case.title,
            case.verdict,
            case.predicted,
            case.relation,
            show.with_error(case.measured, case.error, 4),
            case.decoy,
        )
        for case in (*result.cases, *result.slips)
    ]
    head = ("case", "verdict", "predicted", "", "measured", "decoy")
    return _headed(result.id, result.verdict, show.table(head, rows))


def figure_html(result: "FigureResult") -> str:
    """Verdict, what the paper says of the figure, and what we find in it."""
    stated = [(one.statement, one.place, one.state) for one in result.paper_statements]
    found = [
        (
            one.statement,
            f"{show.number(one.value, 4)} {one.relation} {show.number(one.bound, 4)}",
            "holds" if one.holds else "does not hold",
        )
        for one in result.evidence
    ]
    tables = [
        show.table(("what the paper says", "where", ""), stated) if stated else "",
        show.table(("what we find", "number and bound", ""), found) if found else "",
    ]
    missing = "".join(
        f"<p>not judged: {html.escape(one)}</p>" for one in result.missing
    )
    return _headed(result.id, result.verdict, "".join(tables) + missing)


def _headed(id: str, verdict: str, body: str) -> str:
    words = f"<strong>{html.escape(verdict)}</strong> {html.escape(id)}"
    return f"<p>{words}</p>{body}"
