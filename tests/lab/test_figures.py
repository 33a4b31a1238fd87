"""Figures of a results folder: drawn only where something has changed."""

import json
from typing import Any

import numpy as np
import pytest

from iclab import papers
from iclab.evidence import Evidence, Figure
from iclab.lab import Request, _figures
from iclab.lab._figures import Figures
from iclab.runs import Cache

(ENTRY,) = papers.select(["ahn2023/figure-1"])
TABLES = {"run": {"x": np.arange(3.0)}}


def _draw(tables):
    import matplotlib.pyplot as plt

    picture, axes = plt.subplots(figsize=(1, 1))
    axes.plot(tables["run"]["x"])
    return picture


def _compute(settings, key):
    return TABLES["run"]


@pytest.fixture
def loaded(monkeypatch):
    """Replace a figure; the list tells how often it was planned or drawn."""
    settings = {"run": {"shipped": True, "value": 1}, "other": {"value": [1, 2]}}
    times: list[str] = []
    figure = Figure(
        ENTRY.id,
        "title",
        lambda scale: (times.append("planned"), settings)[1],
        _compute,
        lambda tables: (times.append("drawn"), _draw(tables))[1],
        lambda tables: [Evidence("It is there", 1.0, ">=", 0.5)],
    )
    monkeypatch.setattr("iclab.papers._jobs.load_figure", lambda entry: figure)
    return times


def _figures_in(folder, cache=None, **asked) -> Figures:
    how: Any = {"scale": "smoke", **asked}
    return Figures(Request(command="reproduce", out=folder, **how), cache)


def _finish(folder, cache=None, **asked):
    figures = _figures_in(folder, cache, **asked)
    jobs = figures.jobs(ENTRY, asked.get("seed", 0))
    result, files, settle = figures.finish(ENTRY, TABLES, lambda word: None)
    assert settle()
    return jobs, result, files


def test_a_figure_that_is_there_is_not_drawn_again(tmp_path, loaded):
    jobs, result, files = _finish(tmp_path)
    assert [name.rpartition(".")[2] for name in files] == ["svg", "pdf", "png", "csv"]
    assert all((tmp_path / name).stat().st_size for name in files)
    assert len(loaded) == 2  # to be planned, and to be drawn
    again = _finish(tmp_path)
    assert len(loaded) == 3
    assert again == (jobs, result, files)
    assert [job.label for job in jobs.values()] == [
        f"{ENTRY.id} · run",
        f"{ENTRY.id} · other",
    ]


def test_a_plan_comes_from_the_users_own_cache(tmp_path, loaded, monkeypatch):
    cache = Cache(tmp_path / "own")
    jobs, *_ = _finish(tmp_path / "out", cache=cache)
    assert len(loaded) == 2
    again, *_ = _finish(tmp_path / "out", cache=cache)
    assert len(loaded) == 2
    assert again == jobs
    assert [job.label for job in again.values()] == [j.label for j in jobs.values()]
    changes: list[Any] = [{"seed": 1}, {"retrain": True}, {"scale": "desk"}]
    for change in changes:
        before = len(loaded)
        after, *_ = _finish(tmp_path / "out", cache=cache, **change)
        assert len(loaded) == before + 1
        settings: Any = {"scale": "smoke", "seed": 0, **change}
        assert after == papers.figure_jobs(ENTRY, **settings)
    monkeypatch.setattr(_figures, "_code", lambda entry: "other")
    before = len(loaded)
    _finish(tmp_path / "out", cache=cache)
    assert len(loaded) == before + 2


def test_settings_that_json_would_change_are_not_kept(tmp_path, loaded, monkeypatch):
    figure = Figure(ENTRY.id, "", lambda scale: {"run": {"shape": (1, 2)}}, _compute,
                    _draw, lambda tables: [])  # fmt: skip
    monkeypatch.setattr("iclab.papers._jobs.load_figure", lambda entry: figure)
    cache = Cache(tmp_path / "own")
    _finish(tmp_path / "out", cache=cache)
    jobs, *_ = _finish(tmp_path / "out", cache=cache)
    assert jobs["run"].config["settings"]["shape"] == (1, 2)


@pytest.mark.parametrize("change", [{"scale": "desk"}, {"seed": 1}, {"retrain": True}])
def test_the_manifest_says_the_settings_of_the_last_run(tmp_path, loaded, change):
    before, *_ = _finish(tmp_path)
    after, *_ = _finish(tmp_path, **change)
    assert (after == before) == ("scale" in change)
    assert len(loaded) == 3  # the tables and so the pictures are the same
    path = tmp_path / "figures" / "ahn2023" / "figure-1.json"
    written = json.loads(path.read_text())
    settings = {"scale": "smoke", "seed": 0, "retrain": False, **change}
    assert {name: written[name] for name in settings} == settings


def test_retraining_changes_only_what_comes_trained(tmp_path, loaded):
    jobs, *_ = _finish(tmp_path, retrain=True)
    assert jobs["run"].config["settings"] == {"shipped": False, "value": 1}
    assert jobs["other"].config["settings"] == {"value": [1, 2]}
    jobs = papers.figure_jobs(ENTRY, "smoke", 0)
    assert jobs["run"].config["settings"]["shipped"] is True


def test_other_code_or_data_is_noticed(tmp_path, loaded, monkeypatch):
    _finish(tmp_path)
    monkeypatch.setattr(_figures, "code_digest", lambda modules, **_: "other")
    _finish(tmp_path)
    assert len(loaded) == 4
    monkeypatch.setattr(_figures, "_data", lambda paper: "other")
    _finish(tmp_path)
    assert len(loaded) == 6


def test_other_numbers_are_noticed(tmp_path, loaded, monkeypatch):
    _finish(tmp_path)
    monkeypatch.setitem(TABLES, "run", {"x": np.array([0.0, 1.0, 5.0])})
    _finish(tmp_path)
    assert len(loaded) == 4


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"format": 4}', '{"format": 4, "source": 1}']
)
def test_a_manifest_in_doubt_is_drawn_again(tmp_path, loaded, text):
    _finish(tmp_path)
    path = tmp_path / "figures" / "ahn2023" / "figure-1.json"
    path.write_text(text)
    figures = _figures_in(tmp_path)
    *_, settle = figures.finish(ENTRY, TABLES, lambda word: None)
    assert settle()
    assert len(loaded) == 3
    assert [problem.startswith(f"{path}: ") for problem in figures.problems] == [True]
    assert figures.problems[0].endswith("; drawn again")


@pytest.mark.parametrize("change", ["verdict", "value", "files"])
def test_a_manifest_that_was_edited_is_not_believed(tmp_path, loaded, change):
    _, result, _ = _finish(tmp_path)
    path = tmp_path / "figures" / "ahn2023" / "figure-1.json"
    manifest = json.loads(path.read_text())
    if change == "verdict":
        manifest["verdict"] = "fails"
    elif change == "value":
        manifest["evidence"][0]["value"] = 7.0
    else:
        manifest["files"].pop("figures/ahn2023/figure-1.svg")
    path.write_text(json.dumps(manifest))
    _, again, files = _finish(tmp_path)
    assert again == result
    assert len(files) == 4


def test_another_version_of_the_manifest_is_no_damage(tmp_path, loaded):
    _finish(tmp_path)
    path = tmp_path / "figures" / "ahn2023" / "figure-1.json"
    path.write_text(path.read_text().replace('"format": 4', '"format": 3'))
    figures = _figures_in(tmp_path)
    figures.finish(ENTRY, TABLES, lambda word: None)
    assert figures.problems == []


def test_pictures_that_were_altered_are_drawn_again(tmp_path, loaded):
    _finish(tmp_path)
    path = tmp_path / "figures" / "ahn2023" / "figure-1.svg"
    before = path.read_bytes()
    path.write_bytes(b"something else")
    figures = _figures_in(tmp_path)
    *_, settle = figures.finish(ENTRY, TABLES, lambda word: None)
    assert settle()
    assert path.read_bytes() == before
    assert "not as it was written: figures/ahn2023/figure-1.svg" in figures.problems[0]


def test_pictures_of_another_run_are_noticed(tmp_path, loaded):
    _finish(tmp_path)
    figures = _figures_in(tmp_path)
    *_, settle = figures.finish(ENTRY, TABLES, lambda word: None)
    path = tmp_path / "figures" / "ahn2023" / "figure-1.json"
    path.write_text(path.read_text().replace('"source": "', '"source": "f'))
    assert not settle()
