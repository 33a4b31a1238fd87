"""Every figure at smoke scale: computed, judged, drawn, written."""

import csv

import pytest

from iclab import papers

FIGURES = [entry for entry in papers.ENTRIES if entry.kind == "figure"]


@pytest.mark.parametrize("entry", FIGURES, ids=lambda entry: entry.id)
def test_figure(entry, tmp_path):
    jobs = papers.figure_jobs(entry, "smoke", 0)
    tables = {name: job.run() for name, job in jobs.items()}
    result, files = papers.finish_figure(entry, tables, tmp_path / "figures")
    assert result.verdict == "holds", [e for e in result.evidence if not e.holds]
    assert {name.rpartition(".")[2] for name in files} == {"svg", "pdf", "png", "csv"}
    for name in files:
        assert (tmp_path / name).stat().st_size > 0
    with open(tmp_path / files[-1], newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["table"] for row in rows} == set(tables)
    assert rows[0].keys() == {"table", "column", "index", "value"}
