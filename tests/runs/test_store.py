"""Results on disk: whole or not there, whatever happens."""

import errno
import hashlib
import io
import json
import os
import socket
import stat
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest

from iclab._files import signed
from iclab.runs import EngineProblem, Job, Outcome, Store, run_jobs

ROOT = Path(__file__).parents[2]


def _job(name="square", seed=0, **config):
    return Job(f"tests.runs.work:{name}", config, seed)


def _files(folder):
    return {p.relative_to(folder) for p in folder.rglob("*") if p.is_file()}


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


def test_any_name_and_shape_survives(tmp_path):
    store, job = Store(tmp_path), _job(n=1)
    result = {
        "file": np.float64(np.nan),
        "a b/ü": np.zeros((0, 2), np.float32),
        "text": np.array("words"),
        "empty": {},
        "nested": [1, {"x": None}],
    }
    store.save(job, result, 0.1)
    loaded = store.load(job)
    assert list(loaded) == [*["empty", "nested"], *["file", "a b/ü", "text"]]
    assert np.isnan(loaded["file"])
    assert loaded["a b/ü"].shape == (0, 2)
    assert loaded["a b/ü"].dtype == np.float32
    assert str(loaded["text"]) == "words"
    assert loaded["nested"] == [1, {"x": None}]


def test_second_save_keeps_the_first_unless_it_replaces(tmp_path):
    store, job = Store(tmp_path), _job(n=4)
    store.save(job, {"note": "first"}, 0.1)
    store.save(job, {"note": "second"}, 0.1)
    assert store.load(job) == {"note": "first"}
    store.save(job, {"note": "third", "x": np.ones(2)}, 0.1, replace=True)
    assert store.load(job)["note"] == "third"
    store.save(job, {"note": "fourth", "x": np.zeros(2)}, 0.1, replace=True)
    np.testing.assert_array_equal(store.load(job)["x"], [0, 0])
    assert not list((tmp_path / "drafts").iterdir())


def test_a_replaced_result_is_whole_at_every_moment(tmp_path):
    store, job = Store(tmp_path), _job(n=4)
    store.save(job, {"number": 0, "x": np.zeros(100)}, 0.1)
    stop, found = threading.Event(), []

    def read():
        while not stop.is_set():
            result = store.load(job)
            found.append(np.all(result["x"] == result["number"]))

    reader = threading.Thread(target=read)
    reader.start()
    old = next(store.folder(job).glob("arrays-*.npz"))
    os.utime(old, (0, 0))
    for number in range(1, 30):
        result = {"number": number, "x": np.full(100, number)}
        store.save(job, result, 0.1, replace=True)
    stop.set()
    reader.join()
    assert found
    assert all(found)
    assert not old.exists()


def test_half_a_result_is_not_there(tmp_path):
    store, job = Store(tmp_path), _job(n=4)
    folder = store.folder(job)
    folder.mkdir(parents=True)
    (folder / "arrays-0.npz").write_bytes(b"half")
    assert not store.has(job)
    with pytest.raises(LookupError, match=r"no result of tests\.runs\.work:square"):
        store.load(job)


def _truncate(path):
    path.write_bytes(path.read_bytes()[:-7])


def _flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("pattern", "damage"),
    [
        ("arrays-*.npz", _truncate),
        ("arrays-*.npz", _flip),
        ("arrays-*.npz", Path.unlink),
        ("manifest.json", _truncate),
        ("manifest.json", lambda path: path.write_text("[]")),
        ("manifest.json", lambda path: path.write_bytes(bytes(100))),
    ],
)
def test_a_damaged_result_is_run_anew(tmp_path, pattern, damage):
    store, job = Store(tmp_path), _job(n=4)
    store.save(job, {"values": np.zeros(4)}, 0.1)
    (path,) = store.folder(job).glob(pattern)
    damage(path)
    assert not store.has(job)
    *_, outcome = run_jobs([job], store=store)
    assert isinstance(outcome, Outcome)
    assert not outcome.from_store
    np.testing.assert_array_equal(store.load(job)["values"], [0, 1, 4, 9])


def _member(shape, dtype="<f8", data=b""):
    """An array's file whose header says what it likes."""
    file = io.BytesIO()
    header = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + data


def _archive(*members, kind=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", kind) as archive:
        for place, member in enumerate(members):
            archive.writestr(f"x{place}.npy", member)
    return file.getvalue()


def _overlapping():
    """A hundred names for the same bytes."""
    packed = _archive(_member((4000,), data=bytes(32000)))
    with zipfile.ZipFile(file := io.BytesIO(packed), "a") as archive:
        archive.filelist *= 100
        archive.comment = b"so that the names are written again"
    return file.getvalue()


@pytest.mark.parametrize(
    "packed",
    [
        _archive(_member((10**12,))),
        _archive(_member((10**12,), data=bytes(80))),
        _archive(_member((10**6, 10**6), "|b1", bytes(80))),
        _archive(_member((2**62, 2**62), data=bytes(80))),
        _archive(_member((10**12,), "<U0")),
        _archive(_member((10**7,), data=bytes(80_000_000)), kind=zipfile.ZIP_DEFLATED),
        _overlapping(),
    ],
    ids=["empty", "short", "square", "endless", "no bytes", "compressed", "overlap"],
)
def test_a_header_cannot_claim_more_than_its_file_holds(tmp_path, packed):
    store, job = Store(tmp_path), _job(n=4)
    store.save(job, {"values": np.zeros(4)}, 0.1)
    # A stranger's file, with checksums as they should be.
    checksum = hashlib.sha256(packed).hexdigest()
    name = f"arrays-{checksum[:16]}.npz"
    (store.folder(job) / name).write_bytes(packed)
    manifest = store.manifest(job) | {"arrays": {"file": name, "sha256": checksum}}
    (store.folder(job) / "manifest.json").write_text(json.dumps(signed(manifest)))
    assert not store.has(job)
    assert "is not used: a header claims" in store.problems[0]
    *_, outcome = run_jobs([job], store=store)
    assert isinstance(outcome, Outcome)
    assert not outcome.from_store
    np.testing.assert_array_equal(store.load(job)["values"], [0, 1, 4, 9])


def test_no_memory_is_damage_like_the_rest(tmp_path, monkeypatch):
    store, job = Store(tmp_path), _job(n=4)
    store.save(job, {"values": np.zeros(4)}, 0.1)

    def read_array(*_, **__):
        raise MemoryError("not so much")

    monkeypatch.setattr(np.lib.format, "read_array", read_array)
    assert store.find(job) is None
    assert store.problems[0].endswith("is not used: not so much")


def test_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    store, job = Store(tmp_path), _job(n=4)
    before = _files(tmp_path)

    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        store.save(job, job.run(), 0.1)
    assert not store.has(job)
    assert _files(tmp_path) == before


def _full(call):
    """A disk that is full from the `call`-th write on."""
    calls, flush = [], os.fsync

    def fsync(descriptor):
        calls.append(descriptor)
        if len(calls) >= call:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        flush(descriptor)

    return fsync


@pytest.mark.parametrize("call", [1, 2])
def test_a_full_disk_is_one_line_and_keeps_what_is_there(tmp_path, monkeypatch, call):
    store, kept, job = Store(tmp_path), _job(n=2), _job(n=4)
    store.save(kept, kept.run(), 0.1)
    monkeypatch.setattr(os, "fsync", _full(call))
    expected = f"^cannot write to {tmp_path}: No space left on device$"
    with pytest.raises(EngineProblem, match=expected):
        list(run_jobs([kept, job], store=store))
    monkeypatch.undo()
    assert store.has(kept)
    assert not store.has(job)
    assert not list((tmp_path / "drafts").iterdir())
    store.save(job, job.run(), 0.1)
    assert store.has(job)


def test_a_full_disk_at_a_failure(tmp_path, monkeypatch):
    store = Store(tmp_path)
    monkeypatch.setattr(os, "fsync", _full(1))
    with pytest.raises(EngineProblem, match="No space left on device"):
        list(run_jobs([_job("fail")], store=store))
    assert store.failure(_job("fail")) is None


def test_a_write_that_the_system_cuts_short(tmp_path):
    """A real limit on the size of files, in a process of its own."""
    script = (
        "import resource, sys\n"
        "import numpy as np\n"
        "from iclab.runs import EngineProblem, Job, Store\n"
        "store, job = Store(sys.argv[1]), Job('tests.runs.work:square', {'n': 1})\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        "try:\n"
        "    store.save(job, {'x': np.zeros(10_000)}, 0.1)\n"
        "except EngineProblem as problem:\n"
        "    print(problem)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert done.stdout == f"cannot write to {tmp_path}: File too large\n"
    assert _files(tmp_path) == {Path("FORMAT")}


def test_unwritable_store_is_found_at_once(tmp_path, monkeypatch):
    file = tmp_path / "a file"
    file.write_text("")
    with pytest.raises(EngineProblem, match=r"a file: it is not a folder$"):
        Store(file)
    with pytest.raises(EngineProblem, match=r"a file/store: Not a directory$"):
        Store(file / "store")
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(stat.S_IRUSR | stat.S_IXUSR)
    if os.access(locked, os.W_OK):  # as root
        denied = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        monkeypatch.setattr(os, "mkdir", lambda *args, **kwargs: _raise(denied))
    with pytest.raises(EngineProblem, match=r"/locked: Permission denied$"):
        Store(locked)
    with pytest.raises(EngineProblem, match=r"/locked/store: Permission denied$"):
        Store(locked / "store")


def _raise(error):
    raise error


def test_a_store_says_its_format(tmp_path):
    Store(tmp_path / "store")
    assert (tmp_path / "store" / "FORMAT").read_text() == "2\n"
    Store(tmp_path / "store")


@pytest.mark.parametrize(
    ("marker", "said"),
    [("1\n", "1"), ("3\n", "3"), ("", "unknown"), ("a\nb" * 99, "a"), (None, "1")],
)
def test_a_store_of_another_format_is_left_alone(tmp_path, marker, said):
    if marker is None:  # the first format had no marker
        old = tmp_path / "ab" / "abcdef" / "manifest.json"
        old.parent.mkdir(parents=True)
        old.write_text("{}")
        (tmp_path / ".draft-x").mkdir()
    else:
        (tmp_path / "FORMAT").write_text(marker)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(EngineProblem) as problem:
        Store(tmp_path)
    assert str(problem.value) == (
        f"{tmp_path} holds results in format {said}, and this iclab writes format 2: "
        "choose another folder"
    )
    assert sorted(tmp_path.rglob("*")) == before


def test_drafts_of_the_dead_are_removed_when_old(tmp_path):
    Store(tmp_path)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    here, drafts = socket.gethostname(), tmp_path / "drafts"
    names = {
        "dead": f"{here}+{ended.pid}+x1234567",
        "elsewhere": f"another.host+{os.getpid()}+x1234567",
        "alive": f"{here}+{os.getpid()}+x1234567",
        "young": f"{here}+{ended.pid}+y1234567",
    }
    for name in names.values():
        (drafts / name).mkdir()
        (drafts / name / ".arrays.npz.01234567.draft").write_bytes(b"half")
    for key in ("dead", "elsewhere", "alive"):
        os.utime(drafts / names[key], (0, 0))
    Store(tmp_path)
    left = {path.name for path in drafts.iterdir()}
    assert left == {names["alive"], names["young"]}


def test_a_failure_is_kept_until_the_job_succeeds(tmp_path):
    store, job = Store(tmp_path), _job("fail")
    assert store.failure(job) is None
    for _ in range(2):
        *_, outcome = run_jobs([job], store=store)
        assert isinstance(outcome, Outcome)
        assert not outcome.from_store
        assert store.failure(job) == outcome.error
    assert not store.has(job)
    (path,) = (tmp_path / "failures").iterdir()
    assert path.name == f"{job.digest}.json"
    found = json.loads(path.read_text())
    assert found["function"] == job.function
    path.write_text(json.dumps({**found, "error": "another"}))
    assert store.failure(job) is None
    store.save(job, {"note": "well"}, 0.1)
    assert store.failure(job) is None


def test_two_processes_save_the_same_job_at_once(tmp_path):
    script = (
        "import sys\n"
        "import numpy as np\n"
        "from iclab.runs import Job, Store\n"
        "store, job = Store(sys.argv[1]), Job('tests.runs.work:square', {'n': 1})\n"
        "for number in range(40):\n"
        "    x = np.full(1000, float(sys.argv[2]) + number)\n"
        "    store.save(job, {'x': x, 'first': x[0].item()}, 0.1, replace=True)\n"
        "    found = store.load(job)\n"
        "    assert np.all(found['x'] == found['first'])\n"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path), start],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
        )
        for start in ("0", "1000")
    ]
    for process in processes:
        assert process.communicate(timeout=120)[1] == ""
        assert process.returncode == 0
    assert Store(tmp_path).has(_job(n=1))
    assert not list((tmp_path / "drafts").iterdir())
