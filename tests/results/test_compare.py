"""Two folders of results held against each other, and a record made of one."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from iclab.cli import main
from iclab.evidence import CaseResult, Evidence, FigureResult, Sentence
from iclab.results import (
    Facts,
    NotARecord,
    Record,
    Run,
    compare,
    keep_record,
    read_run,
    scatter,
    write_drawn,
)
from iclab.results._folder import ResultsFolder

_SVG = b"<svg xmlns='http://www.w3.org/2000/svg'/>"


def _claim(
    measured: Any = 1.0, error: Any = 0.1, verdict: Any = "holds", **more: Any
) -> Record:
    case = CaseResult(
        case="d = 2",
        relation="=",
        predicted=1.0,
        measured=measured,
        error=error,
        decoy=2.0,
        reason="round-off",
        verdict=verdict,
    )
    return Record(
        id="zhang2023/lemma-5.1",
        kind="claim",
        verdict=verdict,
        statement="So it is.",
        seconds=1.5,
        seed=0,
        scale="desk",
        cases=(case,),
        **more,
    )


def _figure(value=0.5, said=0.2, **more) -> Record:
    return Record(
        id="ahn2023/figure-1",
        kind="figure",
        verdict="holds",
        statement="A picture.",
        seconds=2.5,
        seed=0,
        scale="desk",
        evidence=(Evidence("The loss", value, "<=", 1.0),),
        paper_statements=(
            Sentence("It falls.", "caption", (Evidence("Fall", said, "<=", 1.0),)),
        ),
        **more,
    )


def _run(*records: Record, folder=Path()) -> Run:
    return Run(folder, Facts(), {record.id: record for record in records})


def test_numbers_move_when_their_bars_do_not_touch():
    (inside,) = compare(_run(_claim(1.0)), _run(_claim(1.19))).pairs
    assert not inside.moved
    assert (inside.shared, inside.same, inside.identical) == (1, 0, False)
    (outside,) = compare(_run(_claim(1.0)), _run(_claim(1.3, verdict="fails"))).pairs
    (moved,) = outside.moved
    assert (moved.name, moved.before, moved.after) == ("d = 2", 1.0, 1.3)
    assert moved.bars == pytest.approx(1.5)
    assert outside.differs


@pytest.mark.parametrize(("after", "moves"), [(1.0 + 1e-6, False), (1.0001, True)])
def test_rounding_is_no_move_whatever_the_bar(after, moves):
    one = _claim([1.0, math.inf], [0.0, 0.0])
    other = _claim([after, math.inf], [0.0, 0.0])
    (pair,) = compare(_run(one), _run(other)).pairs
    assert [one.name for one in pair.moved] == ["d = 2 [0]"] * moves
    assert not pair.identical


def test_bars_are_not_stretched_along_each_other():
    size = 10**5
    records = [_claim(error=np.full(shape, 0.1)) for shape in ((size, 1), (1, size))]
    (pair,) = compare(*map(_run, records)).pairs
    assert not pair.moved


def test_entries_of_arrays_are_named():
    one, other = _claim([1.0, 1.0], [0.1, 0.1]), _claim([1.0, 1.9], [0.1, 0.1])
    ((moved,),) = [pair.moved for pair in compare(_run(one), _run(other)).pairs]
    assert moved.name == "d = 2 [1]"
    # Other cases at another scale are nothing to compare.
    other = _claim([1.0, 1.0, 1.0], 0.1)
    assert compare(_run(one), _run(other)).pairs[0].shared == 0


def test_numbers_of_figures_have_the_spread_of_seeds_as_bars():
    (pair,) = compare(_run(_figure(0.5)), _run(_figure(0.54, said=0.3))).pairs
    assert [(one.name, one.bars) for one in pair.moved] == [("Fall", None)]
    spread = scatter([_figure(said=0.1), _figure(said=0.4)])
    known = _figure(scatter=spread)
    (pair,) = compare(_run(known), _run(_figure(said=0.3))).pairs
    assert not pair.moved
    (pair,) = compare(_run(known), _run(_figure(said=0.9))).pairs
    assert pair.moved[0].bars == pytest.approx(0.7 / 0.3)


def test_scatter_by_seed():
    records = [
        replace(_claim(value), seed=seed) for seed, value in enumerate((1, 1.05))
    ]
    records.append(replace(_claim(1.3, verdict="fails"), seed=2))
    found = scatter(records)
    assert found.words == "holds with seeds 0, 1; fails with seed 2"
    assert (found.good, found.agree) == (2, False)
    assert found.spread("d = 2") == (1.0, pytest.approx(1.11667, rel=1e-4), 1.3)
    assert scatter(records[:2]).words == "holds with all of 2 seeds"


@pytest.fixture
def folders(tmp_path):
    """Two folders that differ in a verdict, a picture and an item."""
    made = []
    for name, records in (
        ("a", [_claim(), _figure(files=("figures/ahn2023/figure-1.svg",))]),
        ("b", [_claim(1.3, verdict="fails"), _figure(0.9)]),
    ):
        folder = tmp_path / name
        folder.mkdir()
        files = {"figures/ahn2023/figure-1.svg": _SVG}
        result = FigureResult(records[1].id, "holds", records[1].evidence, ())
        write_drawn(folder, records[1].id, "tables", result, files, {})
        file = ResultsFolder(folder, {"scale": "desk", "seed": 0, "commit": "c" * 40})
        for record in records:
            file.add(record)
        file.flush()
        made.append(folder)
    return made


def test_scatter_is_kept(tmp_path):
    record = _figure(scatter=scatter([_figure(0.4), _figure(0.6)]))
    file = ResultsFolder(tmp_path, {})
    file.add(record)
    file.flush()
    run = read_run(tmp_path)
    assert run.problems == ()
    assert run.records[record.id].scatter == record.scatter


def test_the_command_says_what_differs(folders, capsys, tmp_path):
    a, b = map(str, folders)
    assert main(["compare", a, a]) == 0
    same = capsys.readouterr().out
    assert "verdicts that differ: 0 of 2" in same
    assert "the same to the last digit: 2 of 2" in same
    page = tmp_path / "page.html"
    assert main(["compare", a, b, "--page", str(page)]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"A = {a}: 2 items (desk, seed 0, commit {'c' * 9})"
    assert "  zhang2023/lemma-5.1: holds → fails" in said
    assert "    d = 2: 1 → 1.3 (1.5 error bars)" in said
    assert "    The loss: 0.5 → 0.9 (no error bar)" in said
    text = page.read_text(encoding="utf-8")
    assert "zhang2023/lemma-5.1" in text
    assert main(["compare", a, b, "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)
    assert [row["differs"] for row in rows if row["id"].startswith("zhang")] == [True]


def test_a_folder_without_results_is_a_sentence(tmp_path, capsys):
    assert main(["compare", str(tmp_path)]) == 2
    assert "no results in" in capsys.readouterr().err


def test_pictures_stand_side_by_side(folders):
    from iclab.report import write_compare_page

    a, b = folders
    file = ResultsFolder(b, {})
    file.add(_figure(0.9, files=("figures/ahn2023/figure-1.svg",)))
    file.flush()
    page = write_compare_page(compare(read_run(a), read_run(b)), ("A", "B"), b / "p")
    assert page.read_text(encoding="utf-8").count("data:image/svg+xml;base64,") == 2


def test_a_record_is_a_folder_of_results(folders, tmp_path, capsys):
    a, _ = folders
    target = tmp_path / "kept"
    assert main(["record", str(a), str(target)]) == 0
    assert ": 2 whole, 0 in part, " in capsys.readouterr().out
    assert main(["compare", str(a), str(target)]) == 0
    manifest = json.loads((target / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["items"]["whole"] == ["zhang2023/lemma-5.1", "ahn2023/figure-1"]
    assert "ahn2023/figure-2" in manifest["items"]["not run"]
    assert (target / "figures/ahn2023/figure-1.svg").is_file()
    # Again, in the place of the older one; but never over anything else.
    assert main(["record", str(a), str(target)]) == 0
    assert main(["record", str(target), str(a)]) == 2
    assert "holds something else than a record" in capsys.readouterr().err


def test_what_is_large_is_named_and_parts_are_parts(folders, tmp_path, monkeypatch):
    a, _ = folders
    monkeypatch.setattr("iclab.results._keep._LARGEST", 10)
    run = read_run(a)
    part = replace(
        run.records["ahn2023/figure-1"],
        id="ahn2023/figure-1@runs=1",
        verdict="exploratory",
        settings={"runs": "1"},
        files=(),
    )
    known = _claim(scatter=scatter([_claim(), _claim(1.3, verdict="fails")]))
    run = replace(run, records={**run.records, part.id: part, known.id: known})
    manifest = keep_record(run, tmp_path / "kept", ["ahn2023/figure-1", "b/c"])
    assert manifest["left_out"] == ["figures/ahn2023/figure-1.svg (41 bytes)"]
    assert manifest["by_seed"] == {known.id: {"good": 1, "of": 2}}
    assert manifest["items"] == {
        "whole": ["ahn2023/figure-1"],
        "in part": {"ahn2023/figure-1@runs=1": {"runs": "1"}},
        "not run": ["b/c"],
    }
    # A folder that begins as a copy of the record still says what that left out.
    again = read_run(tmp_path / "kept")
    assert keep_record(again, tmp_path / "copy", [])["left_out"] == manifest["left_out"]
    with pytest.raises(NotARecord):
        keep_record(run, a, [])


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"left_out": 3}', '{"left_out": [3, "../x (1 MB)"]}']
)
def test_a_manifest_of_strangers_says_nothing_of_other_files(folders, tmp_path, text):
    a, _ = folders
    (a / "manifest.json").write_text(text, encoding="utf-8")
    assert keep_record(read_run(a), tmp_path / "kept", [])["left_out"] == []
