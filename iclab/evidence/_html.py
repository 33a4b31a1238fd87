"""Results of claims and figures as notebooks show them."""

import html
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from iclab.evidence._runner import ClaimResult, FigureResult

# Numbers of an array that a cell has room for.
_SHOWN = 3


def claim_html(result: "ClaimResult") -> str:
    """Verdict, and every case with both sides, the error bar and the decoy."""
    rows = [
        (
            case.title,
            case.verdict,
            _number(case.predicted),
            case.relation,
            f"{_number(case.measured)} ± {_number(case.error)}",
            _number(case.decoy),
        )
        for case in (*result.cases, *result.slips)
    ]
    head = ("case", "verdict", "predicted", "", "measured", "decoy")
    return _headed(result.id, result.verdict, _table(head, rows))


def figure_html(result: "FigureResult") -> str:
    """Verdict, what the paper says of the figure, and what we find in it."""
    said = [(one.statement, one.place, one.state) for one in result.paper_statements]
    found = [
        (
            one.statement,
            f"{_number(one.value)} {one.relation} {_number(one.bound)}",
            "holds" if one.holds else "does not hold",
        )
        for one in result.evidence
    ]
    tables = [
        _table(("what the paper says", "where", ""), said) if said else "",
        _table(("what we find", "number and bound", ""), found) if found else "",
    ]
    missing = "".join(
        f"<p>not judged: {html.escape(one)}</p>" for one in result.missing
    )
    return _headed(result.id, result.verdict, "".join(tables) + missing)


def _headed(id: str, verdict: str, body: str) -> str:
    words = f"<strong>{html.escape(verdict)}</strong> {html.escape(id)}"
    return f"<p>{words}</p>{body}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    top = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _number(value: Any) -> str:
    if value is None:
        return ""
    flat = np.ravel(np.asarray(value, float))
    words = [f"{one:.4g}" for one in flat[:_SHOWN]]
    return ", ".join([*words, "…"] if len(flat) > _SHOWN else words)
