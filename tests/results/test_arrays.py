"""Reading a folder of results."""

import json
import re
import sys
import types

import numpy as np
import pytest

import iclab
from iclab.papers import UnknownId
from iclab.results import NoResults, read_run
from tests.report import example


@pytest.fixture
def folder(tmp_path):
    return example.write_results(tmp_path / "a folder")


def test_a_run_has_its_facts_and_records(folder):
    run = read_run(folder)
    assert run.scale == "smoke"
    assert (run.facts.commit or "").endswith("+")
    assert run.problems == ()
    assert next(iter(run.records)) == example.HOLDS


def test_no_results(tmp_path):
    message = (
        f"no results in {tmp_path}: `iclab reproduce --out {tmp_path}` writes them"
    )
    with pytest.raises(NoResults, match=re.escape(message)):
        read_run(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(NoResults, match=r"no results in .*file"):
        read_run(tmp_path / "file")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 2}', '{"results": 1}'])
def test_something_else_by_that_name(tmp_path, text):
    path = tmp_path / "results.json"
    path.write_text(text)
    with pytest.raises(NoResults, match="is not what `iclab reproduce` writes"):
        read_run(tmp_path)


@pytest.mark.parametrize(
    ("text", "found"),
    [('{"results": []}', 1), ('{"format": 1, "other": 0}', 1), ('{"format": 9}', 9)],
)
def test_another_format(tmp_path, text, found):
    path = tmp_path / "results.json"
    path.write_text(text)
    message = (
        f"{path} is of another version of iclab (format {found}, here 2): move it away,"
        " or use another folder"
    )
    with pytest.raises(NoResults, match=re.escape(message)):
        read_run(tmp_path)
    assert path.read_text() == text


def test_a_figure_comes_back_as_it_was(folder):
    tables = iclab.load(example.FIGURE, folder)
    assert list(tables) == list(example.TABLES)
    for name, columns in example.TABLES.items():
        assert list(tables[name]) == list(columns)
        for column, array in columns.items():
            found = tables[name][column]
            assert found.dtype == array.dtype
            assert found.shape == array.shape
            np.testing.assert_array_equal(found, array)


def test_a_claim_gives_its_cases(folder):
    cases = iclab.load(example.FAILS, folder)
    assert list(cases) == ["off", "not a number", "exactly"]
    np.testing.assert_array_equal(cases["off"]["decoy"], 2.0)
    assert np.isinf(cases["not a number"]["measured"])
    assert "decoy" not in cases["not a number"]
    np.testing.assert_array_equal(cases["exactly"]["measured"], [1, 3])


def test_the_default_folder_is_the_one_that_reproduce_writes(folder, monkeypatch):
    folder.rename(folder.with_name("iclab-results"))
    monkeypatch.chdir(folder.parent)
    assert iclab.load(example.HOLDS)


@pytest.mark.parametrize(
    ("id", "kind", "message"),
    [
        ("zhang2023", UnknownId, "'zhang2023' is a paper: name one of its results"),
        ("zhang2023/theorem4.1", UnknownId, "did you mean zhang2023/theorem-4.1"),
        (example.MISSING, NoResults, "no result of zhang2023/equation-4.2 in "),
        (
            example.STOPPED,
            NoResults,
            "stopped with an error in .*: RuntimeError",
        ),
    ],
)
def test_what_cannot_be_loaded(folder, id, kind, message):
    with pytest.raises(kind, match=message):
        iclab.load(id, folder)


def test_a_frame_has_a_row_a_number(folder, monkeypatch):
    pandas = types.ModuleType("pandas")
    pandas.__dict__["DataFrame"] = lambda rows, columns: (rows, columns)
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    rows, columns = iclab.load(example.FIGURE, folder, frame=True)
    assert columns == ["table", "column", "index", "value"]
    assert rows[1] == ("run 1", "loss", "0 1", 1 / 3)
    assert len(rows) == 9


def test_a_frame_needs_pandas(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="`frame` needs pandas: `pip install pandas`"):
        iclab.load(example.FIGURE, folder, frame=True)


def test_results_are_plain_json(folder):
    text = (folder / "results.json").read_text(encoding="utf-8")
    assert json.loads(text)["versions"]["jax"]
