"""Jobs on a real Dask scheduler with worker processes, some of which die."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import iclab
from iclab import papers
from iclab.runs import (
    Cluster,
    EngineProblem,
    Job,
    Outcome,
    Started,
    Store,
    _cluster,
    run_jobs,
)
from iclab.runs._identity import differences, identity
from tests.papers.small_paper import write_paper
from tests.runs import work

pytestmark = pytest.mark.everything

ROOT = Path(__file__).parents[2]


def _job(name="square", seed=0, **config):
    return Job(f"tests.runs.work:{name}", config, seed)


class Site:
    """A scheduler and its workers, as a user starts them, on loopback."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.processes: list[subprocess.Popen] = []
        self.scheduler = self._start("scheduler", "--port", "0")
        work.until(self.file.exists)

    def worker(self, path: Path = ROOT, **variables: str) -> subprocess.Popen:
        """A worker that finds its modules in `path` first."""
        words = ("--no-nanny", "--nthreads", "1", "--death-timeout", "60")
        local = ("--local-directory", str(self.folder / "local"))
        return self._start("worker", *words, *local, path=path, **variables)

    def ready(self, workers: int) -> None:
        from distributed import Client

        with Client(scheduler_file=str(self.file), set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=60)

    def _start(
        self, kind: str, *words: str, path: Path = ROOT, **variables: str
    ) -> subprocess.Popen:
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}"]
        shared = ["--host", "127.0.0.1", "--no-dashboard"]
        process = subprocess.Popen(
            [*command, *shared, "--scheduler-file", str(self.file), *words],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(path), **variables},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.processes.append(process)
        return process


@contextlib.contextmanager
def _site(folder: Path):
    site = Site(folder)
    try:
        yield site
    finally:
        for process in site.processes:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A scheduler with two workers."""
    with _site(tmp_path_factory.mktemp("site")) as site:
        site.worker()
        site.worker()
        site.ready(2)
        yield site


def _arrays(store, job):
    return [path.read_bytes() for path in sorted(store.folder(job).glob("*.npz"))]


def test_the_same_bytes_as_here(site, tmp_path):
    (entry,) = papers.select(["zhang2023/section-5.1-determinant"])
    claim = papers.claim_job(entry, "smoke", 0)
    jobs = [*(_job(n=5, seed=seed) for seed in range(3)), claim, _job("fail")]
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    events = list(run_jobs(jobs, store=there, engine=Cluster(site.file)))
    started = [one.job.digest for one in events if isinstance(one, Started)]
    assert sorted(started) == sorted(job.digest for job in jobs)
    for _ in run_jobs(jobs, store=here):
        pass
    for job in jobs[:3]:
        assert _arrays(there, job) == _arrays(here, job)
        assert there.manifest(job)["values"] == here.manifest(job)["values"]
    ours, theirs = here.load(claim), there.load(claim)
    assert theirs["cases"] == ours["cases"]
    assert theirs["verdict"] == ours["verdict"]
    failure = there.failure(jobs[-1])
    assert failure is not None
    assert failure.strip().endswith("RuntimeError: no such luck")


def test_workers_compute_with_one_thread(site):
    *_, outcome = Cluster(site.file)([_job("environment")])
    assert isinstance(outcome, Outcome)
    assert outcome.result is not None
    assert outcome.result["pid"] != os.getpid()
    assert outcome.result["OMP_NUM_THREADS"] == "1"
    assert "--xla_cpu_multi_thread_eigen=false" in outcome.result["XLA_FLAGS"]


def test_a_killed_worker_loses_nothing(site, tmp_path):
    jobs = [_job("hold", seed, folder=str(tmp_path)) for seed in range(3)]
    events = run_jobs(jobs, engine=Cluster(site.file))
    first, second = next(events), next(events)
    assert isinstance(first, Started)
    assert isinstance(second, Started)
    work.until(lambda: len(work.held(tmp_path)) == 2)
    victim = work.held(tmp_path)[0]
    assert victim in {process.pid for process in site.processes}
    os.kill(victim, signal.SIGKILL)
    (tmp_path / "go").touch()
    rest = list(events)
    outcomes = {one.job.seed: one for one in rest if isinstance(one, Outcome)}
    for seed in range(3):
        result = outcomes[seed].result
        assert result is not None
        np.testing.assert_array_equal(result["values"], np.arange(3) + seed)
    # Four times a job began, and it was said three times.
    assert len(work.held(tmp_path)) == 4
    assert sum(isinstance(one, Started) for one in rest) == 1


def test_a_worker_with_another_iclab_is_refused(site, tmp_path):
    source = Path(iclab.__file__).parent
    (tmp_path / "iclab").mkdir()
    for folder in ("runs", "show"):
        shutil.copytree(source / folder, tmp_path / "iclab" / folder)
    for file in source.glob("*.py"):
        shutil.copy(file, tmp_path / "iclab")
    text = (source / "__init__.py").read_text(encoding="utf-8")
    other = text.replace(f'"{iclab.__version__}"', '"0.0.0"')
    (tmp_path / "iclab" / "__init__.py").write_text(other, encoding="utf-8")
    jobs = [_job("hold", seed, folder=str(tmp_path)) for seed in range(12)]
    refusal = (
        rf"^worker tcp://127\.0\.0\.1:\d+ has iclab 0\.0\.0 "
        rf"\(here {iclab.__version__}\), code [0-9a-f]+ \(here {identity()['code']}\): "
        "install the same there and start it again$"
    )
    # It comes when the work has begun, and then it is there from the start.
    events = run_jobs(jobs, engine=Cluster(site.file))
    next(events)
    stranger = site.worker(tmp_path)
    try:
        with pytest.raises(EngineProblem, match=refusal):
            list(events)
        with pytest.raises(EngineProblem, match=refusal):
            list(run_jobs(jobs, engine=Cluster(site.file)))
    finally:
        (tmp_path / "go").touch()
        stranger.kill()


def test_a_worker_needs_the_room_of_a_job(tmp_path, monkeypatch):
    here = write_paper(tmp_path / "here", "clustered2026")
    other = write_paper(tmp_path / "there", "clustered2026")
    (other / "_numbers.py").write_text("TWO = 3\n")
    monkeypatch.syspath_prepend(here.parent)
    module = "clustered2026.theorem_1_2"
    config = {"claim": module, "id": "clustered2026/theorem-1.2", "scale": "smoke"}
    config |= {"erratum": False, "remark": False}
    job = Job("iclab.papers._job_functions:check_claim", config, code=(module,))
    name = r"^worker tcp://127\.0\.0\.1:\d+ has "
    end = ": install the same there and start it again$"
    for folders, difference in (
        ("", f"{name}no clustered2026{end}"),
        (str(other), rf"{name}clustered2026 [0-9a-f]+ \(here [0-9a-f]+\){end}"),
        (str(here), None),
    ):
        folder = tmp_path / f"site-{len(folders)}"
        folder.mkdir()
        with _site(folder) as site:
            site.worker(ICLAB_PAPERS=folders)
            site.ready(1)
            if difference is None:
                *_, outcome = Cluster(site.file)([job])
                assert isinstance(outcome, Outcome)
                assert outcome.result is not None, outcome.error
                assert outcome.result["verdict"] == "holds"
            else:
                with pytest.raises(EngineProblem, match=difference):
                    list(Cluster(site.file)([job]))


def test_a_lost_scheduler_is_one_line_and_keeps_what_is_done(tmp_path):
    with _site(tmp_path) as site:
        site.worker()
        store = Store(tmp_path / "store")
        jobs = [_job(n=2), _job("hold", folder=str(tmp_path))]
        # No worker is there at first: jobs wait for one.
        events = run_jobs(jobs, store=store, engine=Cluster(site.file))
        first = [next(events) for _ in range(3)]
        assert Started(jobs[1]) in first
        assert any(isinstance(one, Outcome) for one in first)
        site.scheduler.kill()
        lost = "lost the connection to the Dask scheduler at .*: what is finished is"
        with pytest.raises(EngineProblem, match=lost):
            list(events)
        assert store.has(jobs[0])


def test_no_scheduler_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(_cluster, "_PATIENCE", 0.3)
    for address in ("tcp://127.0.0.1:9", "127.0.0.1:9"):
        expected = f"^no Dask scheduler at {address}: Timed out .* after 0.3 s$"
        with pytest.raises(EngineProblem, match=expected):
            list(Cluster(address)([_job(n=1)]))
    with pytest.raises(EngineProblem, match=r"^no Dask scheduler at http://x:1: "):
        list(Cluster("http://x:1")([_job(n=1)]))
    assert list(Cluster("tcp://127.0.0.1:9")([])) == []


def test_a_bad_scheduler_file_is_one_line(tmp_path):
    file = tmp_path / "scheduler.json"
    with pytest.raises(EngineProblem, match="`address_or_scheduler_file`"):
        Cluster("")
    with pytest.raises(EngineProblem, match=r"cannot be read: No such file or"):
        Cluster(file)
    for text in ("", "[]", "{}"):
        file.write_text(text)
        with pytest.raises(EngineProblem, match="is not the file of a Dask scheduler"):
            Cluster(file)


def test_the_extra_is_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(EngineProblem) as problem:
        Cluster("tcp://127.0.0.1:9")
    assert str(problem.value) == "a cluster needs Dask: pip install 'iclab[cluster]'"


def test_differences_in_words():
    ours = {"jax": "1.0", "iclab": "2", "code": "ab"}
    assert differences({**ours, "jax": "0.9"}, ours) == "jax 0.9 (here 1.0)"
    assert differences({"jax": "1.0", "iclab": "2"}, ours) == "no code"
    assert {"jax", "jaxlib", "numpy", "iclab", "code"} <= set(identity())
