"""`iclab verify`: a sample of a folder is run again, and a forged one is found out."""

import hashlib
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from iclab._files import signed
from iclab.cli import main
from tests.cli import cheap

CLAIM, FIGURE = "zhang2023/quick-0", cheap.FIGURE


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Two claims and a figure, reproduced: the folder of all tests."""
    place = tmp_path_factory.mktemp("made")
    cheap.write_items(place, 2, figure=True)
    words = ("reproduce", "--scale", "smoke", "--seed", "3", "--out", "out")
    done = cheap.run(place, *words, "--jobs", "1", cwd=place)
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture
def folder(made, tmp_path) -> Path:
    shutil.copytree(made, tmp_path / "copy")
    return tmp_path / "copy"


def _verify(folder: Path, *words: str) -> Any:
    return cheap.run(folder, "verify", "out", "--jobs", "1", *words, cwd=folder)


def _forge(folder: Path, id: str, edit: Callable[[dict[str, Any]], Any]) -> None:
    """Edit a record and sign it again, as anyone can."""
    path = folder / "out" / "results.json"
    run = json.loads(path.read_text())
    for place, record in enumerate(run["results"]):
        if record["id"] == id:
            edit(record)
            run["results"][place] = signed(record)
    path.write_text(json.dumps(run))


def _contents(folder: Path) -> dict[Path, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {p: p.read_bytes() for p in files if "__pycache__" not in p.parts}


def test_what_was_run_is_run_again_and_agrees(folder, tmp_path):
    before, scratch = _contents(folder), tmp_path / "scratch"
    scratch.mkdir()
    words = ("verify", "out", "--jobs", "1", "--seed", "5")
    env = cheap.environment(TMPDIR=str(scratch))
    done = cheap.run(folder, *words, cwd=folder, env=env)
    assert done.returncode == 0, done.stderr
    head, *lines, end = done.stdout.splitlines()
    assert head == "ran 3 items of 3 again, drawn with --seed 5"
    assert [line.split()[:2] for line in lines] == [
        ["agrees", id] for id in ("zhang2023/quick-0", "zhang2023/quick-1", FIGURE)
    ]
    assert all(" (smoke, seed 3, " in line for line in lines)
    assert end == "3 of 3 agree, 0 differ"
    assert done.stderr == ""
    assert _contents(folder) == before
    assert not list(scratch.iterdir())


def _measured(record):
    record["cases"][0]["measured"] = 1.35
    record["cases"][0]["predicted"] = 1.0
    record["cases"][0]["error"] = 0.4
    record["cases"][0]["decoy"] = 2.0


def _predicted(record):
    record["cases"][0]["predicted"] = 1.05


def _figure_value(record):
    record["evidence"][0]["value"] = 3.0


@pytest.mark.everything
@pytest.mark.parametrize(
    ("id", "edit", "said"),
    [
        (CLAIM, _measured, "has error bars more than twofold apart"),
        (CLAIM, _predicted, "has `predicted` 1.05, and today 1"),
        (FIGURE, _figure_value, "The lines rise: 3, and now 1 (no error bar)"),
    ],
    ids=["measured", "predicted", "figure"],
)
def test_a_forged_record_is_named(folder, id, edit, said):
    _forge(folder, id, edit)
    done = _verify(folder, "--json")
    assert done.returncode == 1
    items = {one["id"]: one for one in json.loads(done.stdout)}
    assert [name for name, one in items.items() if not one["agrees"]] == [id]
    assert said in " ".join(items[id]["differences"])
    done = _verify(folder, "--items", "10")
    assert done.returncode == 1
    assert f"differs  {id} (smoke, seed 3, " in done.stdout
    assert done.stdout.endswith("2 of 3 agree, 1 differ\n")


def test_forged_results_in_the_store_are_named(folder):
    out = folder / "out"
    run = json.loads((out / "results.json").read_text())
    (figure,) = [one for one in run["results"] if one["id"] == FIGURE]
    for path in (out / "store").glob("??/*/manifest.json"):
        manifest = json.loads(path.read_text())
        if manifest["label"] == CLAIM:
            manifest["values"]["cases"][0]["predicted"] = 1.05
        elif manifest["digest"] == figure["jobs"]["b"]:
            packed = io.BytesIO()
            np.savez(packed, x=np.array([1.0, 2.0, 9.0]))
            checksum = hashlib.sha256(packed.getvalue()).hexdigest()
            name = f"arrays-{checksum[:16]}.npz"
            (path.parent / name).write_bytes(packed.getvalue())
            manifest["arrays"] = {"file": name, "sha256": checksum}
        path.write_text(json.dumps(signed(manifest)))
    done = _verify(folder)
    assert done.returncode == 1
    assert "in the store: the case 'only' has `predicted` 1.05, and t" in done.stdout
    assert "in the store: b, x [2]: 9, and now 3 (2 of the col" in done.stdout
    assert done.stdout.endswith("1 of 3 agree, 2 differ\n")


def test_what_cannot_be_run_again_does_not_agree(folder, tmp_path):
    """Nor may the folder that is looked at name code to run."""
    trace = tmp_path / "trace"
    path = folder / "out" / "results.json"
    run = json.loads(path.read_text())
    stranger = {**run["results"][0], "id": "evil/theorem-1"}
    run["results"] = [signed(stranger), *run["results"][1:]]
    run["results"][1]["seconds"] += 1  # not signed again
    path.write_text(json.dumps(run))
    (folder / "evil").mkdir()
    attack = f"open({str(trace)!r}, 'w')"
    (folder / "evil" / "contents.py").write_text(attack)
    (folder / "evil" / "__init__.py").write_text(attack)
    done = _verify(folder)
    assert done.returncode == 1
    assert "evil/theorem-1 is in no paper that is open here" in done.stderr
    assert "(zhang2023/quick-1) is left out: it was altered" in done.stderr.replace(
        "'", ""
    )
    assert done.stdout.startswith("ran 1 item of 1 again")
    assert not trace.exists()


def test_settings_that_an_item_does_not_have_differ(folder):
    _forge(folder, FIGURE, lambda record: record.update(settings={"colour": "red"}))
    done = _verify(folder)
    assert done.returncode == 1
    assert f"differs  {FIGURE} " in done.stdout
    assert "colour" in done.stdout
    assert done.stdout.endswith("2 of 3 agree, 1 differ\n")


def test_the_seed_draws(folder):
    drawn = [
        json.loads(_verify(folder, "--items", "1", "--seed", seed, "--json").stdout)
        for seed in ("1", "1", "0")
    ]
    assert drawn[0] == drawn[1]
    assert {one["id"] for (one,) in drawn} == {"zhang2023/quick-0", FIGURE}


def test_mistakes_are_one_line(tmp_path, capsys):
    assert main(["verify", str(tmp_path)]) == 2
    assert f"no results in {tmp_path}" in capsys.readouterr().err
    with pytest.raises(SystemExit) as left:
        main(["verify", str(tmp_path), "--items", "0"])
    assert left.value.code == 2
    assert "must be a whole number ≥ 1, got '0'" in capsys.readouterr().err
    (tmp_path / "results.json").write_text('{"format": 2, "results": []}')
    assert main(["verify", str(tmp_path)]) == 2
    assert f"nothing in {tmp_path} can be run again" in capsys.readouterr().err
