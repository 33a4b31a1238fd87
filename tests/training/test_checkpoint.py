"""Which checkpoints stay, and what several processes hear of a bad beginning."""

import jax
import numpy as np
import pytest

from iclab.core import DamagedFile, read_tensors
from iclab.training import Checkpoints
from iclab.training._run_folder import RunFolder
from tests.refusals import refused

STATE = {"model": np.arange(3.0), "optimiser": np.zeros(2), "recent": np.zeros((0, 2))}


def test_only_good_ones_count_towards_those_kept(tmp_path):
    checkpoints, warnings = Checkpoints(tmp_path), []
    for step in (2, 4, 9):
        checkpoints.save(step, STATE, {})
    checkpoints.path(9).write_bytes(b"")
    found = checkpoints.load(STATE, {}, warn=warnings.append)
    assert found is not None
    assert found[0] == 4
    assert len(warnings) == 1
    # What comes next leaves the damaged one behind, not a good one.
    checkpoints.save(6, STATE, {})
    assert checkpoints.steps() == [6, 4]


def test_unreadable_ones_are_passed_over(tmp_path, monkeypatch):
    checkpoints, warnings = Checkpoints(tmp_path), []
    for step in (2, 4):
        checkpoints.save(step, STATE, {})

    def read(path):
        if path == checkpoints.path(4):
            raise OSError(5, "Input/output error")
        return read_tensors(path)

    monkeypatch.setattr("iclab.training._checkpoint.read_tensors", read)
    found = checkpoints.load(STATE, {}, warn=warnings.append)
    assert found is not None
    assert found[0] == 2
    path = checkpoints.path(4)
    assert warnings == [
        f"cannot read {path}: Input/output error; trying the one before"
    ]


def test_files_that_are_no_checkpoints_are_not_looked_at(tmp_path):
    (tmp_path / "step-1.safetensors").write_bytes(b"")
    assert Checkpoints(tmp_path).load(STATE, {}, warn=pytest.fail) is None


def _begin(folder):
    run = RunFolder(folder, {}, tensorboard=False)
    return run.begin(dict(STATE), resume=True)


def test_no_process_waits_for_one_that_gives_up(tmp_path, monkeypatch):
    Checkpoints(tmp_path / "checkpoints").save(2, STATE, {})
    Checkpoints(tmp_path / "checkpoints").path(2).write_bytes(b"")
    asked = []

    def anywhere(holds):
        asked.append(holds)
        return True

    monkeypatch.setattr("iclab.training._run_folder.anywhere", anywhere)
    with pytest.raises(DamagedFile, match="every checkpoint in"):
        _begin(tmp_path)
    monkeypatch.setattr(jax, "process_index", lambda: 1)
    with refused("train: process 0 cannot begin, and says why"):
        _begin(tmp_path)
    assert asked == [True, False]
