"""Who computes on what: tried with devices that are only imagined."""

import os

import pytest

from iclab.runs import (
    EngineProblem,
    Job,
    Outcome,
    Processes,
    Started,
    assigned_devices,
    count_gpus,
    run_jobs,
)
from tests.runs import work
from tests.stranger import Stranger

DEVICE = "ICLAB_DEVICE"


def _on_cards():
    """What the processes of two cards have in their environment."""
    jobs = [Job("tests.runs.work:environment", {}, n, device="gpu") for n in (0, 1)]
    events = run_jobs(jobs, engine=Processes(1, gpus=2))
    ended = {
        one.job.seed: one.result or {} for one in events if isinstance(one, Outcome)
    }
    return ended[0], ended[1]


def test_a_card_for_each_process_and_its_memory_as_needed(monkeypatch):
    for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    first, second = _on_cards()
    assert [one["CUDA_VISIBLE_DEVICES"] for one in (first, second)] == ["0", "1"]
    assert second["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"
    # Of the cards that it sees, and it sees one, the first is its own.
    assert second[DEVICE] == "gpu:0"
    assert second["JAX_PLATFORMS"] == ""


def test_cards_are_counted_among_those_that_are_allowed(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3, 5")
    assert [one["CUDA_VISIBLE_DEVICES"] for one in _on_cards()] == ["3", "5"]


def test_without_an_assignment_all_devices_are_used(monkeypatch):
    import jax

    monkeypatch.delenv(DEVICE, raising=False)
    assert assigned_devices() == jax.devices()
    monkeypatch.setenv(DEVICE, "cpu:0")
    assert assigned_devices() == jax.devices()[:1]


def test_jobs_that_ask_for_a_card_do_not_wait_for_one_in_vain():
    job = Job("tests.runs.work:square", {"n": 2}, device="gpu")
    with pytest.raises(EngineProblem, match="jobs ask for a GPU, and there is none"):
        list(run_jobs([job], engine=Processes(1)))


def test_work_stays_on_the_cpu_and_each_card_has_one_process(tmp_path, monkeypatch):
    def imagined(index):
        flags = "--xla_force_host_platform_device_count=3"
        return {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags, DEVICE: f"cpu:{index}"}

    monkeypatch.setenv("JAX_PLATFORMS", "cuda")
    monkeypatch.setattr("iclab.runs._processes.on_gpu", imagined)
    config = {"folder": str(tmp_path)}
    on_cards = [Job("tests.runs.work:place", config, n, device="gpu") for n in (1, 2)]
    plain = Job("tests.runs.work:place", config, 3)
    events = run_jobs([plain, *on_cards], engine=Processes(1, gpus=2))
    begun = [next(events) for _ in range(3)]
    assert all(isinstance(event, Started) for event in begun)
    # All three are at work at once, each where it belongs.
    work.until(lambda: len(list(tmp_path.glob("at-*"))) == 3, 120)
    (tmp_path / "go").touch()
    ended = [event for event in events if isinstance(event, Outcome)]
    found = {one.job.seed: one.result or {} for one in ended}
    assert {str(found[n]["device"]) for n in (1, 2)} == {"0 of 3", "1 of 3"}
    assert found[3] == {"device": "0 of 1", "platforms": "cpu"}
    assert len({*os.listdir(tmp_path)} - {"go"}) == 3


def test_cards_are_counted_without_what_lies_in_the_current_folder(
    tmp_path, monkeypatch
):
    stranger = Stranger(tmp_path)
    monkeypatch.chdir(stranger.folder)
    assert count_gpus() >= 0
    assert stranger.ran == []
