"""Files of arrays: whole, the same bytes for the same content, damage noticed."""

import json
import os

import numpy as np
import pytest
import safetensors.numpy

from iclab.core import (
    DamagedFile,
    description_of,
    read_tensors,
    remove_drafts,
    write_tensors,
)

TENSORS = {
    "a": np.arange(6.0).reshape(2, 3).T,
    "count": np.array(7, np.int32),
    "none": np.zeros((0, 2), np.float32),
}
DESCRIPTION = {"step": 3, "settings": {"batch": 2, "clip": None}}


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "x.safetensors"
    write_tensors(path, TENSORS, DESCRIPTION)
    tensors, description = read_tensors(path)
    assert description == DESCRIPTION
    assert tensors.keys() == TENSORS.keys()
    for name, array in TENSORS.items():
        assert tensors[name].dtype == array.dtype
        assert tensors[name].shape == array.shape
        assert np.array_equal(tensors[name], array)
    again = tmp_path / "y.safetensors"
    write_tensors(again, dict(reversed(TENSORS.items())), DESCRIPTION)
    assert again.read_bytes() == path.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["x.safetensors", "y.safetensors"]


def test_same_bytes_whatever_the_header(tmp_path):
    header = {f"name {i}": f"“{i}”" for i in range(8)}
    path, contents = tmp_path / "x.safetensors", set()
    for _ in range(4):
        write_tensors(path, TENSORS, DESCRIPTION, header=header)
        contents.add(path.read_bytes())
    assert len(contents) == 1
    with safetensors.safe_open(path, framework="numpy") as file:
        assert header.items() <= (file.metadata() or {}).items()
    assert read_tensors(path)[1] == DESCRIPTION
    # Without more names in the header it is the file that the library writes.
    write_tensors(path, TENSORS, DESCRIPTION)
    with safetensors.safe_open(path, framework="numpy") as file:
        metadata = file.metadata()
    plain = {name: np.array(array, order="C") for name, array in TENSORS.items()}
    assert path.read_bytes() == safetensors.numpy.save(plain, metadata=metadata)


def test_every_kind_of_damage_is_noticed(tmp_path):
    path = tmp_path / "x.safetensors"
    write_tensors(path, TENSORS, DESCRIPTION)
    whole = path.read_bytes()
    for size in (0, 5, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(DamagedFile, match="not a whole safetensors file"):
            read_tensors(path)
    for place in range(8, len(whole), 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        if _foreign(path):
            continue
        with pytest.raises(DamagedFile):
            read_tensors(path)
    path.write_bytes(whole[:-1] + b"?")
    with pytest.raises(DamagedFile, match="was altered: its checksum does not match"):
        read_tensors(path)


def _foreign(path):
    """Whether the flip hit the name that marks a file as ours."""
    try:
        return read_tensors(path)[1] is None
    except DamagedFile:
        return False


@pytest.mark.parametrize(
    ("array", "data"),
    [
        ({"dtype": "F64", "shape": [10**12], "data_offsets": [0, 8 * 10**12]}, 0),
        ({"dtype": "F64", "shape": [10**12], "data_offsets": [0, 8]}, 8),
        ({"dtype": "F64", "shape": [2**40, 2**40], "data_offsets": [0, 0]}, 0),
        ({"dtype": "F64", "shape": [0, 10**19], "data_offsets": [0, 0]}, 0),
        ({"dtype": "F64", "shape": [1] * 100, "data_offsets": [0, 8]}, 8),
        ({"dtype": "F8_E4M3", "shape": [8], "data_offsets": [0, 8]}, 8),
    ],
    ids=["absent", "short", "endless", "none, and endless", "deep", "unknown kind"],
)
def test_a_header_cannot_claim_more_than_its_file_holds(tmp_path, array, data):
    path = tmp_path / "x.safetensors"
    header = json.dumps({"a": array}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(data))
    with pytest.raises(DamagedFile, match=r"not a whole|arrays that cannot be read"):
        read_tensors(path)
    path.write_bytes((10**12).to_bytes(8, "little") + header)
    with pytest.raises(DamagedFile, match="not a whole"):
        read_tensors(path)


def test_no_memory_is_damage_like_the_rest(tmp_path, monkeypatch):
    path = tmp_path / "x.safetensors"
    write_tensors(path, TENSORS, DESCRIPTION)

    def safe_open(*_, **__):
        raise MemoryError("not so much")

    monkeypatch.setattr(safetensors, "safe_open", safe_open)
    with pytest.raises(DamagedFile, match="cannot be read"):
        read_tensors(path)
    assert description_of(path) is None


def test_files_of_others_have_no_description(tmp_path):
    path = tmp_path / "x.safetensors"
    safetensors.numpy.save_file({"a": np.ones(2)}, path)
    tensors, description = read_tensors(path)
    assert description is None
    assert np.array_equal(tensors["a"], np.ones(2))


def test_nothing_is_left_behind_when_writing_fails(tmp_path, monkeypatch):
    path = tmp_path / "x.safetensors"
    write_tensors(path, TENSORS, DESCRIPTION)
    whole = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_tensors(path, {"a": np.zeros(3)}, {})
    assert path.read_bytes() == whole
    assert os.listdir(tmp_path) == ["x.safetensors"]


def test_drafts_of_killed_writers_can_be_removed(tmp_path, monkeypatch):
    class Killed(BaseException):
        pass

    def kill(draft, target):
        raise Killed

    path = tmp_path / "x.safetensors"
    monkeypatch.setattr(os, "replace", kill)
    # A killed process does not tidy up.
    monkeypatch.setattr("pathlib.Path.unlink", lambda self, missing_ok: None)
    with pytest.raises(Killed):
        write_tensors(path, TENSORS, DESCRIPTION)
    monkeypatch.undo()
    assert len(os.listdir(tmp_path)) == 1
    write_tensors(path, TENSORS, DESCRIPTION)
    remove_drafts(tmp_path)
    assert os.listdir(tmp_path) == ["x.safetensors"]


@pytest.mark.parametrize("text", ["{}", '{"a": 1}', '{"sha256": null}'])
def test_a_description_without_a_checksum_is_not_believed(tmp_path, text):
    path = tmp_path / "a.safetensors"
    safetensors.numpy.save_file(TENSORS, path, metadata={"iclab": text})
    with pytest.raises(DamagedFile):
        read_tensors(path)
