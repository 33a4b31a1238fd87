"""A request in, records out: with an engine and a display that are handed in."""

import dataclasses
import json

import pytest

import iclab
from iclab import lab, papers
from iclab.cli import main
from iclab.runs import Cache, Outcome, Processes, Started, Store, here, usable_cores
from iclab.show import Display
from tests.papers.small_paper import edit, write_paper

pytestmark = pytest.mark.usefixtures("registry")

CLAIM, FIGURE = "small2026/theorem-1.2", "small2026/figure-1"
IDS = ("zhang2023/lemma-a.3", "zhang2023/theorem-4.1")
CHECK = lab.Request(command="check", ids=IDS, scale="smoke")
SETTINGS = """import numpy as np
from dataclasses import dataclass

from iclab.evidence import Evidence, setting


@dataclass(frozen=True)
class Settings:
    rate: float = setting("Rise from point to point.", 1.0)


def jobs(settings):
    return {"line": {"count": 3, "rate": settings.rate}}


def compute(settings, key):
    return {"x": settings["rate"] * np.arange(settings["count"])}
"""


@pytest.fixture
def paper(tmp_path):
    folder = write_paper(tmp_path, "small2026")
    papers.open_papers([folder])
    return folder


class Heard(Display):
    """Remembers what it is told."""

    def __init__(self):
        self.lines: list[str] = []

    def note(self, line, *, minor=False, how=""):
        self.lines.append(line)


def _ends(result=None, error=None):
    """An engine whose jobs all end in the same way."""

    def engine(jobs):
        for job in jobs:
            yield Started(job)
            yield Outcome(job, result, error, 1.0)

    return engine


def test_a_request_is_run_and_kept(paper, tmp_path):
    out, heard = tmp_path / "out", Heard()
    how = {"ids": ("small2026",), "scale": "smoke", "out": out}
    request = lab.Request(command="reproduce", **how)
    forecast = lab.plan(request)
    assert (forecast.jobs, forecast.cached) == (2, 0)
    assert list(forecast.items) == [FIGURE, CLAIM]
    assert not out.exists()
    ran = lab.run(request, engine=here, display=heard)
    assert [record.id for record in ran.records] == [CLAIM, FIGURE]
    assert all(record.good for record in ran.records)
    assert (ran.stopped, ran.page) == (None, None)
    assert len(heard.lines) == len(heard.finished) == 2
    assert lab.plan(request).cached == 2
    again = lab.run(request, engine=_ends(error="not run again"))
    assert again.computed == {}
    assert list(again.records) == list(ran.records)
    assert lab.verify(out, engine=here, seed=1).agrees


def test_what_check_keeps_is_found_by_the_others(paper, tmp_path, capsys):
    out = str(tmp_path / "out")
    words = [CLAIM, "--scale", "smoke", "--out", out]
    assert main(["check", *words], engine=here) == 0
    capsys.readouterr()
    assert main(["show", CLAIM, "--out", out, "--json"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)
    assert shown["last_result"]["verdict"] == "holds"
    assert main(["compare", out, out]) == 0
    assert "the same to the last digit: 1 of 1" in capsys.readouterr().out
    assert main(["report", out]) == 0
    assert (tmp_path / "out" / "report" / "small2026.html").is_file()
    # `reproduce` goes on from there.
    assert main(["reproduce", *words], engine=here) == 0
    assert "cached: 1 of 1" in capsys.readouterr().out


@pytest.mark.everything
def test_settings_run_with_exactly_their_values(paper, tmp_path):
    text = (paper / "figure_1.py").read_text()
    tail = text.partition("def draw")[2].replace('">=", 1.0', '">=", 0.1')
    (paper / "figure_1.py").write_text(f"{SETTINGS}\ndef draw{tail}")
    how = {"scale": "smoke", "papers": paper, "out": tmp_path / "out", "jobs": 1}
    rates = (0.123456789, 0.12345678, 0.5)
    found = [
        iclab.reproduce(FIGURE, settings={"rate": rate}, quiet=True, **how)[0]
        for rate in rates
    ]
    assert [one.id for one in found] == [f"{FIGURE}@rate={rate}" for rate in rates]
    for one, rate in zip(found, rates, strict=True):
        assert one.settings == {"rate": str(rate)}
        assert iclab.load(one.id, tmp_path / "out")["line"]["x"][1] == rate


def test_an_item_that_cannot_be_planned_is_undecided(paper, tmp_path):
    edit(paper, "figure_1.py", '    return {"line"', "    raise ValueError('no') #")
    how = {"ids": (FIGURE,), "scale": "smoke", "seed": 3, "out": tmp_path / "out"}
    (record,) = lab.run(lab.Request(command="reproduce", **how), engine=here).records
    assert record.verdict == "undecided"
    assert record.reason.startswith("ValueError: no (figure_1.py, line ")
    assert (record.seed, record.scale) == (3, "smoke")


def test_a_result_that_cannot_be_read_is_undecided():
    ran = lab.run(CHECK, engine=_ends(result={}))
    assert {record.id for record in ran.records} == set(IDS)
    for record in ran.records:
        assert record.reason.endswith("Wrong: `result.verdict` is missing")


def test_figures_that_share_a_job_have_it_run_once(tmp_path):
    seen = []

    def counts(jobs):
        seen.extend(jobs)
        yield from _ends(error="Error: not today")(jobs)

    ids = ("yang2024/figure-5a", "yang2024/figure-5b")
    how = {"ids": ids, "scale": "smoke", "out": tmp_path / "out"}
    ran = lab.run(lab.Request(command="reproduce", **how), engine=counts)
    assert [record.id for record in ran.records] == list(ids)
    jobs = [job.digest for group in ran.work.jobs.values() for job in group.values()]
    assert len(seen) == len(set(jobs)) < len(jobs)


def test_where_the_jobs_run(monkeypatch, tmp_path):
    from iclab.lab._run import usual_engine

    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    engine = usual_engine(CHECK, None)
    assert isinstance(engine, Processes)
    assert engine.count == usable_cores()
    cache, three = Cache(tmp_path / "own"), dataclasses.replace(CHECK, jobs=3)
    engine = usual_engine(three, cache)
    assert isinstance(engine, Processes)
    assert (engine.count, engine.cache) == (3, cache.programs)
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "elsewhere")
    engine = usual_engine(three, cache)
    assert isinstance(engine, Processes)
    assert engine.cache is None


def test_a_plan_writes_nothing(tmp_path):
    request = dataclasses.replace(CHECK, out=tmp_path / "out")
    assert lab.plan(request).jobs == 2
    assert not (tmp_path / "out").exists()
    Store(tmp_path / "out" / "store")
    assert lab.plan(request).cached == 0
