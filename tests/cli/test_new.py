"""`iclab new`: a paper that works at once, and what is said where it cannot be written.

The long way round is here too: a claim made false fails, repaired it holds, and stands
in one report with one of iclab's own.
"""

import json
import os
import runpy
import subprocess
import sys
import tomllib

import pytest

from iclab import papers
from iclab.cli import _new as _new_command, main

pytestmark = pytest.mark.usefixtures("registry")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _new(*words):
    return main(["new", *words])


def test_a_room_that_can_be_installed(here, capsys):
    title = 'On "quotes", \\alpha and {braces}'
    assert _new("paper", "my-paper2025", "--title", title, "--author", "Zoë A. Person",
                "--author", "B", "--arxiv", "arXiv:2307.03576v2") == 0  # fmt: skip
    said = capsys.readouterr().out
    assert "here:          iclab check my-paper2025\n" in said
    assert f"pip install -e {here / 'my-paper2025'}, or --paper" in said
    facts = tomllib.loads((here / "my-paper2025" / "pyproject.toml").read_text())
    assert facts["project"]["description"] == title
    points = facts["project"]["entry-points"]["iclab.papers"]
    assert points == {"my-paper2025": "my_paper2025"}
    papers.open_papers_here(["my-paper2025"])
    paper = papers.paper("my-paper2025")
    assert (paper.title, paper.year, paper.arxiv) == (title, 2025, "2307.03576")
    assert paper.authors == ("Zoë A. Person", "B")
    assert f"title = {{{title}}}" in paper.bibtex
    assert [entry.id for entry in papers.select(["my-paper2025"])] == [
        "my-paper2025/theorem-1",
        "my-paper2025/figure-1",
    ]


def test_claims_and_figures_are_added(here, capsys):
    _new("paper", "me2026", "--title", "Mine")
    capsys.readouterr()
    assert _new("claim", "me2026/lemma-a.2") == 0
    out, errors = capsys.readouterr()
    assert "run it: iclab check me2026/lemma-a.2\n" in out
    assert (
        errors
        == f"iclab new: loading the paper in {here / 'me2026'} (this runs its code)\n"
    )
    assert _new("figure", "me2026/figure-2") == 0
    contents = runpy.run_path(str(here / "me2026" / "src" / "me2026" / "contents.py"))
    tails = [entry.id.partition("/")[2] for entry in contents["ENTRIES"]]
    assert tails == ["theorem-1", "figure-1", "lemma-a.2", "figure-2"]


@pytest.mark.parametrize(
    "entries",
    ["()", "[]", "(1,)", "(\n    'ü',\n)", "(\n    1,\n    2\n)", "[1, 'ü', 3,]"],
)
def test_however_a_list_of_entries_ends(tmp_path, entries):
    text = f'"""Ünsere."""\nENTRIES: object = {entries}\nAFTER = 1\n'
    (tmp_path / "contents.py").write_text(text, encoding="utf-8")
    changed = _new_command._with_entry(tmp_path, "    'added',\n")
    space = {}
    exec(changed, space)
    assert list(space["ENTRIES"]) == [*eval(entries), "added"]
    assert space["AFTER"] == 1


MISTAKES = {
    "no-title": (("paper", "a2026"),
                 "a paper needs its title: --title 'What it is called'"),
    "key": (("paper", "A/..", "--title", "x"), "the key of a paper must be small"
            " letters, digits, - or _, a letter first, got 'A/..'"),
    "taken": (("paper", "ahn2023", "--title", "x"),
              "ahn2023 is the key of a paper already: iclab"),
    "page": (("paper", "errata", "--title", "x"),
             "the key of a paper cannot be errata"),
    "module": (("paper", "json", "--title", "x"),
               "json is a name of Python's own: choose another key"),
    "there": (("paper", "b2026", "--title", "x"),
              "b2026 is there already: choose another folder with --out"),
    "arxiv": (("paper", "a2026", "--title", "x", "--arxiv", "12"),
              "--arxiv must look like 2307.03576, got '12'"),
    "id": (("claim", "ahn2023"),
           "an id must look like me2026/theorem-1.2, got 'ahn2023'"),
    "path": (("claim", "ahn2023/../x"),
             "an id must look like me2026/theorem-1.2, got 'ahn2023/../x'"),
    "paper": (("claim", "ahn2032/lemma-2"),
             "unknown paper 'ahn2032/lemma-2': did you mean ahn2023?"),
    "twice": (("claim", "ahn2023/lemma-2"), "ahn2023/lemma-2 is there already, in "),
    "option": (("figure", "ahn2023/figure-9", "--year", "2000"),
               "--year is for `iclab new paper`"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_one_line(here, capsys, case):
    words, sentence = MISTAKES[case]
    (here / "b2026").mkdir()
    (here / "b2026" / "file").touch()
    assert _new(*words) == 2
    out, errors = capsys.readouterr()
    assert out == ""
    assert errors.startswith(f"iclab new: {sentence}")
    assert errors.count("\n") == 1
    assert [path.name for path in here.iterdir()] == ["b2026"]


def test_contents_that_are_no_list_are_left_to_their_author(here, capsys):
    _new("paper", "me2026", "--title", "Mine")
    contents = here / "me2026" / "src" / "me2026" / "contents.py"
    before = contents.read_text().replace("ENTRIES: tuple[Entry, ...] = (", "ALL = (")
    contents.write_text(f"{before}\nENTRIES = tuple(ALL)\n")
    capsys.readouterr()
    assert _new("claim", "me2026/lemma-2") == 2
    assert "it is no plain list; add it by hand" in capsys.readouterr().err
    assert not (contents.parent / "lemma_2.py").exists()


def _iclab(folder, *words):
    done = subprocess.run(
        [sys.executable, "-m", "iclab", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.everything
def test_from_an_empty_folder_to_one_report(here):
    assert _new("paper", "me2026", "--title", "Mine") == 0
    claim = here / "me2026" / "src" / "me2026" / "theorem_1.py"
    right = claim.read_text()
    claim.write_text(right.replace("(case.dimension + 1)", "(case.dimension + 2)"))
    check = ("check", "me2026", "--scale", "smoke", "--jobs", "1", "--out", "r")
    code, out, errors = _iclab(here, *check)
    assert code == 1, errors
    assert out.startswith("fails      me2026/theorem-1")
    claim.write_text(right)
    code, out, errors = _iclab(here, *check)
    assert code == 0, errors
    assert out.startswith("holds      me2026/theorem-1")
    ids = ("me2026", "zhang2023/section-5.1-sign-count")
    options = ("--scale", "smoke", "--jobs", "2", "--out", "r", "--json")
    code, out, errors = _iclab(here, "reproduce", *ids, *options)
    assert code == 0, errors
    found = {record["id"]: record["verdict"] for record in json.loads(out)}
    assert found == {
        "zhang2023/section-5.1-sign-count": "corrected",
        "me2026/theorem-1": "holds",
        "me2026/figure-1": "holds",
    }
    pages = {path.stem: path.read_text() for path in (here / "r/report").glob("*.html")}
    assert {"index", "me2026", "zhang2023"} <= set(pages)
    assert "Mine" in pages["index"]
    assert "Trained Transformers" in pages["index"]


@pytest.mark.everything
def test_the_tests_of_a_new_room_pass(here):
    _new("paper", "me2026", "--title", "Mine")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "me2026"],
        cwd=here,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
