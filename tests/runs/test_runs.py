"""Jobs, and running them here."""

import numpy as np
import pytest

from iclab.runs import (
    Job,
    Outcome,
    Started,
    Store,
    code_digest,
    provenance,
    reread_sources,
    run_jobs,
)


def _job(name="square", seed=0, **config):
    return Job(f"tests.runs.work:{name}", config, seed)


def _outcomes(jobs, **options):
    return [one for one in run_jobs(jobs, **options) if isinstance(one, Outcome)]


def test_digest_names_configuration_seed_and_function():
    job = _job(n=3)
    assert job.digest == _job(n=3).digest
    others = [_job(n=4), _job(n=3, seed=1), _job("count", n=3)]
    assert len({job.digest, *(other.digest for other in others)}) == 4


def test_label_does_not_change_the_digest():
    named = Job("tests.runs.work:square", {"n": 3}, label="a name")
    assert named.digest == _job(n=3).digest


def test_code_digest_follows_imports_and_nothing_else(tmp_path, monkeypatch):
    package = tmp_path / "sample_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "top.py").write_text("from sample_package import below\n")
    (package / "below.py").write_text("VALUE = 1\n")
    (package / "beside.py").write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(tmp_path)

    def digest():
        reread_sources()
        return code_digest(("sample_package.top",))

    before = digest()
    (package / "beside.py").write_text("VALUE = 2\n")
    assert digest() == before
    (package / "below.py").write_text("VALUE = 2\n")
    assert digest() != before


def test_finished_jobs_are_not_run_again(tmp_path):
    store = Store(tmp_path / "store")
    jobs = [_job("count", seed, folder=str(tmp_path)) for seed in range(3)]
    first = _outcomes(jobs[:2], store=store)
    assert [outcome.from_store for outcome in first] == [False, False]
    second = list(run_jobs(jobs, store=store))
    assert [one.from_store for one in second if isinstance(one, Outcome)] == [
        *(True, True, False)
    ]
    assert [one.job.seed for one in second if isinstance(one, Started)] == [2]
    assert (tmp_path / "runs.txt").read_text().split() == ["0", "1", "2"]


def test_force_runs_finished_jobs_again(tmp_path):
    store = Store(tmp_path / "store")
    job = _job("count", folder=str(tmp_path))
    store.save(job, {"seed": "another"}, 0.1)
    (outcome,) = _outcomes([job], store=store, force=True)
    assert not outcome.from_store
    assert store.load(job) == {"seed": 0}


def test_equal_jobs_are_run_once(tmp_path):
    jobs = [_job("count", seed, folder=str(tmp_path)) for seed in (0, 1, 0, 0)]
    events = list(run_jobs(jobs))
    assert events[::2] == [Started(jobs[0]), Started(jobs[1])]
    assert len(events) == 4
    assert (tmp_path / "runs.txt").read_text().split() == ["0", "1"]


def test_a_failure_stops_only_itself():
    failed, done = _outcomes([_job("fail"), _job(n=2)])
    assert failed.error is not None
    assert failed.error.strip().endswith("RuntimeError: no such luck")
    assert done.result is not None
    np.testing.assert_array_equal(done.result["values"], [0, 1])


def test_a_result_that_cannot_be_kept_is_a_failure(tmp_path):
    failed, done = _outcomes([_job("objects"), _job(n=2)], store=Store(tmp_path))
    assert failed.error is not None
    assert "TypeError: job result `bad` must hold numbers" in failed.error
    assert done.error is None


def test_a_fresh_result_is_what_the_store_gives_back(tmp_path):
    store, job = Store(tmp_path), _job(n=3)
    (fresh,) = _outcomes([job], store=store)
    (kept,) = _outcomes([job], store=store)
    assert fresh.result is not None
    assert kept.result is not None
    assert list(map(type, fresh.result.values())) == [np.ndarray, str]
    np.testing.assert_array_equal(fresh.result["values"], kept.result["values"])
    other = _job(n=4)
    store.save(other, {"x": (1, 2.5)}, 0.1)
    assert store.load(other) == {"x": [1, 2.5]}
    with pytest.raises(TypeError, match="not JSON serializable"):
        store.save(_job(n=5), {"x": {1, 2}}, 0.1)


def test_any_callable_is_an_engine(tmp_path):
    job = _job(n=3)

    def engine(jobs):
        assert jobs == [job]
        return iter([Started(job), Outcome(job, {"x": 1}, None, 2.0)])

    store = Store(tmp_path)
    assert len(list(run_jobs([job], store=store, engine=engine))) == 2
    assert store.load(job) == {"x": 1}


def test_provenance_names_versions():
    found = provenance()
    assert found["versions"]["jax"]
    assert found["python"].count(".") == 2
