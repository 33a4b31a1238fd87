"""Jobs, store and engine."""

import json
import os
import stat

import numpy as np
import pytest

from iclab.runs import Job, Store, code_digest, provenance, run_jobs


def _job(name="square", seed=0, **config):
    return Job(f"tests.runs.work:{name}", config, seed)


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
        code_digest.cache_clear()
        return code_digest(("sample_package.top",))

    before = digest()
    (package / "beside.py").write_text("VALUE = 2\n")
    assert digest() == before
    (package / "below.py").write_text("VALUE = 2\n")
    assert digest() != before


def test_result_survives_the_store(tmp_path):
    store, job = Store(tmp_path), _job(n=4, seed=2)
    assert not store.has(job)
    store.save(job, job.run(), 0.5)
    assert store.has(job)
    loaded = store.load(job)
    np.testing.assert_array_equal(loaded["values"], [2, 3, 6, 11])
    assert loaded["note"] == "done"
    manifest = store.manifest(job)
    assert manifest["config"] == {"n": 4}
    assert manifest["seed"] == 2
    assert manifest["seconds"] == 0.5
    assert manifest["versions"]["numpy"] == np.__version__


def test_second_save_keeps_the_first(tmp_path):
    store, job = Store(tmp_path), _job(n=4)
    store.save(job, {"note": "first"}, 0.1)
    store.save(job, {"note": "second"}, 0.1)
    assert store.load(job) == {"note": "first"}
    assert not list(tmp_path.glob(".draft-*"))


def test_half_a_result_is_not_there(tmp_path):
    store, job = Store(tmp_path), _job(n=4)
    folder = store.folder(job)
    folder.mkdir(parents=True)
    (folder / "arrays.npz").write_bytes(b"half")
    assert not store.has(job)


def test_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    store, job = Store(tmp_path), _job(n=4)

    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(json, "dump", stop)
    with pytest.raises(KeyboardInterrupt):
        store.save(job, job.run(), 0.1)
    assert not store.has(job)
    assert not list(tmp_path.glob(".draft-*"))


def test_objects_are_refused(tmp_path):
    store, job = Store(tmp_path), _job(n=1)
    with pytest.raises(TypeError, match="job result `bad` must hold numbers"):
        store.save(job, {"bad": np.array([object()])}, 0.1)


def test_finished_jobs_are_not_run_again(tmp_path):
    store = Store(tmp_path / "store")
    jobs = [_job("count", seed, folder=str(tmp_path)) for seed in range(3)]
    first = list(run_jobs(jobs[:2], store=store))
    assert [outcome.from_store for outcome in first] == [False, False]
    second = list(run_jobs(jobs, store=store))
    assert [outcome.from_store for outcome in second] == [True, True, False]
    assert (tmp_path / "runs.txt").read_text().split() == ["0", "1", "2"]


def test_a_failure_stops_only_itself():
    outcomes = list(run_jobs([_job("fail"), _job(n=2)]))
    error, result = outcomes[0].error, outcomes[1].result
    assert error is not None
    assert error.strip().endswith("RuntimeError: no such luck")
    assert result is not None
    np.testing.assert_array_equal(result["values"], [0, 1])


def test_processes_give_the_same_as_one(tmp_path):
    jobs = [_job(n=3, seed=seed) for seed in range(4)]
    alone = {o.job.seed: o.result for o in run_jobs(jobs)}
    together = {o.job.seed: o.result for o in run_jobs(jobs, processes=2)}
    for seed, result in alone.items():
        other = together[seed]
        assert result is not None
        assert other is not None
        np.testing.assert_array_equal(result["values"], other["values"])


def test_a_process_that_dies_is_reported():
    outcomes = list(run_jobs([_job("die"), _job("die", seed=1)], processes=2))
    for outcome in outcomes:
        assert outcome.error is not None
        assert outcome.error.startswith("the process of this job died: ")


def test_workers_have_one_thread_and_the_parent_keeps_its_own(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setenv("XLA_FLAGS", "--mine")
    jobs = [_job("environment", seed=seed) for seed in range(2)]
    for outcome in run_jobs(jobs, processes=2):
        assert outcome.result is not None
        assert outcome.result["threads"] == "1"
        assert outcome.result["flags"].startswith("--mine ")
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert os.environ["XLA_FLAGS"] == "--mine"


def test_unwritable_store_is_found_at_once(tmp_path):
    file = tmp_path / "a file"
    file.write_text("")
    with pytest.raises(OSError, match=r"exists|directory"):
        Store(file)
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(stat.S_IRUSR | stat.S_IXUSR)
    if not os.access(locked, os.W_OK):
        with pytest.raises(PermissionError):
            Store(locked)


def test_provenance_names_versions():
    found = provenance()
    assert found["versions"]["jax"]
    assert found["python"].count(".") == 2
