"""What a job finds where it is done, and the progress that it reports."""

import pytest

from iclab.runs import (
    Bench,
    Job,
    Outcome,
    Processes,
    Progressed,
    Store,
    at_bench,
    bench,
    job_parts,
    progress,
    run_jobs,
)


@pytest.fixture
def reported(monkeypatch):
    """Every report of progress, and not only those in time."""
    monkeypatch.setattr("iclab.runs._bench._BETWEEN", 0.0)
    return []


def _bench(reported):
    return Bench(report=lambda fraction, words: reported.append((fraction, words)))


def test_without_a_job_progress_is_not_reported():
    assert bench() is None
    progress(0.5, "half")
    assert list(job_parts(["a", "b"])) == ["a", "b"]


def test_parts_of_parts_are_shares_of_the_whole(reported):
    with at_bench(_bench(reported)):
        for outer in job_parts([1, 2], weights=[1, 3]):
            for _ in job_parts(range(outer)):
                progress(0.5, "now")
    assert [fraction for fraction, words in reported if words] == [
        0.125,
        0.4375,
        0.8125,
    ]


def test_reported_progress_is_from_0_to_1(reported):
    with at_bench(_bench(reported)):
        progress(-1.0, "a")
        progress(7.0, "b")
    assert reported == [(0.0, "a"), (1.0, "b")]


def test_progress_is_not_reported_too_often():
    reported = []
    with at_bench(_bench(reported)):
        for step in range(1000):
            progress(step / 1000)
        progress(1.0, "end")
    assert len(reported) <= 4
    assert reported[-1] == (1.0, "end")


def test_places_are_the_same_ones_whenever_a_job_is_run(tmp_path):
    def asked():
        one = Bench(tmp_path)
        return [one.place("a"), one.place("b"), one.place("a")]

    assert asked() == asked() == [tmp_path / name for name in ("a-0", "b-0", "a-1")]
    assert Bench().place("a") is None


@pytest.mark.parametrize("words", ["nan 1", "1 inf", "-1 1", "1e999 1", "1", "a b"])
def test_no_attempt_took_an_impossible_time(tmp_path, words):
    (tmp_path / "spent").write_text("3 2")
    assert Bench(tmp_path).spent() == (3.0, 2.0)
    (tmp_path / "spent").write_text(words)
    assert Bench(tmp_path).spent() == (0.0, 0.0)


def test_what_a_job_keeps_is_in_its_own_folder(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "a-0").symlink_to(tmp_path / "elsewhere")
    one = Bench(tmp_path)
    assert [one.place("a"), one.place("a")] == [None, tmp_path / "a-1"]


def test_what_a_job_keeps_is_there_again_and_gone_at_its_end(tmp_path):
    store, job = Store(tmp_path), Job("tests.runs.work:keep", {"until": 2})
    counts = []
    for _ in range(3):
        (outcome,) = [e for e in run_jobs([job], store=store) if isinstance(e, Outcome)]
        counts.append(outcome.result and outcome.result["tries"])
    assert counts == [None, 2, 2]
    assert not store.work_folder(job).exists()


def test_work_that_is_forced_begins_at_its_beginning(tmp_path):
    store, job = Store(tmp_path), Job("tests.runs.work:keep", {"until": 2})
    for _ in range(2):
        list(run_jobs([job], store=store, force=True))
    assert store.find(job) is None


def test_processes_pass_progress_on():
    events = list(run_jobs([Job("tests.runs.work:talk", {})], engine=Processes(1)))
    said = [event for event in events if isinstance(event, Progressed)]
    assert [(one.fraction, one.words) for one in said] == [(0.25, "a"), (1.0, "b")]
    assert isinstance(events[-1], Outcome)
    assert events[-1].result == {"done": True}
