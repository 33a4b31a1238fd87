"""`iclab record` writes over nothing but records, and loses nothing."""

import errno
import json
import os
import shutil
from pathlib import Path

import pytest

from iclab.cli import main
from iclab.results import NotARecord, keep_record, read_run
from tests.report import example

_RECORDS = Path(__file__).parents[2] / "records"


@pytest.fixture
def folder(tmp_path):
    return example.write_results(tmp_path / "out")


@pytest.fixture
def kept(folder, tmp_path):
    """A record of the folder."""
    assert main(["record", str(folder), str(tmp_path / "kept")]) == 0
    return tmp_path / "kept"


def _contents(folder: Path) -> dict[str, bytes | str]:
    """Everything in a folder; of links, where they lead."""
    return {
        str(path.relative_to(folder)): os.readlink(path)
        if path.is_symlink()
        else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def _refused(capsys, source: Path, place: Path | str) -> str:
    assert main(["record", str(source), str(place)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error.rstrip("\n")


def test_a_record_replaces_a_record_and_leaves_nothing_beside_it(folder, kept):
    before = _contents(kept)
    shutil.rmtree(folder / "report", ignore_errors=True)
    assert main(["record", str(folder), str(kept)]) == 0
    assert _contents(kept).keys() == before.keys()
    assert {path.name for path in kept.parent.iterdir()} == {"out", "kept"}
    assert json.loads((kept / "manifest.json").read_text())["files"].keys() == {
        "results.json",
        "figures/ahn2023/figure-1.svg",
        "figures/ahn2023/figure-1.csv",
    }


def test_an_empty_folder_is_a_place(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    assert main(["record", str(folder), str(tmp_path / "empty")]) == 0
    assert read_run(tmp_path / "empty").records


def test_a_folder_with_another_manifest_is_left_alone(folder, tmp_path, capsys):
    trained = tmp_path / "trained"
    for name in ("model.safetensors", "manifest.json", ".git/config"):
        (trained / name).parent.mkdir(parents=True, exist_ok=True)
        (trained / name).write_text('{"settings": {}}')
    before = _contents(trained)
    error = _refused(capsys, folder, trained)
    assert "holds something else than a record" in error
    assert _contents(trained) == before


@pytest.mark.parametrize(
    "name",
    ["notes.md", "figures/mine.svg", ".git/config", "figures/ahn2023/link", "empty"],
)
def test_a_file_that_the_record_does_not_list_stays(
    folder, kept, tmp_path, capsys, name
):
    (tmp_path / "precious").write_text("years of work")
    (kept / name).parent.mkdir(exist_ok=True)
    if name == "empty":
        (kept / name).mkdir()
    elif name.endswith("link"):
        (kept / name).symlink_to(tmp_path / "precious")
    else:
        (kept / name).write_text("mine")
    before = _contents(kept)
    error = _refused(capsys, folder, kept)
    assert f"{kept / name} is not of the record: move it away" in error
    assert _contents(kept) == before
    assert (kept / name).is_dir() == (name == "empty")
    assert (tmp_path / "precious").read_text() == "years of work"


def test_a_file_of_the_record_that_was_changed_stays(folder, kept, capsys):
    name = "figures/ahn2023/figure-1.csv"
    (kept / name).write_text("a column of my own")
    before = _contents(kept)
    assert f"{kept / name} was changed: move it away" in _refused(capsys, folder, kept)
    assert _contents(kept) == before


@pytest.mark.parametrize("change", ["format", "sha256", "files"])
def test_a_manifest_must_be_signed(folder, kept, capsys, change):
    manifest = json.loads((kept / "manifest.json").read_text())
    del manifest[change]
    (kept / "manifest.json").write_text(json.dumps(manifest))
    before = _contents(kept)
    assert "holds something else than a record" in _refused(capsys, folder, kept)
    assert _contents(kept) == before


def test_a_link_is_not_followed(folder, kept, tmp_path, capsys):
    before = _contents(kept)
    (tmp_path / "link").symlink_to(kept)
    assert "is a symbolic link" in _refused(capsys, folder, tmp_path / "link")
    (tmp_path / "nowhere").symlink_to(tmp_path / "none")
    assert "is a symbolic link" in _refused(capsys, folder, tmp_path / "nowhere")
    assert _contents(kept) == before
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("place", ["kept", "kept/inside", ".", "link", "kept/../kept"])
def test_source_and_place_are_apart(kept, tmp_path, capsys, place):
    (tmp_path / "link").symlink_to(kept)
    before = _contents(tmp_path)
    source = tmp_path / "link" if place == "kept" else kept
    for one in (kept, source):
        error = _refused(capsys, one, f"{tmp_path}/{place}")
        assert "must be apart from it" in error
    assert _contents(tmp_path) == before


def test_a_file_is_no_place(folder, tmp_path, capsys):
    (tmp_path / "file").write_text("mine")
    assert "is a file" in _refused(capsys, folder, tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_the_older_record_stays_if_the_new_one_cannot_be_written(
    folder, kept, monkeypatch
):
    before = _contents(kept)

    def full(place, name, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("iclab.results._keep.write_inside", full)
    assert main(["record", str(folder), str(kept)]) == 2
    assert _contents(kept) == before
    assert {path.name for path in kept.parent.iterdir()} == {"out", "kept"}


def test_the_older_record_comes_back_if_the_new_one_cannot_be_moved(
    folder, kept, monkeypatch
):
    before, rename = _contents(kept), Path.rename

    def broken(path, target):
        if path.name.endswith(".draft"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", broken)
    assert main(["record", str(folder), str(kept)]) == 2
    assert _contents(kept) == before
    assert {path.name for path in kept.parent.iterdir()} == {"out", "kept"}


def test_what_no_checksum_vouches_for_is_not_kept(folder, tmp_path):
    (folder / "figures/ahn2023/figure-1.svg").write_text("<svg/>")
    manifest = keep_record(read_run(folder), tmp_path / "kept", [])
    assert manifest["left_out"] == ["figures/ahn2023/figure-1.svg (altered)"]
    (folder / "figures/ahn2023/figure-1.json").unlink()
    manifest = keep_record(read_run(folder), tmp_path / "other", [])
    assert manifest["left_out"] == [
        "figures/ahn2023/figure-1.svg (no checksum)",
        "figures/ahn2023/figure-1.csv (no checksum)",
    ]


def test_what_is_left_out_is_said(folder, tmp_path, capsys):
    example.edit(folder, lambda one: one.update(verdict="fails"), example.HOLDS)
    assert main(["record", str(folder), str(tmp_path / "kept")]) == 0
    assert f"('{example.HOLDS}') is left out" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["desk", "desk-seeds", "paper", "larger-gpt2"])
def test_the_records_of_the_repository_can_be_replaced(folder, tmp_path, name):
    copy = tmp_path / "copy"
    shutil.copytree(_RECORDS / name, copy, ignore=shutil.ignore_patterns("report"))
    (copy / ".lock").write_bytes(b"")  # which reading it leaves there
    assert main(["record", str(folder), str(copy)]) == 0
    assert set(read_run(copy).records) == {one["id"] for one in example.records()}


def test_a_copy_of_a_record_is_a_folder_of_results_and_no_record(kept, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(kept, copy)
    assert main(["report", str(copy)]) == 0
    assert (copy / "report/figures/ahn2023/figure-1.svg").is_file()
    with pytest.raises(NotARecord, match=r"report/.* is not of the record"):
        keep_record(read_run(kept), copy, [])
