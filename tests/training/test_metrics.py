"""Lines of metrics: cut where a run resumes, whole or not at all."""

import errno
import json
import os

import pytest

from iclab.training._metrics import MetricsFile


def _lines(path):
    return [json.loads(line)["step"] for line in path.read_text().splitlines()]


def _opened(path, step):
    return MetricsFile(path, step, tensorboard=False)


def test_lines_after_the_checkpoint_go(tmp_path):
    path = tmp_path / "metrics.jsonl"
    file = _opened(path, 0)
    for step in (2, 4, 6):
        file.write({"step": step})
    _opened(path, 4).write({"step": 5})
    assert _lines(path) == [2, 4, 5]
    _opened(path, 0)
    assert _lines(path) == []


@pytest.mark.parametrize("end", [b'{"step": 4', b'{"step": 4}', b"\0\xff\n", b"[]\n"])
def test_what_a_crash_left_goes(tmp_path, end):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"step": 2}\n' + end)
    _opened(path, 9).write({"step": 10})
    assert _lines(path) == [2, 10]


def test_the_lines_before_survive_a_kill_while_cutting(tmp_path, monkeypatch):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 2}\n{"step": 4}\n')

    def kill(content, step):
        raise KeyboardInterrupt

    monkeypatch.setattr("iclab.training._metrics._length_until", kill)
    with pytest.raises(KeyboardInterrupt):
        _opened(path, 2)
    assert _lines(path) == [2, 4]


def test_a_full_disk_leaves_no_half_line(tmp_path, monkeypatch):
    path = tmp_path / "metrics.jsonl"
    file = _opened(path, 0)
    file.write({"step": 2})

    class Full:
        """A file of which only the first bytes reach the disk."""

        def __init__(self, path, mode):
            self.file = open(path, mode)  # noqa: SIM115

        def __enter__(self):
            return self

        def write(self, content):
            self.file.write(content[:5])

        def __exit__(self, *error):
            self.file.close()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("iclab.training._metrics.open_plain", Full)
    with pytest.raises(OSError, match="No space left"):
        file.write({"step": 4})
    monkeypatch.undo()
    file.write({"step": 6})
    assert _lines(path) == [2, 6]
