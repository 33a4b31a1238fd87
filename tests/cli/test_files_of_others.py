"""No command replaces or removes a file that iclab did not write."""

import os
from pathlib import Path

import pytest

import iclab
from iclab.cli import main
from iclab.report import write_compare_page
from iclab.results import compare, read_run
from iclab.runs import Cache, EngineProblem, Store
from tests.report import example

MINE = "years of work"
FIGURE = "ahn2023/figure-1"


@pytest.fixture(params=["file", "link"])
def put(request, tmp_path):
    """Put a file, or a link to one, in the way; afterwards both must be as before."""
    precious = tmp_path / "precious"
    precious.write_text(MINE)
    places = []

    def put(path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        if request.param == "link":
            path.symlink_to(precious)
        else:
            path.write_text(MINE)
        places.append(path)
        return path

    yield put
    assert precious.read_text() == MINE
    for path in places:
        assert path.read_text() == MINE
        assert path.is_symlink() == (request.param == "link")


def _refused(capsys, path: Path, *words: str) -> None:
    assert main(words) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert f"{path} is " in error


@pytest.mark.parametrize(
    "name",
    [
        *(f"figures/{FIGURE}.{kind}" for kind in ("svg", "pdf", "png", "csv", "json")),
        "report/index.html",
        "report/zhang2023.html",
        "report/report.css",
        "report/references.bib",
        "report/iclab-files.json",
        f"report/figures/{FIGURE}.svg",
    ],
)
def test_reproduce(tmp_path, capsys, put, name):
    path = put(tmp_path / "out" / name)
    words = ("reproduce", FIGURE, "--scale", "smoke", "--out", str(tmp_path / "out"))
    _refused(capsys, path, *words)
    assert not (tmp_path / "out" / "results.json").exists()  # nothing was run


@pytest.mark.parametrize("name", ["index.html", "errata.html", "results.json"])
def test_report(tmp_path, capsys, put, name):
    out = example.write_results(tmp_path / "out")
    _refused(capsys, put(out / "report" / name), "report", str(out))


def test_a_report_replaces_itself_and_leaves_the_rest(tmp_path, put):
    out = example.write_results(tmp_path / "out")
    assert main(["report", str(out)]) == 0
    put(out / "report" / "notes.html")
    put(out / ".mine.draft")
    assert main(["report", str(out)]) == 0


@pytest.mark.parametrize(
    "name", ["model.safetensors", "manifest.json", "metrics.jsonl"]
)
def test_train(tmp_path, capsys, put, name):
    path = put(tmp_path / "out" / name)
    words = ("train", "zhang2023/gpt2", "--size", "tiny", "--steps", "1", "--context")
    words = (*words, "3", "--dimension", "2", "--batch", "2")
    _refused(capsys, path, *words, "--out", str(path.parent))
    assert not list(path.parent.glob("checkpoints/*"))


def test_train_tries_to_write_without_a_trace(tmp_path, capsys, put):
    put(tmp_path / "out" / ".probe")
    words = ("train", "zhang2023/gpt2", "--size", "tiny", "--steps", "1", "--context")
    words = (*words, "3", "--dimension", "2", "--batch", "2")
    assert main([*words, "--out", str(tmp_path / "out")]) == 0


def _area(width, seed):
    return {"area": width}


def test_sweep(tmp_path, put):
    path = put(tmp_path / "out" / "sweep.json")
    with pytest.raises(ValueError, match=r"sweep: `out`: .*sweep.json is "):
        iclab.sweep(_area, {"width": [1]}, out=path.parent, quiet=True)


def test_a_store_leaves_folders_that_look_like_drafts(tmp_path, put):
    for name in ("c++", "a+1+b", "host+99999999+x1234567"):
        put(tmp_path / "store" / "drafts" / name / "notes")
        os.utime(tmp_path / "store" / "drafts" / name, (0, 0))
    Store(tmp_path / "store")


def test_a_store_leaves_a_marker_of_others(tmp_path, put):
    path = put(tmp_path / "store" / "FORMAT")
    with pytest.raises(EngineProblem):
        Store(path.parent)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "FORMAT").write_text("2 of my own")
    with pytest.raises(EngineProblem):
        Store(tmp_path / "other")
    assert (tmp_path / "other" / "FORMAT").read_text() == "2 of my own"


@pytest.mark.parametrize("name", ["notes/diary.md", "programs/mine.py", "CACHEDIR.TAG"])
def test_cache_of_a_folder_that_is_none(tmp_path, capsys, put, name):
    put(tmp_path / "work" / name)
    assert main(["cache", "clear", "--cache", str(tmp_path / "work")]) == 2
    assert "cannot use" in capsys.readouterr().err
    assert (tmp_path / "work" / "CACHEDIR.TAG").exists() == (name == "CACHEDIR.TAG")


def test_cache_clear_removes_what_is_ours_alone(tmp_path, capsys, put):
    cache = Cache(tmp_path / "cache")
    program = cache.programs / f"jit_add-{'0' * 64}-cache"
    program.parent.mkdir()
    program.write_bytes(bytes(10))
    cache.keep("a", 1)
    put(cache.root / "notes" / "diary.md")
    put(cache.programs / "mine.py")
    put(cache.root / "thesis.tex")
    assert main(["cache", "clear", "--cache", str(cache.root)]) == 0
    assert not program.exists()
    assert not list(cache.root.glob("notes/*.json"))
    cache.trim(0)


@pytest.mark.usefixtures("registry")
def test_new(tmp_path, monkeypatch, capsys, put):
    monkeypatch.chdir(tmp_path)
    words = ["--title", "T", "--author", "A B", "--year", "2026"]
    put(tmp_path / "me2026" / "notes.md")
    assert main(["new", "paper", "me2026", *words]) == 2
    put(tmp_path / "you2026")
    assert main(["new", "paper", "you2026", *words]) == 2
    (tmp_path / "nowhere").symlink_to(tmp_path / "none")
    assert main(["new", "paper", "her2026", "--out", "nowhere", *words]) == 2
    assert not (tmp_path / "none").exists()


@pytest.mark.usefixtures("registry")
def test_new_claim(tmp_path, request, monkeypatch, capsys, put):
    monkeypatch.chdir(tmp_path)
    key = f"{request.node.callspec.id}2026"  # a process opens a paper once
    words = ["--title", "T", "--author", "A B", "--year", "2026"]
    assert main(["new", "paper", key, *words]) == 0
    source = tmp_path / key / "src" / key
    put(source / ".contents.py.draft")
    paper = ["--paper", str(tmp_path / key)]
    assert main(["new", "claim", f"{key}/lemma-7", *paper]) == 0
    (source / "lemma_8.py").symlink_to(tmp_path / "none")
    assert main(["new", "claim", f"{key}/lemma-8", *paper]) == 2
    assert not (tmp_path / "none").exists()


@pytest.mark.everything
@pytest.mark.parametrize("name", ["index.html", "probe.json", "report.css"])
def test_probe(tmp_path, capsys, put, name):
    path = put(tmp_path / "page" / name)
    words = ("probe", "least-squares", "--dimension", "2", "--context", "4")
    words = (*words, "--prompts", "200", "--out", str(path.parent))
    _refused(capsys, path, *words)


def test_compare_page(tmp_path, capsys, put):
    out = str(example.write_results(tmp_path / "out"))
    _refused(capsys, put(tmp_path / "page.html"), "compare", out, out, "--page",
             str(tmp_path / "page.html"))  # fmt: skip
    run = read_run(out)
    for _ in range(2):  # its own it replaces
        write_compare_page(compare(run, run), ("A", "B"), tmp_path / "own.html")
