"""Records of several runs in one file, and what keeps programs from each other."""

import errno
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from iclab import _files, papers
from iclab._files import write_whole
from iclab.evidence import CaseResult
from iclab.results import NoResults, Record, ResultsFolder, locked

CASE = CaseResult("only", "=", 1.0, 1.0, 0.1, 2.0, "because", "holds")
IDS = [entry.id for entry in papers.select()]


def _record(id: str, seed: int = 0, **more: Any) -> Record:
    made: Any = {"kind": "claim", "statement": "", "scale": "desk", "seconds": 1.0}
    made |= {"cases": (CASE,), "verdict": "holds"}
    return Record(id=id, seed=seed, **{**made, **more})


def _folder(folder: Path, **facts: Any) -> ResultsFolder:
    return ResultsFolder(folder, facts, IDS)


def _written(folder):
    return json.loads((folder / "results.json").read_text())


def test_records_join_in_the_papers_order(tmp_path):
    _folder(tmp_path, scale="desk").flush()
    first, second = (_folder(tmp_path, seed=n) for n in (1, 2))
    for id in (IDS[3], IDS[0], "nobody2099/theorem-1"):
        first.add(_record(id))
    first.flush(finished="2025-03-04T05:06:07Z")
    second.add(_record(IDS[3], seed=7))
    second.add(_record(IDS[2]))
    second.flush()
    run = _written(tmp_path)
    assert list(run) == ["format", "seed", "results"]
    assert run["seed"] == 2
    ids = [record["id"] for record in run["results"]]
    assert ids == [IDS[0], IDS[2], IDS[3], "nobody2099/theorem-1"]
    assert run["results"][2]["seed"] == 7


def test_a_record_that_is_no_longer_true_is_left_out(tmp_path):
    file = _folder(tmp_path)
    order = []
    file.add(_record(IDS[0]), lambda: order.append("first") or True)
    file.add(_record(IDS[1]), lambda: order.append("second") or False)
    file.flush()
    assert order == ["first", "second"]
    assert list(file.records) == [IDS[0]]


def test_records_are_written_now_and_then(tmp_path, monkeypatch):
    clock = 0.0
    monkeypatch.setattr("iclab.results._folder.time.monotonic", lambda: clock)
    file = _folder(tmp_path)
    file.add(_record(IDS[0]))
    assert not (tmp_path / "results.json").exists()
    clock = 6.0
    file.add(_record(IDS[1]))
    assert len(_written(tmp_path)["results"]) == 2


def test_a_file_that_changes_its_format_meanwhile_is_left_alone(tmp_path):
    file = _folder(tmp_path)
    (tmp_path / "results.json").write_text('{"format": 3}')
    with pytest.raises(NoResults, match="is of another version of iclab"):
        file.flush()
    assert _written(tmp_path) == {"format": 3}


@pytest.fixture(params=["flock", "a file system that cannot lock"])
def way_to_lock(request, monkeypatch):
    if request.param != "flock":

        def refuse(*_):
            raise OSError(errno.ENOLCK, "No locks available")

        monkeypatch.setattr("fcntl.flock", refuse)


def test_nothing_is_lost_when_several_write_at_once(tmp_path, way_to_lock):
    def write(part: int) -> None:
        file = _folder(tmp_path)
        for id in IDS[part:30:3]:
            file.add(_record(id))
            file.flush()

    writers = [threading.Thread(target=write, args=(part,)) for part in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [record["id"] for record in _written(tmp_path)["results"]] == IDS[:30]


def test_a_lock_is_given_back_after_a_failure(tmp_path, way_to_lock):
    with pytest.raises(RuntimeError), locked(tmp_path):
        raise RuntimeError
    with locked(tmp_path):
        pass


def test_a_file_is_whole_or_not_there(tmp_path, monkeypatch):
    path = tmp_path / "folder" / "file"
    write_whole(path, "one")
    write_whole(path, b"two", durable=True)
    assert path.read_text() == "two"

    def fail(*_):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(_files.os, "fsync", fail)
    with pytest.raises(OSError, match="full"):
        write_whole(path, "three", durable=True)
    assert path.read_text() == "two"
    assert os.listdir(path.parent) == ["file"]
