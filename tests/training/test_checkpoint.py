"""Which checkpoints stay, and what several processes hear of a bad beginning."""

import jax
import numpy as np
import pytest

from iclab.core import DamagedFile, read_tensors, write_tensors
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
    return RunFolder(folder, {}, resume=True).found(dict(STATE))


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
        ({"model": np.arange(4.0)}, "model of shape (3,), there of shape (4,)"),
        (
            {"history": np.zeros((9, 2))},
            "history of shape (3, 2), there of shape (9, 2)",
        ),
        ({"more": np.zeros(1)}, "more none, there of shape (1,)"),
    ],
)
def test_arrays_of_other_shapes_are_refused(tmp_path, change, odd):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(3, _state(3) | change, {})
    with refused(
        f"Checkpoints.load: `state` must be the one in {checkpoints.path(3)},"
        f" got other arrays: {odd}"
    ):
        checkpoints.load(STATE, {}, warn=pytest.fail)


def test_a_checkpoint_is_what_it_says_inside(tmp_path):
    checkpoints, warnings = Checkpoints(tmp_path), []
    for step in (40, 60):
        checkpoints.save(step, _state(step), {})
    for name in (59, 7):  # before and after the other one, by name
        path = checkpoints.path(60)
        renamed = path.rename(checkpoints.path(name))
        found = checkpoints.load(STATE, {}, warn=warnings.append)
        assert found is not None
        assert found[0] == 60
        assert found[1]["history"].shape == (60, 2)
        assert warnings.pop() == f"{renamed} holds step 60: that counts, not its name"
        renamed.rename(path)


@pytest.mark.parametrize("description", [{}, {"step": 3}, {"step": "3"}, {"step": -1}])
def test_what_does_not_say_its_step_is_no_checkpoint(tmp_path, description):
    checkpoints, warnings = Checkpoints(tmp_path), []
    write_tensors(checkpoints.path(3), {"model": np.zeros(2)}, description)
    with pytest.raises(DamagedFile, match="every checkpoint in"):
        checkpoints.load(STATE, {}, warn=warnings.append)
    assert "is not a checkpoint" in warnings[0]


@pytest.mark.parametrize("step", [10**12, 10**30])
def test_a_step_of_any_size_takes_no_memory(tmp_path, step):
    checkpoints = Checkpoints(tmp_path)
    description = {"step": step, "configuration": {}}
    arrays = {name: np.asarray(one) for name, one in _state(3).items()}
    write_tensors(checkpoints.path(3), arrays, description)
    with refused(
        f"Checkpoints.load: `state` must be the one in {checkpoints.path(3)}, got other"
        f" arrays: history of shape ({step}, 2), there of shape (3, 2)"
    ):
        checkpoints.load(STATE, {}, warn=lambda text: None)


@pytest.mark.parametrize("name", ["checkpoints", "metrics.jsonl", ".probe"])
def test_a_run_stays_in_its_folder(tmp_path, name):
    folder, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.write_text("kept")
    (folder / name).symlink_to(elsewhere)
    run = RunFolder(folder, {})
    if name == ".probe":
        assert run.found(STATE) is None
    else:
        with pytest.raises(ValueError, match="is a symbolic link"):
            run.found(STATE)
    assert elsewhere.read_text() == "kept"
