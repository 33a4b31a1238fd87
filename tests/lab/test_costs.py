"""What runs are said to cost, before and while they run."""

import json
from pathlib import Path
from typing import Any

import pytest

from iclab import papers
from iclab.cli import main
from iclab.evidence import SCALES
from iclab.lab import Forecast, Left, cost
from iclab.lab._costs import calibration, speed


@pytest.fixture
def costs(monkeypatch):
    """A table of costs from a machine as fast as this one."""
    table = {
        "calibration": 1.0,
        "seconds": {
            "paper": {
                "zhang2023/lemma-5.1": {"": 90.0},
                "ahn2023/figure-1": {"exact": 100.0, "run 1": 2000.0},
            }
        },
        "estimated": {"paper": ["ahn2023/figure-1"]},
    }
    monkeypatch.setattr("iclab.lab._costs._table", lambda: table)
    monkeypatch.setattr("iclab.lab._costs.speed", lambda: 1.0)


def test_costs_name_items_that_there_are():
    from iclab.lab._costs import _table

    ids = {entry.id for entry in papers.select()}
    table = _table()
    assert set(table["seconds"]) <= set(SCALES)
    for items in table["seconds"].values():
        assert set(items) <= ids
        assert all(jobs and min(jobs.values()) >= 0 for jobs in items.values())
    assert 0 < calibration() < 10
    assert 0.05 <= speed() <= 20


def test_jobs_that_nobody_timed_cost_what_others_do(costs):
    (entry,) = papers.select(["ahn2023/figure-1"])
    found = cost(entry, "paper")
    assert found is not None
    assert found.job("run 1") == 2000
    assert found.job("run 2") == found.seconds / 2 == 1050
    assert not found.measured
    assert cost(entry, "desk") is None


def test_time_on_several_cores_is_that_of_the_longest():
    items = {"a": Left(3, (60.0, 10.0)), "b": Left(1, (5.0,))}
    plan = Forecast(items, jobs=4, cached=1, cores=2)
    assert plan.wall == 60
    assert plan.words() == "about 60 s on 2 cores; 1 of 4 jobs cached"


def test_what_is_said_before_a_run():
    one: Any = {"jobs": 1, "cached": 0, "cores": 1}
    short = Forecast({"a": Left(1, (59.0,))}, **one)
    minutes = Forecast({"a": Left(1, (61.0,))}, **one)
    unknown = {"a": Left(1, (9000.0,)), "b": Left(1, (None,))}
    hours = Forecast(unknown, jobs=2, cached=0, cores=1, measured=False)
    assert short.announcement("desk", None) == ""
    assert minutes.announcement("desk", None) == "about 61 s on 1 core"
    first, shorter, kept = hours.announcement("paper", Path("out")).splitlines()
    assert first == (
        "about 2.5 h on 1 core (in part an estimate from single steps), "
        "duration unknown for b"
    )
    assert "scale desk" in shorter
    assert "kept in out" in kept
    assert "scale desk" not in hours.announcement("desk", Path("out"))


def test_a_dry_run_runs_nothing(costs, tmp_path, capsys):
    out = tmp_path / "out"
    words = ["--scale", "paper", "--out", str(out), "--dry-run", "--jobs", "2"]
    assert main(["check", "zhang2023/lemma-5.1", *words]) == 0
    first, about, where = capsys.readouterr().out.splitlines()
    assert first == "zhang2023/lemma-5.1  1 job, about 90 s"
    assert about == "about 90 s on 2 cores"
    assert where == f"on 2 processes here; results in {out}; nothing was run"
    assert not out.exists()
    assert main(["check", "zhang2023/lemma-5.1", *words, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row == {
        "id": "zhang2023/lemma-5.1", "jobs": 1, "to_run": 1, "seconds": 90.0
    }  # fmt: skip


def test_times_of_a_list(costs, capsys):
    ids = ["zhang2023/lemma-5.1", "ahn2023/figure-1"]
    assert main(["list", "--times", *ids]) == 0
    head, lemma, figure, together, _, note = capsys.readouterr().out.splitlines()
    assert head.split() == ["smoke", "desk", "paper"]
    assert lemma.split() == ["zhang2023/lemma-5.1", "–", "–", "90", "s"]
    assert figure.split() == ["ahn2023/figure-1", "–", "–", "~35.0", "min"]
    assert together.split()[-2:] == ["36.5", "min"]
    assert note.endswith("; ~ from single steps")
    assert main(["list", "--times", "--json", ids[0]]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["seconds"] == {"smoke": None, "desk": None, "paper": 90.0}
    assert main(["show", ids[0]]) == 0
    said = "time        about 90 s (paper) on one core of this machine"
    assert said in capsys.readouterr().out
