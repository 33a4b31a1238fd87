"""Folders of results that someone else has made, or has changed."""

import functools
import importlib
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from iclab import cli, papers
from iclab._files import signed
from iclab.evidence import Claim, Measured
from iclab.results import NoResults, load
from iclab.runs import here
from tests.report import example

QUICK = "zhang2023/section-5.1-determinant"
main = functools.partial(cli.main, engine=here)  # the work is done in this process
RUN = ("reproduce", QUICK, "--scale", "smoke", "--out")
CHECK = ("check", QUICK, "--scale", "smoke", "--out")
SECRET = '<svg xmlns="http://www.w3.org/2000/svg">secret</svg>'


@pytest.fixture
def quick(monkeypatch, tmp_path_factory):
    """Replace the claim behind QUICK by one that takes no time, or that stops."""
    # What it predicts is nobody else's business.
    monkeypatch.setenv("ICLAB_CACHE", str(tmp_path_factory.mktemp("cache")))

    def use(raises: str | None = None):
        def measure(case, key, scale):
            if raises:
                raise RuntimeError(raises)
            return Measured(1.0, 0.1, "because")

        claim = Claim(
            QUICK,
            lambda scale: {"only": 0},
            lambda case: 1.0,
            measure,
            lambda case: 2.0,
        )
        (entry,) = papers.select([QUICK])
        module = importlib.import_module(papers.module_name(entry))
        monkeypatch.setattr(module, "CLAIM", claim, raising=False)

    use()
    return use


@pytest.fixture
def folder(tmp_path):
    return example.write_results(tmp_path / "out")


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret.svg"
    path.write_text(SECRET)
    path.chmod(0o600)
    os.utime(path, (0, 0))
    return path


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _listed(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if "report" not in path.parts}


def _edit(path: Path, **change: Any) -> None:
    found = json.loads(path.read_text())
    path.write_text(json.dumps({**found, **change}))


def _name_files(folder: Path, *names: str) -> None:
    example.edit(folder, lambda one: one.update(files=list(names)), example.FIGURE)


def _untouched(secret: Path, folder: Path) -> None:
    assert secret.read_text() == SECRET
    assert _mode(secret) == 0o600
    assert secret.stat().st_mtime == 0
    copies = [p for p in folder.rglob("*") if p.is_file() and not p.is_symlink()]
    assert not [path for path in copies if b">secret<" in path.read_bytes()]


@pytest.mark.parametrize(
    "name",
    [
        "../secret.svg",
        "{secret}",
        "figures/../../secret.svg",
        "figures/ahn2023/../../../secret.svg",
        "figures/ahn2023/figure-1.svg/../../../../secret.svg",
    ],
)
def test_a_report_stays_in_its_folder(folder, secret, tmp_path, capsys, name):
    _name_files(folder, name.format(secret=secret))
    before = _listed(tmp_path)
    assert main(["report", str(folder)]) == 0
    _untouched(secret, folder)
    assert _listed(tmp_path) - before <= {folder / ".lock"}
    error = capsys.readouterr().err
    assert "(ahn2023/figure-1) is left out: `files` must be figures/" in error.replace(
        "'", ""
    )
    page = (folder / "report" / "zhang2023.html").read_text("utf-8")
    assert "W_KQ" in page or "case" in page  # the others live


@pytest.mark.parametrize("name", ["figures/ahn2023/figure-2.svg", "results.json"])
def test_files_of_others_are_no_ones(folder, capsys, name):
    _name_files(folder, name)
    assert main(["report", str(folder)]) == 0
    assert "`files` must be figures/ahn2023/figure-1" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["figures", "figures/ahn2023", "the file"])
def test_no_link_leads_in(folder, secret, tmp_path, capsys, place):
    name = "figures/ahn2023/figure-1.svg"
    link = folder / (name if place == "the file" else place)
    if place == "the file":
        link.unlink()
        link.symlink_to(secret)
    else:
        elsewhere = tmp_path / "elsewhere"
        link.rename(elsewhere)
        (elsewhere / Path(name).relative_to(place)).write_text(SECRET)
        link.symlink_to(elsewhere)
    assert main(["report", str(folder)]) == 0
    copies = [p for p in (folder / "report").rglob("*") if p.is_file()]
    assert not [path for path in copies if b">secret<" in path.read_bytes()]
    (error,) = capsys.readouterr().err.splitlines()
    assert "is a symbolic link" in error
    assert error.endswith("left out")


@pytest.mark.parametrize("name", ["report", "report/figures", ".lock"])
def test_no_link_leads_out(folder, tmp_path, capsys, name):
    elsewhere = tmp_path / "elsewhere"
    if name != ".lock":
        elsewhere.mkdir()
        (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).symlink_to(elsewhere)
    assert main(["report", str(folder)]) == 2
    if name == ".lock":
        assert not elsewhere.exists()
    else:
        assert not list(elsewhere.iterdir())
    error = capsys.readouterr().err
    assert error.endswith(f"{folder / name} is a symbolic link\n")


def test_a_link_that_waits_for_a_draft_is_not_followed(folder, secret):
    assert main(["report", str(folder)]) == 0
    for name in ("report/.index.html.draft", ".results.json.draft"):
        (folder / name).symlink_to(secret)
    assert main(["report", str(folder)]) == 0
    assert secret.read_text() == SECRET


def test_a_link_in_the_place_of_the_store(tmp_path, quick, capsys):
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    out.mkdir()
    elsewhere.mkdir()
    (out / "store").symlink_to(elsewhere)
    assert main([*RUN, str(out)]) == 2
    assert not list(elsewhere.iterdir())
    assert capsys.readouterr().err.endswith("store is a symbolic link\n")


def test_results_that_are_a_link_are_not_read(folder, tmp_path, capsys):
    (folder / "results.json").rename(tmp_path / "results.json")
    (folder / "results.json").symlink_to(tmp_path / "results.json")
    assert main(["report", str(folder)]) == 2
    assert "is a symbolic link" in capsys.readouterr().err


def test_files_keep_their_modes(folder, quick):
    private = ["figures/ahn2023/figure-1.svg", "results.json"]
    for name in private:
        (folder / name).chmod(0o600)
    assert main(["report", str(folder)]) == 0
    assert {_mode(folder / "report" / name) for name in private} == {0o600}
    assert main([*RUN, str(folder)]) == 0
    assert _mode(folder / "results.json") == 0o600


def _manifest(out: Path) -> Path:
    (path,) = out.glob("**/manifest.json")
    return path


def _resigned(path: Path, **change: Any) -> None:
    path.write_text(json.dumps(signed({**json.loads(path.read_text()), **change})))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"values": {"verdict": "fails"}}, "its checksum does not match"),
        ({"seconds": 0.25}, "its checksum does not match"),
        ({"finished": None}, "its checksum does not match"),
        ({"sha256": "0" * 64}, "its checksum does not match"),
    ],
)
def test_an_edited_result_is_found_out(tmp_path, quick, capsys, change, reason):
    assert main([*CHECK, str(tmp_path)]) == 0
    _edit(_manifest(tmp_path), **change)
    capsys.readouterr()
    for there in (False, True):
        assert main([*CHECK, str(tmp_path)]) == 0
        out, error = capsys.readouterr()
        assert (", cached" in out) == there
        said = f"is not used: it was altered: {reason}; computed again"
        assert (said in error) != there


@pytest.mark.parametrize(
    "change",
    [
        {"values": {}},
        {"values": []},
        {"values": {"verdict": "holds", "cases": [], "seconds": 1.0}},
        {"finished": "some day"},
        {"versions": {}},
        {"commit": 1},
        {"arrays": {"file": "../../../../x.npz", "sha256": "0" * 64}},
        {"arrays": {"file": 1}},
        {"digest": "0" * 64},
        {"seconds": "a while"},
    ],
    ids=str,
)
def test_keys_that_cannot_be_are_computed_again(tmp_path, quick, capsys, change):
    """Whoever forges a checksum too comes no further than this."""
    assert main([*CHECK, str(tmp_path)]) == 0
    _resigned(_manifest(tmp_path), **change)
    capsys.readouterr()
    for there in (False, True):
        assert main([*CHECK, str(tmp_path)]) == 0
        out, error = capsys.readouterr()
        assert (", cached" in out) == there
        assert ("is not used" in error) != there


def _forged(path: Path, **case: Any) -> None:
    """Change the only case of a stored claim, and sign it again."""
    values = json.loads(path.read_text())["values"]
    (only,) = values["cases"]
    _resigned(path, values={**values, "cases": [{**only, **case}]})


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ({"case": "other"}, "its cases are not those that the claim has today: with"),
        ({"relation": ">="}, "has the relation >=, and today ="),
        ({"predicted": 1.05}, "has `predicted` 1.05, and today 1"),
        ({"predicted": [1.0]}, "has `predicted` of shape (1,), and today of ()"),
        ({"decoy": 3.0}, "has `decoy` 3, and today 2"),
        ({"measured": 1.04, "predicted": 1.04}, "has `predicted` 1.04, and today 1"),
    ],
    ids=str,
)
@pytest.mark.parametrize("cache", ["warm", "cold"])
def test_a_claim_predicts_what_it_does_today(
    tmp_path, quick, capsys, monkeypatch, case, reason, cache
):
    """Numbers that agree with one another are not those of the claim."""
    out = tmp_path / "out"
    assert main([*CHECK, str(out)]) == 0
    _forged(_manifest(out), **case)
    if cache == "cold":  # a folder from elsewhere: nothing is known of the claim here
        monkeypatch.setenv("ICLAB_CACHE", str(tmp_path / "cache"))
    capsys.readouterr()
    for there in (False, True):
        assert main([*CHECK, str(out)]) == 0
        words, error = capsys.readouterr()
        assert (", cached" in words) == there
        assert (reason in error) != there
        assert ("; computed again" in error) != there


def test_an_honest_folder_from_elsewhere_is_believed(
    tmp_path, quick, capsys, monkeypatch
):
    out = tmp_path / "out"
    assert main([*CHECK, str(out)]) == 0
    _forged(_manifest(out), predicted=1.0 + 1e-12)  # another machine's rounding
    monkeypatch.setenv("ICLAB_CACHE", str(tmp_path / "cache"))
    capsys.readouterr()
    said = "iclab check: computing, once, the predictions of 1 stored claim\n"
    for error in (said, ""):
        assert main([*CHECK, str(out)]) == 0
        found = capsys.readouterr()
        assert ", cached" in found.out
        assert found.err == error


def test_what_predicts_nothing_today_is_not_believed(
    tmp_path, quick, capsys, monkeypatch
):
    out = tmp_path / "out"
    assert main([*CHECK, str(out)]) == 0
    monkeypatch.setenv("ICLAB_CACHE", str(tmp_path / "cache"))

    def predict_claim(config, seed):
        raise RuntimeError("no idea")

    function = "iclab.papers._predictions.predict_claim"
    monkeypatch.setattr(function, predict_claim)
    capsys.readouterr()
    assert main([*CHECK, str(out)]) == 0
    words, error = capsys.readouterr()
    assert ", cached" not in words
    reason = "it predicts nothing: RuntimeError: no idea; computed again"
    assert f"is not used: {reason}" in error


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"function": "subprocess:call"},
            "its `function` is not that of the job that was planned",
        ),
        ({"config": {}}, "its `config` is not that of the job that was planned"),
        ({"seed": 7}, "its `seed` is not that of the job that was planned"),
        ({"finished": "2999-01-01T00:00:00Z"}, "2999-01-01T00:00:00Z is in the future"),
        ({"seconds": float("nan")}, "`seconds` must be a finite number ≥ 0"),
        ({"seconds": float("inf")}, "`seconds` must be a finite number ≥ 0"),
        ({"seconds": -1.0}, "`seconds` must be a finite number ≥ 0"),
        ({"cpu_seconds": -1.0}, "`cpu_seconds` must be a finite number ≥ 0"),
    ],
    ids=str,
)
def test_a_manifest_tells_of_the_job_and_of_times_that_can_be(
    tmp_path, quick, capsys, change, reason
):
    assert main([*CHECK, str(tmp_path)]) == 0
    _resigned(_manifest(tmp_path), **change)
    capsys.readouterr()
    for there in (False, True):
        assert main([*CHECK, str(tmp_path)]) == 0
        out, error = capsys.readouterr()
        assert (", cached" in out) == there
        assert (f"is not used: {reason}; computed again" in error) != there


def test_records_have_times_that_can_be(tmp_path, quick, capsys):
    assert main([*RUN, str(tmp_path)]) == 0
    path = tmp_path / "results.json"
    run = json.loads(path.read_text())
    run |= {"started": "2025-03-04T05:06:07Z", "finished": "2025-03-04T05:06:06Z"}
    run["results"][0] |= {"finished": "2999-01-01T00:00:00Z"}
    run["results"][0].pop("sha256")
    path.write_text(json.dumps(run | {"results": [signed(run["results"][0])]}))
    assert main(["report", str(tmp_path)]) == 0
    error = capsys.readouterr().err
    assert "`finished` must not be before `started`, got 2025-03-04T05:06:06Z" in error
    assert "and not in the future, got '2999-01-01T00:00:00Z'" in error


def test_a_result_without_a_key_is_computed_again(tmp_path, quick, capsys):
    assert main([*RUN, str(tmp_path)]) == 0
    path = _manifest(tmp_path)
    found = json.loads(path.read_text())
    path.write_text(json.dumps({n: v for n, v in found.items() if n != "finished"}))
    assert main([*RUN, str(tmp_path)]) == 0
    (record,) = json.loads((tmp_path / "results.json").read_text())["results"]
    assert record["verdict"] == "holds"
    assert "error" not in record


def test_an_error_replaces_no_result(tmp_path, quick, capsys):
    assert main([*RUN, str(tmp_path)]) == 0
    quick(raises="no")
    assert main([*RUN, str(tmp_path), "--force"]) == 1
    assert "undecided" in capsys.readouterr().out
    (record,) = json.loads((tmp_path / "results.json").read_text())["results"]
    assert record["verdict"] == "holds"
    assert record["later"]["error"].endswith("RuntimeError: no\n")
    page = (tmp_path / "report" / "zhang2023.html").read_text("utf-8")
    assert "A later run of it stopped with an error." in page
    assert main(["show", QUICK, "--out", str(tmp_path)]) == 0
    assert "a later run stopped: RuntimeError: no" in capsys.readouterr().out
    quick()
    assert main([*RUN, str(tmp_path), "--force"]) == 0
    (record,) = json.loads((tmp_path / "results.json").read_text())["results"]
    assert "later" not in record


def test_a_record_that_was_altered_is_named(tmp_path, quick, capsys):
    assert main([*RUN, str(tmp_path)]) == 0
    path = tmp_path / "results.json"
    run = json.loads(path.read_text())
    run["results"][0]["seconds"] += 1
    path.write_text(json.dumps(run))
    capsys.readouterr()
    assert main(["report", str(tmp_path)]) == 0
    reason = "is left out: it was altered: its checksum does not match"
    assert reason in capsys.readouterr().err
    assert main([*RUN, str(tmp_path)]) == 0
    assert main(["report", str(tmp_path)]) == 0
    assert capsys.readouterr().err.count(reason) == 1


def test_a_record_without_a_checksum_is_not_believed(folder, capsys):
    path = folder / "results.json"
    run = json.loads(path.read_text())
    for record in run["results"]:
        del record["sha256"]
        record["seconds"] = 0.25
    path.write_text(json.dumps(run))
    assert main(["show", example.HOLDS, "--out", str(folder)]) == 0
    out, error = capsys.readouterr()
    assert "last result" not in out
    name = f"record 1 ('{example.HOLDS}')"
    assert f"{path}: {name} is left out: it has no checksum\n" in error


def test_numbers_of_a_figure_need_a_checksum(folder):
    name = f"figures/{example.FIGURE}"
    assert load(example.FIGURE, folder)
    data = (folder / f"{name}.csv").read_text()
    (folder / f"{name}.csv").write_text(data.replace("0.5", "0.25"))
    with pytest.raises(NoResults, match="the arrays of ahn2023/figure-1 are not in"):
        load(example.FIGURE, folder)
    (folder / f"{name}.csv").write_text(data)
    (folder / f"{name}.json").unlink()
    with pytest.raises(NoResults, match="the arrays of ahn2023/figure-1 are not in"):
        load(example.FIGURE, folder)
