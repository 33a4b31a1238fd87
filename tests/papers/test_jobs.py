"""Jobs of claims and figures: what their names depend on, and what is shared."""

from pathlib import Path

import pytest

from iclab import papers
from iclab.evidence import SCALES, Scale
from iclab.papers._job_functions import compute_table
from iclab.runs import Job, reread_sources

FIGURE, CLAIM = "yang2024/figure-2b", "zhang2023/theorem-4.1"


def _digests():
    """Names of the jobs of a claim and a figure, as a new process finds them."""
    reread_sources()
    claim, figure = papers.select([CLAIM, FIGURE])
    jobs = [papers.claim_job(claim, "smoke", 0)]
    return [job.digest for job in [*jobs, *_figure_jobs(figure.id).values()]]


def _figure_jobs(id: str, scale: Scale = "smoke") -> dict[str, Job]:
    (entry,) = papers.select([id])
    return papers.figure_jobs(entry, scale, 0)


@pytest.fixture(scope="module")
def before():
    """Names of the jobs with all files as they are."""
    return _digests()


@pytest.fixture
def edit(monkeypatch):
    """Let files whose path ends in one of `names` read as if a line had been added."""
    read = Path.read_bytes

    def use(*names):
        def read_bytes(path):
            text = read(path)
            return text + b"\n# edited\n" if path.as_posix().endswith(names) else text

        monkeypatch.setattr(Path, "read_bytes", read_bytes)

    yield use
    monkeypatch.undo()
    reread_sources()


def test_editing_a_statement_or_the_engine_renames_no_job(before, edit):
    edit(
        "papers/yang2024/contents.py",
        "papers/zhang2023/contents.py",
        "papers/_catalog.py",
        "papers/_jobs.py",
        "papers/_drawing.py",
        "runs/_store.py",
        "cli/_commands.py",
    )
    assert _digests() == before


@pytest.mark.parametrize("file", ["papers/_job_functions.py", "theory/_lsa_optimum.py"])
def test_editing_what_computes_renames_jobs(before, edit, file):
    edit(file)
    assert not set(_digests()) & set(before)


def test_editing_a_file_renames_its_own_jobs_only(before, edit):
    edit("yang2024/figure_2b.py")
    claim, *tables = _digests()
    assert claim == before[0]
    assert not set(tables) & set(before)


def test_figures_that_compute_the_same_share_their_jobs():
    for scale in SCALES:
        last = _figure_jobs("yang2024/figure-5a", scale)
        curves = _figure_jobs("yang2024/figure-5b", scale)
        assert [job.digest for job in last.values()] == [
            job.digest for job in curves.values()
        ]


def test_a_job_names_the_function_that_computes():
    job = _figure_jobs("yang2024/figure-5a")["H = 1"]
    assert job.config["compute"] == "iclab.papers.yang2024._equal_compute:equal_compute"
    assert job.code == ("iclab.papers.yang2024._equal_compute",)
    (job,) = _figure_jobs("ahn2023/figure-2").values()
    assert job.config["compute"] == "iclab.papers.ahn2023.figure_2:compute"


def test_a_figure_is_laid_out_once_for_all_its_formats(monkeypatch):
    from matplotlib.layout_engine import ConstrainedLayoutEngine as Engine

    calls, execute = [], Engine.execute
    monkeypatch.setattr(
        Engine,
        "execute",
        lambda engine, picture: (calls.append(picture), execute(engine, picture)),
    )
    (entry,) = papers.select(["yang2024/figure-3"])
    tables = {
        name: compute_table(job.config, job.seed)
        for name, job in _figure_jobs(entry.id).items()
    }
    files = papers.drawn(entry, tables)
    assert len(calls) == 1
    kinds = ("svg", "pdf", "png", "csv")
    assert list(files) == [f"figures/{entry.id}.{kind}" for kind in kinds]
