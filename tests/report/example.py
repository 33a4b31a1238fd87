"""A small folder of results with everything in it that a run can leave."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from iclab import papers
from iclab._files import signed
from iclab.evidence import FigureResult
from iclab.papers._jobs import _csv  # what wrote the data, so that both ways meet
from iclab.results import read_record, write_drawn

# What each record says of its own origin.
MADE = {
    "scale": "smoke",
    "finished": "2025-03-04T05:07:08Z",
    "iclab": "0.1.0",
    "commit": "0123456789abcdef0123456789abcdef01234567+",
}
HOLDS = "zhang2023/theorem-4.1"
CORRECTED = "zhang2023/section-5.1-sign-count"
FAILS = "zhang2023/lemma-a.3"
STOPPED = "ahn2023/lemma-8"
FIGURE = "ahn2023/figure-1"
MISSING = "zhang2023/equation-4.2"

TABLES = {
    "run 1": {
        "loss": np.array([[0.1, 1 / 3], [np.inf, -2.5e-17]]),
        "steps": np.array([1, 2, 3]),
        "exact": np.array(True),
    },
    "run 2": {"loss": np.array(0.5)},
}
_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 200" width="400"'
    ' height="200"><path d="M20 180L380 20" stroke="#0072b2"/></svg>'
)


def case(name: str, predicted: Any, measured: Any, error: Any, **rest: Any) -> dict:
    """A case as `results.json` holds it."""
    settings = {"relation": "=", "decoy": None, "reason": "because", "verdict": "holds"}
    sides = {"predicted": predicted, "measured": measured, "error": error}
    return {"case": name, **sides, **settings, **rest}


def claim(id: str, verdict: str, cases: list[dict], **rest: Any) -> dict:
    """A claim as `results.json` holds it."""
    (entry,) = papers.select([id])
    return {
        "id": id,
        "kind": "claim",
        "verdict": verdict,
        "statement": entry.statement,
        "correction": entry.correction,
        "cases": cases,
        "seconds": 2.5,
        "seed": 3,
        **MADE,
        **rest,
    }


def records() -> list[dict]:
    """One item of every fate."""
    many = [
        case(f"W_KQ, d={d}", [1.0, 2.0], [1.0, 2.0], 1e-9, decoy=[1.5, 2.0])
        for d in range(8)
    ]
    corrected = [
        case("worst", 1.0, 0.99, 0.001, relation="<=", decoy=0.95),
        case("worst", 1.0, 43.9, 0.001, relation="<=", verdict="fails", printed=True),
    ]
    failing = [
        case("off", 1.0, 1.5, 0.1, decoy=2.0, verdict="fails"),
        case("not a number", "nan", "inf", 0.1, verdict="fails"),
        case("exactly", [1, 2], [1, 3], 0, decoy=[2, 2], verdict="fails"),
    ]
    stopped = "Traceback (most recent call last):\nRuntimeError: <b>no & never</b>\n"
    files = [f"figures/{FIGURE}.{kind}" for kind in ("svg", "pdf", "png", "csv")]
    evidence = [
        {"statement": "A_i falls", "value": 0.01, "relation": "<=", "bound": 0.1},
        {"statement": "B_i stays", "value": 5.0, "relation": ">=", "bound": 9.0},
    ]
    (entry,) = papers.select([FIGURE])
    return [
        claim(HOLDS, "holds", many, seconds=90.0),
        claim(CORRECTED, "corrected", corrected),
        claim(FAILS, "fails", failing),
        {
            "id": FIGURE,
            "kind": "figure",
            "verdict": "fails",
            "statement": entry.statement,
            "evidence": [
                one | {"holds": number == 0} for number, one in enumerate(evidence)
            ],
            "paper_statements": [
                {
                    "statement": "The loss goes to 0.",
                    "place": "caption",
                    "state": "not confirmed",
                    "main": True,
                    "caveat": "the size",
                    "note": "",
                    "tests": [
                        evidence[1]
                        | {"holds": False, "reason": "nine", "post_hoc": True}
                    ],
                }
            ],
            "files": files,
            "seconds": 12.0,
            "seed": 3,
            **MADE,
        },
        claim(STOPPED, "undecided", [], error=stopped),
    ]


def vouch(folder: Path) -> None:
    """Write the manifest of the figure's files, as they are."""
    (record,) = [read_record(one) for one in records() if one["id"] == FIGURE]
    result = FigureResult(
        FIGURE, record.verdict, record.evidence, record.paper_statements
    )
    files = {name: (folder / name).read_bytes() for name in record.files}
    write_drawn(folder, FIGURE, "tables", result, files, {})


def edit(folder: Path, change: Callable[[dict], None], id: str | None = None) -> None:
    """Change one record or all, and sign them again, as whoever edits them can."""
    path = folder / "results.json"
    run = json.loads(path.read_text(encoding="utf-8"))
    for record in run["results"]:
        if id in (None, record["id"]):
            change(record)
    run["results"] = [signed(record) for record in run["results"]]
    path.write_text(json.dumps(run), encoding="utf-8")


def write_results(folder: Path) -> Path:
    """Write the folder as `iclab reproduce` would, and return it."""
    figure = folder / "figures" / FIGURE
    figure.parent.mkdir(parents=True)
    figure.with_name("figure-1.svg").write_text(_SVG)
    for kind in ("pdf", "png"):
        figure.with_name(f"figure-1.{kind}").write_bytes(b"not looked at")
    figure.with_name("figure-1.csv").write_bytes(_csv(TABLES).encode())
    vouch(folder)
    run = {
        "format": 2,
        "ids": ["zhang2023", "ahn2023"],
        "scale": "smoke",
        "seed": 3,
        "started": "2025-03-04T05:06:07Z",
        "finished": "2025-03-04T05:08:09Z",
        "seconds": 122.0,
        "processes": 2,
        "cores": 4,
        "python": "3.11.9",
        "platform": "Linux x86_64",
        "versions": {"iclab": "0.1.0", "jax": "0.10.2", "optax": None},
        "commit": MADE["commit"],
        "results": [signed(record) for record in records()],
    }
    (folder / "results.json").write_text(json.dumps(run, ensure_ascii=False))
    return folder
