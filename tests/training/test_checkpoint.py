"""Which checkpoints stay, and what several processes hear of a bad beginning."""

import jax
import numpy as np
import pytest

from iclab.core import DamagedFile, read_tensors
from iclab.training import Checkpoints
from iclab.training._run_folder import RunFolder
from tests.refusals import refused


def _state(step):
    """A row of history for every step."""
    history = np.zeros((step, 2))
    return {"model": np.arange(3.0), "optimiser": np.zeros(2), "history": history}


STATE = _state(0) | {"hooks": {}}


def test_only_good_ones_count_towards_those_kept(tmp_path):
    checkpoints, warnings = Checkpoints(tmp_path), []
    for step in (2, 4, 9):
        checkpoints.save(step, _state(step), {})
    checkpoints.path(9).write_bytes(b"")
    found = checkpoints.load(STATE, {}, warn=warnings.append)
    assert found is not None
    assert found[0] == 4
    assert len(warnings) == 1
    # What comes next leaves the damaged one behind, not a good one.
    checkpoints.save(6, _state(6), {})
    assert checkpoints.steps() == [6, 4]


def test_unreadable_ones_are_passed_over(tmp_path, monkeypatch):
    checkpoints, warnings = Checkpoints(tmp_path), []
    for step in (2, 4):
        checkpoints.save(step, _state(step), {})

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
    Checkpoints(tmp_path / "checkpoints").save(2, _state(2), {})
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


def test_what_hooks_remember_comes_back_by_name(tmp_path):
    memory = {"Record": {"steps": np.arange(2), "0": np.ones(2)}}
    Checkpoints(tmp_path).save(3, _state(3) | {"hooks": memory}, {})
    found = Checkpoints(tmp_path).load(STATE, {}, warn=pytest.fail)
    assert found is not None
    assert set(found[1]["hooks"]["Record"]) == {"steps", "0"}
    assert np.array_equal(found[1]["hooks"]["Record"]["0"], np.ones(2))


@pytest.mark.parametrize(
    ("change", "odd"),
    [
        ({"model": np.arange(4.0)}, "['model']"),
        ({"history": np.zeros((9, 2))}, "['history']"),
        ({"more": np.zeros(1)}, "['more']"),
    ],
)
def test_arrays_of_other_shapes_are_refused(tmp_path, change, odd):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(3, _state(3) | change, {})
    with refused(
        f"Checkpoints: `state` must be the one in {checkpoints.path(3)},"
        f" got other arrays: {odd}"
    ):
        checkpoints.load(STATE, {}, warn=pytest.fail)
