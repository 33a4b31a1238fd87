"""Runs that are killed, and runs on several devices and in several processes."""

import json
import os
import random
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from iclab.training import Checkpoints
from tests.assertions import assert_close
from tests.training import worker

pytestmark = pytest.mark.everything

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """A function that starts a run; what it started is ended in any case."""
    started = []
    # Runs share what is compiled, as those on a machine may.
    programs = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path_factory.mktemp("programs")),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }

    def start(flags: str = "", **settings: Any) -> subprocess.Popen:
        flags = f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip()
        started.append(
            subprocess.Popen(
                [sys.executable, "-m", "tests.training.worker", json.dumps(settings)],
                cwd=ROOT,
                env=os.environ
                | programs
                | {"PYTHONPATH": str(ROOT), "XLA_FLAGS": flags},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def _finish(process: subprocess.Popen, code: int = 0) -> str:
    """Wait for a process that ends with `code`, and take its last line."""
    # No measure of speed: on a busy machine a process may wait long for its turn.
    output, errors = process.communicate(timeout=3600)
    assert process.returncode == code, errors
    return output.splitlines()[-1] if code == 0 else ""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run in this process, undisturbed: losses, and the last checkpoint's bytes."""
    folder = tmp_path_factory.mktemp("whole")
    result = worker.run(folder)
    return result.losses, _last(folder)


def _last(folder: Path) -> bytes:
    return Checkpoints(folder / "checkpoints").path(worker.STEPS).read_bytes()


def test_killed_runs_end_with_the_same_bytes(whole, start, tmp_path):
    # More kills: ICLAB_KILLS=20 pytest …
    kills = int(os.environ.get("ICLAB_KILLS", "2"))
    seed = random.randrange(10**6)
    print(f"seed: {seed}")
    rng = random.Random(seed)
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    # One of each at least: while a checkpoint is written, and after some step.
    for in_write in [True, False, *rng.choices([True, False], [3, 7], k=kills)][:kills]:
        done = checkpoints.steps()
        step = rng.randrange(done[0] + 1 if done else 1, worker.STEPS)
        how = {"kill_in_write": 1} if in_write else {"kill_at": step}
        _finish(start(out=str(tmp_path), resume=True, **how), -9)
    _finish(start(out=str(tmp_path), resume=True))
    assert _last(tmp_path) == whole[1]
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    losses = [json.loads(line)["loss"] for line in lines]
    assert np.array_equal(losses, whole[0])
    # Nothing else is left, no file that was being written either.
    kept = [checkpoints.path(step).name for step in (10, worker.STEPS)]
    assert sorted(os.listdir(checkpoints.folder)) == kept


def test_two_devices_give_the_same_losses(whole, start, tmp_path):
    flag = "--xla_force_host_platform_device_count=2"
    found = json.loads(_finish(start(flag, out=str(tmp_path))))
    assert found["devices"] == 2
    # Sums over the batch in another order, in float32, twelve steps of Adam.
    assert_close(found["losses"], whole[0], rtol=1e-4)


def test_two_processes_give_the_same_losses(whole, start, tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    join = {"coordinator": f"127.0.0.1:{port}", "processes": 2}
    runs = [start(out=str(tmp_path / "run"), process_id=i, **join) for i in (0, 1)]
    for found in [json.loads(_finish(run)) for run in runs]:
        assert found["devices"] == 2
        assert_close(found["losses"], whole[0], rtol=1e-4)  # as above
    # Process 0 alone writes.
    assert Checkpoints(tmp_path / "run" / "checkpoints").steps() == [12, 10]
